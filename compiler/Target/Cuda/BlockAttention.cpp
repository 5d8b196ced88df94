// SPDX-License-Identifier: Apache-2.0
///
/// Selects the attention kernels that blocks compute, and emits the tiles of a call
/// (docs/decisions/0058). Those of bf16 on Hopper are in WarpgroupAttention.cpp; others:
///
///   for each sequence and run of heads that share keys: for each tile of its queries (TileWalk.h):
///     load the queries; load the keys of the first span
///     for each span: store its keys; load its values; barrier;
///       scores; store its values; load the next keys; barrier;
///       softmax; add values
///
/// The spans of a tile are those of a section of its keys (KeySections.h), one section after
/// another.
///
/// Two barriers per span are enough: keys are stored after the barrier that follows their last use,
/// and so are values. Loads are in flight while the preceding products are computed.
#include "compiler/Target/Cuda/BlockAttention.h"

#include "compiler/Parameters/FloatProducts.h"
#include "compiler/Target/Cuda/KeySections.h"
#include "compiler/Target/Cuda/SpanValues.h"
#include "compiler/Target/Cuda/SpanWeights.h"
#include "compiler/Target/Cuda/WarpgroupAttention.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

// --- selection and shapes ------------------------------------------------------------------------

/// The size of the largest heads, and the most lines of locations: with both, a block takes 91 KB
/// of the 99 KB of shared memory that every GPU can provide.
static constexpr int64_t kMostNumbers = 256, kMostLines = 96;

/// Returns the largest head size on tensor cores, where queries and sums of values are in
/// registers; three products per number need more of them.
static int64_t mostNumbersOf(Units units) {
  switch (units) {
  case Units::Fma:
    return 0;
  case Units::Bf16:
    return dataflow::mostBf16HeadSize;
  case Units::Tf32:
    return 128;
  case Units::Tf32x3:
    return 64;
  }
  llvm_unreachable("every kind of units is handled");
}

namespace {
/// What the choice of tiles depends on.
struct AttentionForm {
  /// The elements of a head; no values if only weights are computed, and no keys if they are given.
  int64_t keySize = 0, valueSize = 0;
  float scale = 1;
  bool hasPairs = false;
  /// Lines of locations.
  int64_t lines = 0;
  /// Heads, and those that share keys and values.
  int64_t heads, together;
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;

  int64_t size() const { return std::max(keySize, valueSize); }
  bool isOfWeights() const { return valueSize == 0; }
  bool hasGivenWeights() const { return keySize == 0; }
  /// Whether keys are divided into sections: otherwise a result is no sum of values with weights
  /// that a softmax has computed.
  bool hasSections() const { return !isOfWeights() && !hasGivenWeights(); }
};
} // namespace

template <typename Computes> static int64_t linesOf(Computes computes) {
  return locationLines(computes.getHeadsOfLocations(), computes.getTapsOfLocations(),
                       computes.getLocationFilters());
}

/// Returns the form of attention, or of one of its halves.
static AttentionForm formOf(dataflow::KernelOp kernel) {
  return llvm::TypeSwitch<Attribute, AttentionForm>(kernel.getComputes())
      .Case([](dataflow::AttentionAttr computes) {
        return AttentionForm{.keySize = computes.getKeySize(),
                             .valueSize = computes.getValueSize(),
                             .scale = computes.getScale().getValue().convertToFloat(),
                             .hasPairs = computes.getPairs(),
                             .lines = linesOf(computes),
                             .heads = computes.getHeads(),
                             .together = headsTogether(computes),
                             .arithmetic = computes.getArithmetic()};
      })
      .Case([](dataflow::AttentionWeightsAttr computes) {
        return AttentionForm{.keySize = computes.getKeySize(),
                             .scale = computes.getScale().getValue().convertToFloat(),
                             .hasPairs = computes.getPairs(),
                             .lines = linesOf(computes),
                             .heads = computes.getHeads(),
                             .together = computes.getKeyShare()};
      })
      .Case([](dataflow::AttendAttr computes) {
        return AttentionForm{.valueSize = computes.getValueSize(),
                             .heads = computes.getHeads(),
                             .together = computes.getValueShare()};
      });
}

