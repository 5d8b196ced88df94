// SPDX-License-Identifier: Apache-2.0
///
/// Misuse of the builder: each case gives its message and no crash.
#include "frontend/Builder/ModelBuilder.h"

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {

/// A model with one entry, of which each test case breaks one part.
struct Draft {
  explicit Draft(mlir::MLIRContext &context)
      : model(context, "test"), scope(model.scope("layer")), entry(model.entry("encode")),
        ids(entry.input("ids")), rows(entry.segments()), x(scope.gather("words", ids, 50, 24)),
        heads(x.splitHeads(4)) {}

  ModelBuilder model;
  Scope scope;
  Entry entry;
  Ids ids;
  Segments rows;
  Tensor x;
  Tensor heads;
};

struct MisuseCase {
  const char *name;
  const char *message;
  std::function<void(Draft &)> spoil;
};

class MisuseTest : public testing::TestWithParam<MisuseCase> {};

TEST_P(MisuseTest, IsTheFirstErrorOfBuild) {
  mlir::MLIRContext context;
  Draft draft(context);
  GetParam().spoil(draft);
  draft.entry.output("y", draft.x);
  // Later errors do not hide the first one.
  draft.entry.output("z", Tensor());
  const auto module = draft.model.build();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().message(), GetParam().message);
}

/// A recurrence in the draft's scope that carries its initial value.
static void recur(Draft &d, std::vector<Tensor> inputs, const Segments &rows) {
  d.scope.recurrence(std::move(inputs), {4}, rows,
                     [](auto, auto before) { return Recurrence{{before[0]}, {}}; });
}

