// SPDX-License-Identifier: Apache-2.0
///
/// The output of the builder: operations, types, names, entries.
#include "frontend/Builder/ModelBuilder.h"

#include "dialects/Transformer/Transformer.h"
#include "tests/frontend/Builder/PrintedModule.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

/// Builds and prints the model; an error fails the test.
static std::string text(ModelBuilder &builder, bool locations = false) {
  auto module = builder.build();
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? printed(**module, locations) : "";
}

class BuilderTest : public testing::Test {
protected:
  mlir::MLIRContext context;
  ModelBuilder model{context, "test"};
};

TEST_F(BuilderTest, WritesAttentionAsInThePaper) {
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("input_ids");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("words", ids, 50, 24);
  const Scope self = model.scope("layer.0.self");
  const Tensor query = self.linear("query", x, 24).splitHeads(4);
  const Tensor key = self.linear("key", x, 24, Bias::No).splitHeads(4);
  const Tensor scores = self.contract("thd,khd->thk", query, key, rows) * 0.5;
  const Tensor mixed = self.contract("thk,khd->thd", scores.softmax(rows), key, rows);
  entry.output("result", self.layerNorm("norm", mixed.mergeHeads() + x, 1e-12));
  EXPECT_EQ(text(model), R"(module attributes {transformer.model_type = "test"} {
  transformer.parameter @words.weight : tensor<50x24xf32> from "words.weight"
  transformer.parameter @layer.0.self.query.weight : tensor<24x24xf32> from "layer.0.self.query.weight"
  transformer.parameter @layer.0.self.query.bias : tensor<24xf32> from "layer.0.self.query.bias"
  transformer.parameter @layer.0.self.key.weight : tensor<24x24xf32> from "layer.0.self.key.weight"
  transformer.parameter @layer.0.self.norm.weight : tensor<24xf32> from "layer.0.self.norm.weight"
  transformer.parameter @layer.0.self.norm.bias : tensor<24xf32> from "layer.0.self.norm.bias"
  func.func @encode(%arg0: tensor<?xi32> {transformer.name = "input_ids"}, %arg1: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "result"}) {
    %0 = transformer.gather @words.weight[%arg0] : tensor<?x24xf32>
    %1 = transformer.linear %0, @layer.0.self.query.weight, @layer.0.self.query.bias : tensor<?x24xf32> -> tensor<?x24xf32>
    %2 = transformer.split_heads %1 : tensor<?x24xf32> -> tensor<?x4x6xf32>
    %3 = transformer.linear %0, @layer.0.self.key.weight : tensor<?x24xf32> -> tensor<?x24xf32>
    %4 = transformer.split_heads %3 : tensor<?x24xf32> -> tensor<?x4x6xf32>
    %5 = transformer.contract "thd,khd->thk" %2, %4 in(%arg1, %arg1) : tensor<?x4x6xf32>, tensor<?x4x6xf32> -> tensor<?x4x?xf32>
    %6 = transformer.scale %5, 5.000000e-01 : tensor<?x4x?xf32>
    %7 = transformer.softmax %6 in(%arg1) : tensor<?x4x?xf32>
    %8 = transformer.contract "thk,khd->thd" %7, %4 in(%arg1, %arg1) : tensor<?x4x?xf32>, tensor<?x4x6xf32> -> tensor<?x4x6xf32>
    %9 = transformer.merge_heads %8 : tensor<?x4x6xf32> -> tensor<?x24xf32>
    %10 = transformer.add %9, %0 : tensor<?x24xf32>, tensor<?x24xf32>
    %11 = transformer.layer_norm %10, @layer.0.self.norm.weight, @layer.0.self.norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x24xf32>
    return %11 : tensor<?x24xf32>
  }
}
)");
}