/// Returns why blocks cannot compute an attention kernel; empty if they can.
static std::string problemOf(dataflow::KernelOp kernel, const AttentionForm &form) {
  if (form.lines > kMostLines) {
    return "a score depends on " + std::to_string(form.lines) +
           " numbers of the keys nearby, expected at most " + std::to_string(kMostLines);
  }
  assert((!kernel.getRows().isOrdered() || kernel.getOperandCache(1)) &&
         "rows in the order of time see keys in a cache");
  if (form.size() > kMostNumbers) {
    return "heads have " + std::to_string(form.size()) + " elements, expected at most " +
           std::to_string(kMostNumbers);
  }
  return "";
}

/// The shape for sums over pairs: each of a lane's scores has its own code, so there are few. The
/// more lines a row has, the fewer rows a tile has.
static SpanShape shapeOfPairs(int64_t keySize, int64_t valueSize, int64_t lines) {
  const int64_t warps = lines <= 16 ? 4 : lines <= 32 ? 2 : 1;
  return {Units::Fma, warps, /*laneRows=*/1, /*keys=*/16, keySize, valueSize, lines};
}

static SpanShape shapeOf(Units units, int64_t keySize, int64_t valueSize) {
  const int64_t size = std::max(keySize, valueSize);
  // Spans have the largest size for which ptxas keeps everything in registers; it uses fewer
  // registers if blocks are small.
  if (size <= mostNumbersOf(units)) {
    const int64_t most = units == Units::Bf16 ? 32 : 64;
    const int64_t keys = size <= 32 ? most : size <= 64 ? 32 : 16;
    return {units, /*warps=*/4, /*laneRows=*/2, keys, keySize, valueSize};
  }
  // Rows of a lane share its loads of keys and values: it has as many as there are registers for
  // sums.
  if (size <= 64) {
    const int64_t keys = size <= 32 ? 32 : 16;
    return {Units::Fma, /*warps=*/2, /*laneRows=*/4, keys, keySize, valueSize};
  }
  return size <= 128
             ? SpanShape{Units::Fma, /*warps=*/2, /*laneRows=*/2, /*keys=*/16, keySize, valueSize}
             : SpanShape{Units::Fma, /*warps=*/4, /*laneRows=*/1, /*keys=*/16, keySize, valueSize};
}

namespace {
/// How blocks compute a kernel.
struct Choice {
  SpanShape shape;
  /// Whether warpgroups do, which have threads and shared memory of their own.
  bool isByWarpgroups;

  int64_t threads() const { return isByWarpgroups ? kAttentionThreads : shape.threads(); }
  /// Bytes of shared memory before what sections need, before what the walk needs, and all of them.
  int64_t bytesOfSpans() const {
    return isByWarpgroups ? WarpgroupSpans(shape).bytes() : shape.bytes();
  }
  int64_t walkBegin(const AttentionForm &form) const {
    return bytesOfSpans() + (form.hasSections() ? sectionBytes(shape.rows()) : 0);
  }
  int64_t bytes(const AttentionForm &form) const { return walkBegin(form) + TileWalk::bytes(); }
};
} // namespace

static Choice choose(dataflow::KernelOp kernel, const AttentionForm &form,
                     const TargetDescription &target) {
  const int64_t keySize = form.keySize, valueSize = form.valueSize;
  if (form.hasPairs) {
    return {shapeOfPairs(keySize, valueSize, form.lines), /*isByWarpgroups=*/false};
  }
  const Units units = form.arithmetic == dataflow::Arithmetic::Bf16
                          ? Units::Bf16
                          : unitsFor(floatProductsOf(kernel));
  if (hasWarpgroups(target) && units == Units::Bf16 && !form.isOfWeights() &&
      form.size() <= mostNumbersOf(units)) {
    return {warpgroupShape(keySize, valueSize), /*isByWarpgroups=*/true};
  }
  return {shapeOf(units, keySize, valueSize), /*isByWarpgroups=*/false};
}