static const MisuseCase misuseCases[] = {
    {"RecurrenceOverTwoEntries",
     "\"layer\": an input of a recurrence belongs to another entry or step than those before it",
     [](Draft &d) { recur(d, {d.x, d.model.entry("other").input("x", 4)}, d.rows); }},
    {"RecurrenceOverRowsOfAnotherEntry",
     "\"layer\": the rows and the inputs belong to different entries",
     [](Draft &d) { recur(d, {d.x}, d.model.entry("other").segments()); }},
    {"ChoicesOfNoChoices",
     "\"layer.words\": the segments are no choices, expected what Segments::choices() gives",
     [](Draft &d) { d.x.topK(d.rows); }},
    {"PartsOfARowThatDoNotFit",
     "\"layer.words\": the input has 24 columns, expected a multiple of 5 choices",
     [](Draft &d) { d.x.splitRows(d.rows.choices(5)); }},
    {"ValuesInNoColumns", "\"layer.words\": expected at least one column, got 0",
     [](Draft &d) {
       const Chosen chosen = d.x.topK(d.rows.choices(2));
       chosen.value.placeColumns(chosen.column, 0);
     }},
    {"ProductOfOtherShapes",
     "\"layer.words\": a product of shapes [?, 24] and [?, 4, 6], expected the same, trailing "
     "sizes of the first, [1] or [?, 1]",
     [](Draft &d) { d.x *d.heads; }},
    {"DifferenceOfOtherShapes",
     "\"layer.words\": a difference of shapes [?, 24] and [?, 4, 6], expected the same, trailing "
     "sizes of the first, [1] or [?, 1]",
     [](Draft &d) { d.x - d.heads; }},
    {"QuotientOfOtherShapes",
     "\"layer.words\": a quotient of shapes [?, 24] and [?, 4, 6], expected the same, trailing "
     "sizes of the first, [1] or [?, 1]",
     [](Draft &d) { d.x / d.heads; }},
    {"LargerOfOtherShapes",
     "\"layer.words\": a maximum of shapes [?, 24] and [?, 4, 6], expected the same, trailing "
     "sizes of the first, [1] or [?, 1]",
     [](Draft &d) { d.x.combine(transformer::Combination::Maximum, d.heads); }},
    {"SmallerOfOtherShapes",
     "\"layer.words\": a minimum of shapes [?, 24] and [?, 4, 6], expected the same, trailing "
     "sizes of the first, [1] or [?, 1]",
     [](Draft &d) { d.x.combine(transformer::Combination::Minimum, d.heads); }},
    {"NumberOfHeads", "\"layer.words\": the input has shape [?, 4, 6], expected rows [?, width]",
     [](Draft &d) { d.heads.reduce(transformer::Reduction::Mean); }},
    {"ColumnsBeyondTheWidth",
     "\"layer.words\": 20 columns from 5 of rows of width 24, expected columns within the width",
     [](Draft &d) { d.x.columns(5, 20); }},
    {"ColumnsOfHeads", "\"layer.words\": the input has shape [?, 4, 6], expected rows [?, width]",
     [](Draft &d) { d.heads.columns(0, 2); }},
    {"CacheWithoutName", "\"encode\": cache \"\" has no name",
     [](Draft &d) { d.entry.cache("", 24); }},
    {"CacheOfNoWidth", "\"encode\": cache \"c\" has width 0, expected 1 or more",
     [](Draft &d) { d.entry.cache("c", 0); }},
    {"CacheTwice", "\"encode\": cache \"c\" appears twice",
     [](Draft &d) {
       d.entry.cache("c", 24);
       d.entry.cache("c", 24);
     }},
    {"CacheOfOtherRows", "\"c\": rows of shape [?, 24] for the cache, expected [?, 25]",
     [](Draft &d) { d.entry.cache("c", 25).append(d.x, d.rows); }},
    {"AppendedTwice", "\"c\": the cache was appended to before, expected what that gave",
     [](Draft &d) {
       const Cache cache = d.entry.cache("c", 24);
       cache.append(d.x, d.rows);
       cache.append(d.x, d.rows);
     }},
    {"StateOfNoWidth", "\"encode\": state \"s\" has width 0, expected 1 or more",
     [](Draft &d) { d.entry.state("s", 0); }},
    {"StateOfACache", "\"encode\": state \"c\" appears twice",
     [](Draft &d) {
       d.entry.cache("c", 24);
       d.entry.state("c", 24);
     }},
    {"StateOfOtherRows", "\"s\": rows of shape [?, 24] for the state, expected [?, 25]",
     [](Draft &d) { d.entry.state("s", 25).accumulate(d.x, d.rows); }},
    {"MeanOfOtherRows", "\"s\": rows of shape [?, 4, 6] for the state, expected [?, 24]",
     [](Draft &d) { d.entry.state("s", 24).prefixMean(d.heads, d.rows); }},
    {"AccumulatedTwice", "\"s\": the state was changed before, expected what it was",
     [](Draft &d) {
       const State state = d.entry.state("s", 24);
       state.accumulate(d.x, d.rows);
       state.accumulate(d.x, d.rows);
     }},
    {"KeptTwice", "\"s\": the state was changed before, expected what it was",
     [](Draft &d) {
       const State state = d.entry.state("s", 24);
       state.keep(d.x, d.rows);
       state.keep(d.x, d.rows);
     }},
    {"StoredOtherRows", "\"s\": rows of shape [?, 24] for the state, expected [?, 25]",
     [](Draft &d) { d.entry.state("s", 25).store(d.x); }},
    {"StoredTwice", "\"s\": the state was changed before, expected what it was",
     [](Draft &d) {
       const State state = d.entry.state("s", 24);
       state.store(d.x);
       state.store(d.x);
     }},
    {"StoredRowsForKeys", "\"looked\": rows of shape [?, 24] for the state, expected [?, 1, ?]",
     [](Draft &d) { d.entry.keyedState("looked", 1).store(d.x); }},
    {"FiltersOfNoModel", "\"layer\": the weight is not a parameter of this model",
     [](Draft &d) { d.scope.convolveKeys(d.heads, Parameter(), d.rows, d.rows); }},
    {"RecurrenceFromHeads",
     "\"layer\": what a recurrence begins with has shape [?, 4, 6], expected rows [?, width] or "
     "numbers of keys [?, heads, ?]",
     [](Draft &d) {
       d.scope.recurrence({d.x}, {4}, d.rows,
                          [](auto, auto before) { return Recurrence{{before[0]}, {before[0]}}; },
                          {.initial = {d.heads}});
     }},
    {"SpreadHeads", "\"layer.words\": the input has shape [?, 4, 6], expected rows [?, width]",
     [](Draft &d) { d.heads.spread(d.rows); }},
    {"PairsOfHeads", "\"layer.words\": the input has shape [?, 4, 6], expected rows [?, width]",
     [](Draft &d) { d.x.pairSum(d.heads, d.rows, d.rows); }},
    {"MemoryWithoutName", "\"encode\": memory \"\" has no name",
     [](Draft &d) { d.entry.memory(""); }},
    {"TwoMemories", "\"encode\": memory \"b\" is the second of the entry",
     [](Draft &d) {
       d.entry.memory("a");
       d.entry.memory("b");
     }},
    {"DerivedFromNothing",
     "\"layer.a\": derived from something that is not a parameter of this model",
     [](Draft &d) { d.scope.reshape("a", Parameter(), {3}); }},
    {"DerivedInTwoWays", "\"layer.a\": the parameter is derived in two ways, expected one",
     [](Draft &d) {
       d.scope.sinusoid("a", 4, 8);
       d.scope.sinusoid("a", 4, 8, {.split = true});
     }},
    {"DistancesOfRankOne", "\"layer\": the table has shape [3], expected rank 2",
     [](Draft &d) { d.scope.relativeBias(d.scope.parameter("a", {3}), d.rows, d.rows); }},
    {"HeadsThatDoNotDivide",
     "\"layer.words\": 5 heads of rows of width 24, expected heads that divide the width",
     [](Draft &d) { d.x.splitHeads(5); }},
    {"NoHeads",
     "\"layer.words\": 0 heads of rows of width 24, expected heads that divide the width",
     [](Draft &d) { d.x.splitHeads(0); }},
    {"HeadsOfHeads", "\"layer.words\": the input has shape [?, 4, 6], expected rows [?, width]",
     [](Draft &d) { d.heads.splitHeads(2); }},
    {"MergedRows",
     "\"layer.words\": the input has shape [?, 24], expected heads [?, heads, head size]",
     [](Draft &d) { d.x.mergeHeads(); }},
    {"RepeatedRows",
     "\"layer.words\": the input has shape [?, 24], expected heads [?, heads, head size]",
     [](Draft &d) { d.x.repeatHeads(2); }},
    {"RepeatedNever", "\"layer.words\": 4 heads repeated 0 times, expected 1 to 536870911 times",
     [](Draft &d) { d.heads.repeatHeads(0); }},
    {"RepeatedWithoutEnd",
     "\"layer.words\": 4 heads repeated 9223372036854775807 times, expected 1 to 536870911 times",
     [](Draft &d) { d.heads.repeatHeads(std::numeric_limits<int64_t>::max()); }},
    {"Permutation",
     "\"layer.words\": the permutation is [0, 0, 2], expected every axis of "
     "[?, 4, 6] once",
     [](Draft &d) { d.heads.transpose({0, 0, 2}); }},
    {"TwoShapes", "\"layer.words.weight\": used with shape [51, 24], but before with [50, 24]",
     [](Draft &d) { d.scope.gather("words", d.ids, 51, 24); }},
    {"EmptyParameter",
     "\"layer.a\": a parameter of shape [0], expected a name and one to four "
     "positive sizes",
     [](Draft &d) { d.scope.parameter("a", {0}); }},
    {"TableOfRankOne", "\"layer\": the table has shape [3], expected rank 2",
     [](Draft &d) { d.scope.gather(d.scope.parameter("a", {3}), d.ids); }},
    {"NoWeight", "\"\": the weight is not a parameter of this model",
     [](Draft &d) { d.scope.linear(d.x, Parameter()); }},
    {"WeightOfAnotherWidth",
     "\"layer\": the input has shape [?, 24], expected [?, 23] for a weight [7, 23]",
     [](Draft &d) { d.scope.linear(d.x, d.scope.parameter("a", {7, 23})); }},
    {"LinearOfHeads",
     "\"layer.a\": the input has shape [?, 4, 6], expected [?, 6] for a weight [7, 6]",
     [](Draft &d) { d.scope.linear("a", d.heads, 7); }},
    {"Specification",
     "\"layer\": the axes are \"thd\", expected \"axes,axes->axes\" for shapes [?, 4, 6] and "
     "[?, 4, 6]",
     [](Draft &d) { d.scope.contract("thd", d.heads, d.heads, d.rows); }},
    {"ForeignAxis", "\"layer\": axis 'z' of the result of \"thd,khd->thz\" is on neither operand",
     [](Draft &d) { d.scope.contract("thd,khd->thz", d.heads, d.heads, d.rows); }},
    {"EmptyOperand", "\"layer.words\": an operand is empty, expected a value of the model",
     [](Draft &d) { (void)(d.x + Tensor()); }},
    {"EmptySegments", "\"layer\": an operand is empty, expected a value of the model",
     [](Draft &d) { d.scope.positions(Segments()); }},
    {"TwoEntries", "\"layer.words\": the operands belong to different entries",
     [](Draft &d) {
       Entry other = d.model.entry("other");
       (void)(d.x + d.scope.gather("words", other.input("ids"), 50, 24));
     }},
    {"TwoModels", "\"layer.words\": an operand belongs to another model",
     [](Draft &d) {
       mlir::MLIRContext context;
       Draft other(context);
       (void)(d.x + other.x);
     }},
    {"InputTwice", "\"encode\": input \"ids\" appears twice",
     [](Draft &d) { d.entry.optionalInput("ids"); }},
    {"OutputTwice", "\"encode\": output \"y\" appears twice",
     [](Draft &d) { d.entry.output("y", d.x); }},
    {"OutputOfHeads",
     "\"encode\": output \"h\" has shape [?, 4, 6], expected rows [?, width] or "
     "scores [?, heads, ?]",
     [](Draft &d) { d.entry.output("h", d.heads); }},
    {"EmptyOutput", "\"encode\": output \"e\" is not a value of this entry",
     [](Draft &d) { d.entry.output("e", Tensor()); }},
    {"EntryTwice", "\"encode\": the entry appears twice",
     [](Draft &d) { d.model.entry("encode"); }},
    {"MaskWithoutItself", "\"layer\": the mask expects a query that sees itself, got 'from i + 1'",
     [](Draft &d) { d.scope.mask(transformer::Visibility::band(-1, 3), d.rows, d.rows); }},
    {"MaskTooFar",
     "\"layer\": the mask expects a position of sizes from 1 and numbers of at most 2^30, got 'i - "
     "4294967296'",
     [](Draft &d) { d.scope.mask(transformer::Visibility::band(1LL << 32, 0), d.rows, d.rows); }},
    {"RowsWithoutWidth", "\"encode\": input \"features\" has width 0, expected 1 or more",
     [](Draft &d) { d.entry.input("features", 0); }},
    {"PaddingOfNoInput",
     "\"encode\": input \"more\" is padded with 0, expected an input of the entry",
     [](Draft &d) { d.entry.pad("more", 0); }},
    {"LimitOfNoInput",
     "\"encode\": input \"more\" has ids less than 2, expected an input of the entry",
     [](Draft &d) { d.entry.limit("more", 2); }},
    {"LimitThatLeavesNoIds",
     "\"encode\": input \"ids\" has ids less than 0, expected a limit of 1 or more",
     [](Draft &d) { d.entry.limit("ids", 0); }},
    {"PaddingThatIsNoToken", "\"encode\": input \"ids\" is padded with -1, expected 0 or more",
     [](Draft &d) { d.entry.pad("ids", -1); }},
    {"RowsNamedAsIds", "\"encode\": input \"ids\" appears twice",
     [](Draft &d) { d.entry.optionalInput("ids", 3); }},
    {"EntryWithoutName", "\"\": an entry without a name", [](Draft &d) { d.model.entry(""); }},
    {"WeightOfAnotherModel", "\"a\": the weight is not a parameter of this model",
     [](Draft &d) {
       mlir::MLIRContext context;
       ModelBuilder other(context, "test");
       d.entry.weight(other.scope().parameter("a", {3}));
     }},
};