TEST_F(BuilderTest, NamesEveryOperationAfterTheCheckpoint) {
  Entry entry = model.entry("encode");
  const Segments rows = entry.segments();
  const Scope encoder = model.scope("encoder");
  const Tensor x = encoder.gather("words", entry.input("ids"), 50, 24);
  const Tensor q = encoder.scope("layer", 3).linear("query", x, 24).splitHeads(2);
  const Tensor s = encoder.scope("layer", 3).contract("thd,khd->thk", q, q, rows);
  entry.output("y",
               encoder.scope("layer", 3).contract("thk,khd->thd", s, q, rows).mergeHeads() + x);
  const std::string result = text(model, true);
  for (const char *line : {
           "tensor<50x24xf32> from \"encoder.words.weight\" loc(\"encoder.words.weight\")",
           "%0 = transformer.gather @encoder.words.weight[%arg0] : tensor<?x24xf32> "
           "loc(\"encoder.words\")",
           "transformer.split_heads %1 : tensor<?x24xf32> -> tensor<?x2x12xf32> "
           "loc(\"encoder.layer.3.query\")",
           "-> tensor<?x2x?xf32> loc(\"encoder.layer.3\")",
           "transformer.add %5, %0 : tensor<?x24xf32>, tensor<?x24xf32> loc(\"encoder.layer.3\")",
           "tensor<?xi32> {transformer.name = \"ids\"} loc(\"ids\")",
           "} loc(\"encode\")",
       }) {
    EXPECT_TRUE(contains(result, line));
  }
}

// Grouped-query attention (Ainslie et al., section 2.2) with two key heads for four query heads.
TEST_F(BuilderTest, WritesHeadsThatAreShared) {
  Entry entry = model.entry("encode");
  const Segments rows = entry.segments();
  const Scope self = model.scope("self");
  const Tensor x = self.gather("words", entry.input("ids"), 50, 24);
  const Tensor query = self.linear("query", x, 24, Bias::No).splitHeads(4);
  const Tensor key = self.linear("key", x, 12, Bias::No).splitHeads(2).repeatHeads(2);
  EXPECT_EQ(key.shape(), (std::vector<int64_t>{-1, 4, 6}));
  const Tensor weights = self.contract("thd,khd->thk", query, key, rows).softmax(rows);
  entry.output("y", self.contract("thk,khd->thd", weights, key, rows).mergeHeads());
  EXPECT_TRUE(contains(text(model), "transformer.repeat_heads %4 : tensor<?x2x6xf32> -> "
                                    "tensor<?x4x6xf32>"));
}

TEST_F(BuilderTest, WritesMasksWeightsAndTransposes) {
  Entry entry = model.entry("decode");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("words", entry.input("ids"), 50, 24);
  const Scope self = model.scope("self");
  const Tensor weight = entry.weight(self.parameter("query.weight", {4, 6, 24}));
  const Tensor query = self.contract("tm,hdm->thd", x, weight);
  const Tensor key = query.transpose({1, 2, 0});
  const Mask mask = self.mask(Visibility::causal(), rows, rows);
  const Tensor scores = self.contract("thd,hdk->thk", query, key, rows) + mask.bias(-1e9);
  const Tensor weights = scores.select(mask, -1e9).softmax(rows);
  const Tensor mixed = self.contract("thk,khd->thd", weights, query, rows).mergeHeads();
  entry.output("unit", mixed.activate(Activation::GeluNew).normalize(1e-12));
  const std::string result = text(model);
  const char *const projection =
      "transformer.contract \"tm,hdm->thd\" %0, %1 : tensor<?x24xf32>, tensor<4x6x24xf32> -> "
      "tensor<?x4x6xf32>";
  for (const char *line : {
           "transformer.weight @self.query.weight : tensor<4x6x24xf32>",
           projection,
           "transformer.transpose %2 [1, 2, 0] : tensor<?x4x6xf32> -> tensor<4x6x?xf32>",
           "transformer.mask causal in(%arg1, %arg1)",
           "{hidden = -1.000000e+09 : f32} : tensor<?x?xf32>",
           "transformer.select %4, ",
           "transformer.activate gelu_new ",
           "transformer.normalize ",
       }) {
    EXPECT_TRUE(contains(result, line));
  }
}

TEST_F(BuilderTest, TiedParametersAreDeclaredOnce) {
  Entry entry = model.entry("encode");
  const Parameter table = model.scope().parameter("words.weight", {50, 24});
  const Tensor x = model.scope().gather(table, entry.input("ids"));
  entry.output("logits", model.scope().linear(x, table));
  EXPECT_EQ(table.symbol(), "words.weight");
  const std::string result = text(model);
  EXPECT_EQ(result.find("transformer.parameter"), result.rfind("transformer.parameter"));
  EXPECT_TRUE(contains(result, "transformer.linear %0, @words.weight : tensor<?x24xf32> -> "
                               "tensor<?x50xf32>"));
}