std::optional<BlockWork> blockAttention(dataflow::KernelOp kernel,
                                        const TargetDescription &target) {
  const AttentionForm form = formOf(kernel);
  if (!problemOf(kernel, form).empty()) {
    return std::nullopt;
  }
  const Choice choice = choose(kernel, form, target);
  const int64_t most = std::max<int64_t>(choice.shape.rows() / form.together, 1);
  // Few rows are spread over more blocks: they are steps of several sequences, which see different
  // keys, or one or two texts.
  const int64_t few = kernel.getOperandCache(1) ? 2 : 16;
  return BlockWork{choice.threads(),
                   choice.bytes(form),
                   {most, form.together},
                   {std::min(most, few), form.together},
                   /*fewRows=*/64,
                   // Blocks of warpgroups limit the registers themselves.
                   choice.isByWarpgroups ? kAnyBlocks : 1,
                   /*findsPieces=*/true};
}

int64_t partialBytes(dataflow::KernelOp kernel) {
  const AttentionForm form = formOf(kernel);
  return form.hasSections() && problemOf(kernel, form).empty()
             ? partialNumbers(form.valueSize) * static_cast<int64_t>(sizeof(float))
             : 0;
}

static std::string nameOf(Units units) {
  switch (units) {
  case Units::Fma:
    return "f32";
  case Units::Bf16:
    return "bf16";
  case Units::Tf32:
    return "tf32";
  case Units::Tf32x3:
    return "tf32, three for each";
  }
  llvm_unreachable("every kind of units is handled");
}

KernelChoice attentionChoice(dataflow::KernelOp kernel, const TargetDescription &target) {
  const AttentionForm form = formOf(kernel);
  const std::string problem = problemOf(kernel, form);
  if (!problem.empty()) {
    return {false, "each thread computes rows alone: " + problem};
  }
  const Choice choice = choose(kernel, form, target);
  return {true, "blocks of " + std::to_string(choice.threads()) + " threads for tiles of " +
                    std::to_string(choice.shape.rows()) + " rows and spans of " +
                    std::to_string(choice.shape.keys) + " keys, " +
                    (form.hasPairs ? "sums over pairs in " : "products of ") +
                    nameOf(choice.shape.units) + (choice.isByWarpgroups ? " by warpgroups" : "")};
}

// --- a tile --------------------------------------------------------------------------------------

namespace {

class AttentionCode {
public:
  AttentionCode(TileWalk &walk, const WalkedTile &walked, const SpanShape &shape, float scale,
                SectionSpace space);
  void emitSection();

private:
  /// The values that are carried from span to span.
  struct State {
    SmallVector<Value> keys;
    SoftmaxState softmax;
    SmallVector<Value> sums;
  };

  size_t laneRows() const { return static_cast<size_t>(shape.laneRows); }
  State unpack(ValueRange carried) const;
  static SmallVector<Value> pack(const State &state);
  State begin(Value firstSpan, const SpanRows &keys);
  State next(Value first, const State &state, const SpanRows &keys, const SpanRows &values);
  State attend(Value first, const State &state, ArrayRef<Value> products);
  State attend(const SpanRows &keys, const SpanRows &values);

  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  const float scale;
  TileWalk &walk;
  const WalkedTile &walked;
  const SectionSpace space;
  const SpanThread thread;
  const std::unique_ptr<SpanProducts> products;
  QueryTile tile;
};

} // namespace

AttentionCode::AttentionCode(TileWalk &walk, const WalkedTile &walked, const SpanShape &shape,
                             float scale, SectionSpace space)
    : block(walked.block), code(block.code), a(walked.a), shape(shape), scale(scale), walk(walk),
      walked(walked), space(space), thread(SpanThread::load(block)),
      products(shape.units == Units::Fma ? fmaSpanProducts(block, a, shape, thread)
                                         : tensorSpanProducts(block, shape, thread)),
      tile(block, a, shape, thread.warp) {}