INSTANTIATE_TEST_SUITE_P(All, MisuseTest, testing::ValuesIn(misuseCases),
                         [](const auto &info) { return info.param.name; });

/// Errors of the dialect's verifiers also name the place in the checkpoint.
TEST(MisuseOfOperations, IsFoundByTheVerifiers) {
  struct {
    std::function<void(Draft &)> spoil;
    const char *message;
  } cases[] = {
      {[](Draft &d) { d.scope.contract("thd,khd->thk", d.heads, d.heads); }, "\"layer\": "},
      {[](Draft &d) { (void)(d.x + d.heads); }, "\"layer.words\": 'transformer.add' op "},
      {[](Draft &d) { (void)(d.x * std::numeric_limits<double>::infinity()); },
       "\"layer.words\": 'transformer.scale' op "},
      {[](Draft &d) { d.x.softmax(d.rows); }, "\"layer.words\": 'transformer.softmax' op "},
      {[](Draft &d) { d.scope.layerNorm("norm", d.x, -1); },
       "\"layer.norm\": 'transformer.layer_norm' op "},
      {[](Draft &d) { d.scope.positions(d.rows, -1); }, "\"layer\": 'transformer.positions' op "},
      {[](Draft &d) { d.x.normalize(0); }, "\"layer.words\": 'transformer.normalize' op "},
  };
  for (const auto &item : cases) {
    mlir::MLIRContext context;
    Draft draft(context);
    item.spoil(draft);
    draft.entry.output("y", draft.x);
    const auto module = draft.model.build();
    ASSERT_FALSE(module.ok()) << item.message;
    EXPECT_TRUE(module.status().message().starts_with(item.message)) << module.status().message();
  }
}