TEST_F(BuilderTest, EntriesShareParametersAndKeepTheirOrder) {
  Entry first = model.entry("encode");
  Entry second = model.entry("embed");
  const auto rowsOf = [&](Entry &entry) {
    const Ids ids = entry.input("ids");
    const Ids types = entry.optionalInput("types");
    const Ids positions = model.scope().positions(entry.segments(), 2);
    return model.scope().gather("words", ids, 50, 24) +
           model.scope().gather("types", types, 2, 24) +
           model.scope().gather("positions", positions, 40, 24);
  };
  first.output("states", rowsOf(first));
  second.output("row", rowsOf(second).pool(transformer::Pooling::Max, second.segments()));
  const std::string result = text(model);
  EXPECT_TRUE(contains(result,
                       "func.func @embed(%arg0: tensor<?xi32> {transformer.name = \"ids\"}, "
                       "%arg1: tensor<?xi32> {transformer.name = \"types\", "
                       "transformer.optional}, %arg2: !transformer.segments)"));
  EXPECT_TRUE(contains(result, "transformer.positions %arg2 {offset = 2 : i64}"));
  EXPECT_TRUE(contains(result, "transformer.pool max "));
  EXPECT_LT(result.find("@encode"), result.find("@embed"));
}

TEST_F(BuilderTest, BlocksAreRows) {
  Entry entry = model.entry("encode");
  const Scope scope = model.scope();
  const Segments rows = entry.segments();
  const Segments pairs = rows.blocks(2);
  const Tensor x = scope.gather("words", entry.input("ids"), 50, 24);
  const Tensor keys = x.pool(transformer::Pooling::Mean, rows, pairs);
  const Tensor heads = keys.splitHeads(2);
  const Tensor scores =
      scope.contract("thd,khd->thk", x.splitHeads(2), heads, rows, pairs).softmax(pairs);
  entry.output("y", scope.contract("thk,khd->thd", scores, heads, rows, pairs).mergeHeads());
  entry.output("pooled", keys.pool(transformer::Pooling::Cls, pairs, pairs.blocks(3)));
  const std::string result = text(model);
  EXPECT_TRUE(contains(result, "%0 = transformer.blocks %arg1, 2")) << result;
  EXPECT_TRUE(contains(result, "transformer.pool mean %1 in(%arg1) to(%0)")) << result;
  EXPECT_TRUE(contains(result, "in(%arg1, %0)")) << result;
  EXPECT_TRUE(contains(result, "transformer.blocks %0, 3")) << result;
}

TEST_F(BuilderTest, BlocksOfOtherRowsAreAnError) {
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("words", entry.input("ids"), 50, 24);
  entry.output("y", x.pool(transformer::Pooling::Mean, entry.segments(), entry.segments()));
  EXPECT_TRUE(contains(model.text().status().message(),
                       "expects segments in 'to' whose rows are groups of those in 'in'"))
      << model.text().status().message();
}

TEST_F(BuilderTest, ShapesCanBeAsked) {
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("words", entry.input("ids"), 50, 24);
  EXPECT_EQ(x.splitHeads(4).shape(), (std::vector<int64_t>{-1, 4, 6}));
  EXPECT_EQ(x.width(), 24);
  EXPECT_EQ(Tensor().width(), 0);
  EXPECT_TRUE(model.status().ok());
}