AttentionCode::State AttentionCode::unpack(ValueRange carried) const {
  State state;
  const size_t sums = laneRows() * static_cast<size_t>(shape.laneValues());
  const size_t keys = carried.size() - 2 * laneRows() - sums;
  state.keys = SmallVector<Value>(carried.take_front(keys));
  state.softmax.maxima = SmallVector<Value>(carried.slice(keys, laneRows()));
  state.softmax.sums = SmallVector<Value>(carried.slice(keys + laneRows(), laneRows()));
  state.sums = SmallVector<Value>(carried.take_back(sums));
  return state;
}

SmallVector<Value> AttentionCode::pack(const State &state) {
  SmallVector<Value> all(state.keys);
  llvm::append_range(all, state.softmax.maxima);
  llvm::append_range(all, state.softmax.sums);
  llvm::append_range(all, state.sums);
  return all;
}

// --- spans ---------------------------------------------------------------------------------------

AttentionCode::State AttentionCode::begin(Value firstSpan, const SpanRows &keys) {
  State state;
  state.keys = loadFirstSpan(block, shape, keys, firstSpan, tile.from, tile.to);
  state.softmax.maxima.assign(laneRows(), code.number(kLowestScore));
  state.softmax.sums.assign(laneRows(), code.number(0));
  state.sums.assign(laneRows() * static_cast<size_t>(shape.laneValues()), code.number(0));
  return state;
}

/// Computes the softmax and the sums of values for the span from key `first` on, given its products
/// of queries and keys.
AttentionCode::State AttentionCode::attend(Value first, const State &state,
                                           ArrayRef<Value> products) {
  State after = state;
  SmallVector<Value> scores =
      spanScores(block, a, shape, scale, tile.rows, products, first, thread.t);
  const SmallVector<Value> corrections = updateSoftmax(block, after.softmax, scores);
  for (auto [i, sum] : llvm::enumerate(after.sums)) {
    sum = code.multiplyFloat(sum, corrections[i / static_cast<size_t>(shape.laneValues())]);
  }
  after.sums = this->products->addValues(scores, after.sums);
  return after;
}

AttentionCode::State AttentionCode::next(Value first, const State &state, const SpanRows &keys,
                                         const SpanRows &values) {
  // A warp without rows only loads its part of keys and values.
  Value hasRows = code.less(tile.before, tile.count);
  storeSpan(block, shape, keys, state.keys, shape.keysBegin());
  products->storeLines(tile, first);
  const SmallVector<Value> loaded = loadSpan(block, shape, values, first, tile.from, tile.to);
  block.barrier();
  const SmallVector<Value> scores = productsOf(block, *products, shape, hasRows);
  storeSpan(block, shape, values, loaded, shape.valuesBegin());
  State after = state;
  // After the last span, this reloads its last key, which is not used.
  after.keys = loadSpan(block, shape, keys, code.add(first, shape.keys), tile.from, tile.to);
  block.barrier();
  State own = state;
  own.keys.clear();
  const State attended = unpack(block.choose(
      hasRows, [&] { return pack(attend(first, own, scores)); }, [&] { return pack(own); }));
  after.softmax = attended.softmax;
  after.sums = attended.sums;
  return after;
}

/// Returns the state after the last span of the tile's keys.
AttentionCode::State AttentionCode::attend(const SpanRows &keys, const SpanRows &values) {
  Value firstSpan = tile.firstSpan();
  return unpack(code.loop(firstSpan, tile.to, shape.keys, pack(begin(firstSpan, keys)),
                          [&](Value first, ValueRange state) {
                            return pack(next(first, unpack(state), keys, values));
                          }));
}