TEST(MisuseOfTheEnd, EntriesAndOutputsAreNeeded) {
  mlir::MLIRContext context;
  ModelBuilder empty(context, "test");
  EXPECT_EQ(empty.build().status().message(), "the model has no entry, expected at least one");
  Draft draft(context);
  EXPECT_EQ(draft.model.build().status().message(),
            "\"encode\": the entry has no output, expected at least one");
}

TEST(MisuseOfTheEnd, EntriesThatAppendToACacheNeedNoOutput) {
  mlir::MLIRContext context;
  Draft draft(context);
  draft.entry.cache("kept", draft.x.width()).append(draft.x, draft.rows);
  EXPECT_EQ(draft.model.build().status().message(), "");
}

TEST(MisuseOfTheEnd, NothingHappensAfterBuild) {
  mlir::MLIRContext context;
  Draft draft(context);
  draft.entry.output("y", draft.x);
  ASSERT_TRUE(draft.model.build().ok());
  EXPECT_FALSE((draft.x + draft.x).valid());
  EXPECT_FALSE(draft.scope.linear("a", draft.x, 3).valid());
  EXPECT_FALSE(draft.entry.input("late").valid());
  EXPECT_TRUE(draft.x.shape().empty());
  EXPECT_EQ(draft.model.build().status().message(),
            "the model was built before, expected one call of build");
}

} // namespace heddle