TEST_F(BuilderTest, WritesCachesAndMemories) {
  Entry entry = model.entry("decode");
  const Ids ids = entry.input("ids");
  const Segments rows = entry.segments();
  const Segments memory = entry.memory("memory");
  const Tensor x = model.scope().gather("words", ids, 50, 24);
  const Cache appended = entry.cache("key", 24).append(x, rows);
  const Tensor seen = appended.rows(rows.history());
  const Tensor source = entry.cache("source", 24).rows(memory);
  entry.output("seen", seen);
  entry.output("product", source * seen);
  // Inputs may be declared later: arguments keep their order.
  entry.optionalInput("more");
  EXPECT_EQ(text(model), R"(module attributes {transformer.model_type = "test"} {
  transformer.parameter @words.weight : tensor<50x24xf32> from "words.weight"
  func.func @decode(%arg0: tensor<?xi32> {transformer.name = "ids"}, %arg1: tensor<?xi32> {transformer.name = "more", transformer.optional}, %arg2: !transformer.segments, %arg3: !transformer.segments {transformer.name = "memory"}, %arg4: !transformer.cache<24> {transformer.name = "key"}, %arg5: !transformer.cache<24> {transformer.name = "source"}) -> (tensor<?x24xf32> {transformer.name = "seen"}, tensor<?x24xf32> {transformer.name = "product"}, !transformer.cache<24> {transformer.name = "key"}) {
    %0 = transformer.gather @words.weight[%arg0] : tensor<?x24xf32>
    %1 = transformer.append %arg4, %0 in(%arg2) : !transformer.cache<24>
    %2 = transformer.history %arg2
    %3 = transformer.cached %1 in(%2) : !transformer.cache<24> -> tensor<?x24xf32>
    %4 = transformer.cached %arg5 in(%arg3) : !transformer.cache<24> -> tensor<?x24xf32>
    %5 = transformer.multiply %4, %3 : tensor<?x24xf32>
    return %3, %5, %1 : tensor<?x24xf32>, tensor<?x24xf32>, !transformer.cache<24>
  }
}
)");
}

TEST_F(BuilderTest, WritesStates) {
  Entry entry = model.entry("decode");
  const Ids ids = entry.input("ids");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("words", ids, 50, 24);
  const State sum = entry.state("layer.sum", 24);
  sum.accumulate(x, rows);
  entry.output("mean", sum.prefixMean(x, rows));
  EXPECT_EQ(text(model), R"(module attributes {transformer.model_type = "test"} {
  transformer.parameter @words.weight : tensor<50x24xf32> from "words.weight"
  func.func @decode(%arg0: tensor<?xi32> {transformer.name = "ids"}, %arg1: !transformer.segments, %arg2: !transformer.state<24> {transformer.name = "layer.sum"}) -> (tensor<?x24xf32> {transformer.name = "mean"}, !transformer.state<24> {transformer.name = "layer.sum"}) {
    %0 = transformer.gather @words.weight[%arg0] : tensor<?x24xf32>
    %1 = transformer.accumulate %arg2, %0 in(%arg1) : !transformer.state<24>
    %2 = transformer.prefix_mean %0, %arg2 in(%arg1) : !transformer.state<24>
    return %2, %1 : tensor<?x24xf32>, !transformer.state<24>
  }
}
)");
}

TEST_F(BuilderTest, WritesWhatAStateCarries) {
  Entry entry = model.entry("decode");
  const Ids ids = entry.input("ids");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("words", ids, 50, 24);
  const State first = entry.state("first", 24);
  const State row = entry.state("row", 24);
  const Tensor every = row.load(Begins::Given).spread(rows);
  const Recurrence sums = model.scope("layer").recurrence(
      {x, every}, {24}, rows,
      [](std::span<const Tensor> now, std::span<const Tensor> before) {
        const Tensor sum = before[0] + now[0];
        return Recurrence{{sum}, {sum + now[1]}};
      },
      {.initial = {first.load()}});
  first.store(sums.carried[0]);
  entry.output("sums", sums.given[0]);
  EXPECT_EQ(text(model), R"(module attributes {transformer.model_type = "test"} {
  transformer.parameter @words.weight : tensor<50x24xf32> from "words.weight"
  func.func @decode(%arg0: tensor<?xi32> {transformer.name = "ids"}, %arg1: !transformer.segments, %arg2: !transformer.state<24> {transformer.name = "first"}, %arg3: !transformer.state<24> {transformer.name = "row"}) -> (tensor<?x24xf32> {transformer.name = "sums"}, !transformer.state<24> {transformer.name = "first"}) {
    %0 = transformer.gather @words.weight[%arg0] : tensor<?x24xf32>
    %1 = transformer.load %arg3 {given} : !transformer.state<24>
    %2 = transformer.spread %1 to(%arg1) : tensor<?x24xf32>
    %3 = transformer.load %arg2 : !transformer.state<24>
    %4:2 = transformer.recurrence(%0, %2 : tensor<?x24xf32>, tensor<?x24xf32>) from(%3 : tensor<?x24xf32>) in(%arg1) -> tensor<?x24xf32>, tensor<?x24xf32> {
    ^bb0(%arg4: tensor<?x24xf32>, %arg5: tensor<?x24xf32>, %arg6: tensor<?x24xf32>):
      %6 = transformer.add %arg6, %arg4 : tensor<?x24xf32>, tensor<?x24xf32>
      %7 = transformer.add %6, %arg5 : tensor<?x24xf32>, tensor<?x24xf32>
      transformer.next %6, %7 : tensor<?x24xf32>, tensor<?x24xf32>
    }
    %5 = transformer.store %arg2, %4#0 : !transformer.state<24>
    return %4#1, %5 : tensor<?x24xf32>, !transformer.state<24>
  }
}
)");
}