void AttentionCode::emitSection() {
  tile.enter(walked.query, walked.last);
  walk.advance(KeySections(walked, space).enter(tile, thread));
  // A tile may have no spans, whose barriers there would be.
  block.barrier();
  const SmallVector<Value> queries = tile.enterRows(thread.g);
  products->takeQueries(queries, tile.rows);
  const SpanRows keys = tile.keysOrValues(/*areKeys=*/true),
                 values = tile.keysOrValues(/*areKeys=*/false);
  const State state = attend(keys, values);
  walk.again([&](const WalkedTile &again) {
    KeySections(again, space)
        .store(shape, state.softmax, state.sums, SpanThread::load,
               [&](int64_t i) { return products->columnOf(i); });
  });
}

// --- the kernel ----------------------------------------------------------------------------------

/// A block merges the sections of a row and a head. Shared memory marks a launch whose threads
/// cooperate.
static constexpr BlockPiece kMergedPiece = {1, 1};
static constexpr BlockWork mergeWork = {kMergeThreads, kSharedAlignment, kMergedPiece, kMergedPiece,
                                        /*fewRows=*/0, kRowBlocks};

static AttentionTile prepare(VectorCode &code, const KernelBody &body, const SpanShape &shape) {
  AttentionTile a{code, shape.rows(), shape.keySize, shape.valueSize};
  if (auto attend = dyn_cast<dataflow::AttendAttr>(body.kernel.getComputes())) {
    loadAttention(a, body, attend);
    return a;
  }
  auto load = [&](auto computes) {
    loadAttention(a, body, computes);
    loadLocationInputs(a, body, computes.getFirstLocation(), computes.getHeadsOfLocations(),
                       computes.getTapsOfLocations(), computes.getLocationFilters());
  };
  if (auto weights = dyn_cast<dataflow::AttentionWeightsAttr>(body.kernel.getComputes())) {
    load(weights);
  } else {
    load(cast<dataflow::AttentionAttr>(body.kernel.getComputes()));
  }
  return a;
}

void emitBlockAttention(VectorCode &code, const KernelBody &body) {
  const BlockWork work = *blockAttention(body.kernel, code.target);
  work.note(body.function);
  BlockCode block(code, body.function);
  const AttentionForm form = formOf(body.kernel);
  const Choice choice = choose(body.kernel, form, code.target);
  const SpanShape &shape = choice.shape;
  auto prepareTile = [&](const KernelBody &own) { return prepare(code, own, shape); };
  TileWalk walk(block, body, work, form.heads, choice.walkBegin(form), prepareTile);
  walk.overTiles([&](const WalkedTile &walked) {
    const SectionSpace sections = {form.heads, choice.bytesOfSpans()};
    if (!form.hasSections()) {
      walk.advance();
      block.barrier();
      if (form.hasGivenWeights()) {
        SpanValues(walked.block, walked.a, shape).emitTile(walked.query, walked.last);
      } else {
        SpanWeights(walked.block, walked.a, shape, form.scale).emitTile(walked.query, walked.last);
      }
    } else if (choice.isByWarpgroups) {
      WarpgroupAttention(walk, walked, shape, form.scale, sections).emitSection();
    } else {
      AttentionCode(walk, walked, shape, form.scale, sections).emitSection();
    }
  });
}

void emitMergedSections(VectorCode &code, const KernelBody &body) {
  mergeWork.note(body.function);
  BlockCode block(code, body.function);
  const AttentionForm form = formOf(body.kernel);
  AttentionTile a = prepare(code, body, choose(body.kernel, form, code.target).shape);
  const WalkedTile walked = {block, a, body.arguments, /*query=*/{}, /*last=*/{}, /*section=*/{}};
  const KeySections sections(walked, {form.heads, /*begin=*/0});
  code.loop(body.arguments.rowBegin, body.arguments.rowEnd, 1, [&](Value row) {
    code.loop(body.arguments.columnBegin, body.arguments.columnEnd, 1,
              [&](Value head) { sections.merge(row, head); });
  });
}

} // namespace heddle