TEST_F(BuilderTest, WritesWhereAStepHasLooked) {
  Entry entry = model.entry("decode");
  const Ids ids = entry.input("ids");
  const Segments rows = entry.segments();
  const Segments memory = entry.memory("memory");
  const Scope scope = model.scope("layer");
  const State looked = entry.keyedState("looked", 1);
  const Parameter filters = scope.reshape(
      "keys",
      scope.product("both", scope.parameter("map", {24, 2}), scope.parameter("filters", {2, 3})),
      {24, 1, 3});
  const Tensor v = entry.weight(scope.parameter("v", {1, 24}));
  const Recurrence steps =
      scope.recurrence({scope.gather("words", ids, 50, 24)}, {1}, rows,
                       [&](std::span<const Tensor> now, std::span<const Tensor> before) {
                         const Tensor sums = scope.convolveKeys(before[0], filters, rows, memory);
                         const Tensor weights =
                             scope.contract("tkw,hw->thk", sums, v, rows, memory);
                         return Recurrence{{weights.divideBySum(memory)}, {now[0]}};
                       },
                       {.initial = {looked.load(memory)}});
  looked.store(steps.carried[0]);
  entry.output("rows", steps.given[0]);
  const std::string written = text(model);
  for (const char *line :
       {"transformer.parameter @layer.both : tensor<24x3xf32> = product(@layer.map, "
        "@layer.filters)",
        "%arg3: !transformer.state<1, keys> {transformer.name = \"looked\"}",
        "transformer.load %arg3 over(%arg2) : !transformer.state<1, keys>",
        "-> tensor<?x1x?xf32>, tensor<?x24xf32> {",
        "transformer.convolve_keys %arg5, @layer.keys in(%arg1, %arg2) : tensor<?x1x?xf32> -> "
        "tensor<?x?x24xf32>",
        "transformer.divide_by_sum %6 in(%arg2) : tensor<?x1x?xf32>",
        "transformer.store %arg3, %3#0 : !transformer.state<1, keys>"}) {
    EXPECT_NE(written.find(line), std::string::npos) << line << "\nis not in\n" << written;
  }
}

TEST_F(BuilderTest, DerivesParameters) {
  Entry entry = model.entry("encode");
  const Ids ids = entry.input("ids");
  const Segments rows = entry.segments();
  const Scope scope = model.scope("layer");
  const Parameter table = scope.parameter("words", {50, 24});
  const Tensor x =
      scope.gather(scope.rows("later", table, 2, 48), ids) +
      scope.gather(scope.sinusoid("sines", 64, 24), scope.positions(rows)) +
      scope.gather(scope.reshape("flat", table, {50, 24}), ids) +
      scope.gather(scope.onesFrom("later_ones", 1, 64, 24), scope.positions(rows)) +
      scope.gather(scope.scaled("half", table, 0.5), ids) +
      scope.gather(scope.columns("right", scope.parameter("wide", {50, 40}), 16, 24), ids) +
      scope.gather(scope.transposed("turned", scope.parameter("tall", {24, 50})), ids);
  entry.output("normed", scope.rmsNorm("norm", x, 1e-6));
  const Parameter distances =
      scope.relativeBuckets("distances", scope.parameter("buckets", {8, 4}), true, 20);
  entry.output("bias", scope.relativeBias(distances, rows, rows));
  const std::string program = text(model);
  for (const char *part :
       {"@layer.turned : tensor<50x24xf32> = transpose(@layer.tall)",
        "@layer.later : tensor<48x24xf32> = rows(@layer.words, 2)",
        "@layer.sines : tensor<64x24xf32> = sinusoid_interleaved(0, 12)",
        "@layer.flat : tensor<50x24xf32> = reshape(@layer.words)",
        "@layer.later_ones : tensor<64x24xf32> = ones_from(1)",
        "@layer.half : tensor<50x24xf32> = scale(@layer.words, 5.0",
        "@layer.right : tensor<50x24xf32> = columns(@layer.wide, 16)",
        "@layer.distances : tensor<4x41xf32> = relative_buckets(@layer.buckets, 1, 20)",
        ", @layer.norm.weight {epsilon = 9.99999997E-7 : f32}",
        "transformer.relative_bias @layer.distances in(%arg1, %arg1) : tensor<?x4x?xf32>"}) {
    EXPECT_TRUE(contains(program, part));
  }
}

TEST_F(BuilderTest, MultipliesColumnsByWeightsAndGates) {
  Entry entry = model.entry("encode");
  const Scope scope = model.scope("layer");
  const Tensor x = scope.gather("words", entry.input("ids"), 50, 24);
  const Parameter kappa = scope.parameter("kappa", {4});
  const Tensor gate = scope.linear("gate", x, 1);
  const Tensor part = x.columns(12, 6) * entry.weight(scope.rows("kappa.2", kappa, 2, 1)) * gate *
                      entry.weight(scope.parameter("each", {6}));
  entry.output("part", part);
  const std::string program = text(model);
  for (const char *line :
       {"@layer.kappa.2 : tensor<1xf32> = rows(@layer.kappa, 2)",
        "%2 = transformer.columns %0 from 12 : tensor<?x24xf32> -> tensor<?x6xf32>",
        "%4 = transformer.multiply %2, %3 : tensor<?x6xf32>, tensor<1xf32>",
        "%5 = transformer.multiply %4, %1 : tensor<?x6xf32>, tensor<?x1xf32>",
        "%7 = transformer.multiply %5, %6 : tensor<?x6xf32>, tensor<6xf32>"}) {
    EXPECT_TRUE(contains(program, line));
  }
}

/// Without a context, so that the caller needs nothing of MLIR.
TEST(BuilderTextTest, GivesItsProgramAndItsTensors) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Scope scope = model.scope("layer");
  const Tensor x = scope.gather("words", entry.input("ids"), 50, 24);
  entry.output("y", scope.linear("map", x, 8, Bias::No).activate(Activation::Relu));
  // Derived parameters are not tensors of the checkpoint, and a second use does not add a tensor.
  scope.rows("part", scope.parameter("map.weight", {8, 24}), 0, 2);
  const std::vector<Parameter> tensors = model.parameters();
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].symbol(), "layer.words.weight");
  EXPECT_EQ(tensors[1].symbol(), "layer.map.weight");
  EXPECT_EQ(tensors[1].shape(), (std::vector<int64_t>{8, 24}));
  const Result<std::string> program = model.text();
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(contains(*program, "transformer.activate relu"));
  EXPECT_TRUE(contains(*program, "loc(\"layer.map\")"));
  EXPECT_EQ(model.text().status().message(),
            "the model was built before, expected one call of build");
}

TEST(BuilderTextTest, GivesItsFirstError) {
  ModelBuilder model("test");
  EXPECT_EQ(model.text().status().message(), "the model has no entry, expected at least one");
  ModelBuilder other("test");
  Entry entry = other.entry("encode");
  const Tensor x = other.scope("layer").gather("words", entry.input("ids"), 50, 24);
  entry.output("y", x.splitHeads(5).mergeHeads());
  EXPECT_EQ(other.text().status().message(),
            "\"layer.words\": 5 heads of rows of width 24, expected heads that divide the width");
}

} // namespace heddle
