// SPDX-License-Identifier: Apache-2.0
///
/// Computes a product of bf16 as tiles of warpgroups, on Hopper (docs/decisions/0068). The first
/// warpgroup of a block fills stages of shared memory, the others multiply them. The first one goes
/// on with the block's next tile while the others finish one (docs/decisions/0076). A stage
/// contains a slab of k:
///
///   rows      [rows][slab] bf16, the 16-byte parts of a row permuted as the descriptor says
///   weights   [slab / 8][columns][8] bf16: core matrices, in the order of their panels
///
/// The producer, for each slab: wait until its stage is empty; start bulk copies of weights; round
/// and store rows, and load those of the next slab; fence; arrive at "full". In large launches of
/// wide products another kernel has rounded the rows (RowBlocks.h), and one warp starts bulk copies
/// of them too (docs/decisions/0078).
///
/// A consumer, for each slab: wait until its stage is full; start to multiply; wait for the
/// products of the slab before; arrive at "empty" of its stage. After the last slab, each warp
/// applies the epilogue to its own sums, part by part, through shared memory of its own.
///
/// Two mbarriers belong to each stage. All products of an element are added in the order of k, by
/// instructions of 16 steps each, in every tile.
#include "compiler/Target/Cuda/ProductTile.h"
#include "compiler/Target/Cuda/StageRing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

/// Rows of sums begin so many bytes further in the banks, so that four of them use different ones.
static constexpr int64_t kSumShift = 32;
/// A warpgroup that fills stages, and two that multiply.
static constexpr int64_t kTileThreads = 3 * kWarpgroupThreads;
/// Panels of a part of a warp's sums.
static constexpr int64_t kPartPanels = 2;
/// The sums of a part that a lane finishes together.
static constexpr int64_t kFinishedTogether = 4;

namespace {
/// The shape of a tile.
struct Tile {
  int64_t rows, panels, stages;
  /// Steps of k of a stage.
  int64_t slab;

  int64_t columns() const { return panels * sharedPanelColumns; }
  /// Warpgroups that multiply.
  int64_t consumers() const { return rows / kWarpgroupRows; }
  /// 16-byte parts of a row.
  int64_t rowParts() const { return slab / kCoreSteps; }
  int64_t rowBytes() const { return slab * kBf16Bytes; }
  int64_t rowsBytes() const { return rows * rowBytes(); }
  /// Bytes of eight steps of k of all columns.
  int64_t stepBytes() const { return columns() * kCoreRowBytes; }
  int64_t weightsBytes() const { return rowParts() * stepBytes(); }
  int64_t stageBytes() const {
    return static_cast<int64_t>(llvm::alignTo(rowsBytes() + weightsBytes(), kSwizzleAlignment));
  }
  /// A warp finishes its sums in parts of so many columns.
  int64_t partColumns() const { return std::min(columns(), kPartPanels * sharedPanelColumns); }
  int64_t sumPitch() const {
    return static_cast<int64_t>(llvm::alignTo(partColumns() * kFloatBytes, kBankBytes)) + kSumShift;
  }
  int64_t partBytes() const { return kMatrixRows * sumPitch(); }
  /// The parts of all warps follow the stages, then come mbarriers.
  int64_t partsBegin() const { return stages * stageBytes(); }
  int64_t mbarriersBegin() const { return partsBegin() + rows / kMatrixRows * partBytes(); }
  int64_t bytes() const { return mbarriersBegin() + StageRing::bytes(stages); }
};

/// The tiles of a block, whose code is being emitted.
class TileCode {
public:
  /// With `mayBeRounded`, another kernel may have rounded the rows of the launch.
  TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product, const KernelBody &body,
           bool mayBeRounded);
  void emit();

private:
  int64_t slabs() const { return product.k / tile.slab; }
  /// Rows between one load of a thread and its next one, and the number of loads.
  int64_t rowsOfLoad() const { return kWarpgroupThreads / tile.rowParts(); }
  int64_t loads() const { return tile.rows / rowsOfLoad(); }
  /// The loads for the next slab that are in flight while a slab is stored: half of them, because
  /// registers are scarce.
  int64_t ahead() const { return llvm::divideCeilSigned(loads(), 2); }
  Value slabCount();
  Value stageBegin(Value stage);
  /// Eight steps of a panel, or all of a slab, that a lane copies; and the lanes that copy weights.
  int64_t copiedSteps() const { return tile.panels == 1 ? 1 : tile.rowParts(); }
  int64_t copiers() const { return copiedSteps() * tile.panels; }

  void begin();
  SmallVector<Value> loadPart(int64_t number, Value slab);
  void storePart(ValueRange loaded, int64_t number, Value stage);
  void copyWeights(Value slab, Value stage, int64_t expectedBytes);
  void copyRows(Value slab, Value stage, Value from);
  SmallVector<Value> fill(Value slab, const Stage &stage, ValueRange loaded);
  void overTiles(llvm::function_ref<Stage(const Stage &first)> emitTile);
  Stage produce(const Stage &first);
  Stage copy(const Stage &first, Value rounded);
  void fillStages();
  SmallVector<Value> multiply(Value slab, Value stage, ValueRange sums);
  std::pair<Stage, SmallVector<Value>> sums(const Stage &first);
  Value consumerWarp();
  Value partBegin();
  void storePart(ValueRange sums, int64_t firstColumn);
  void finishPart(const KernelResult &result, const Epilogue &epilogue, int64_t firstColumn);
  void finish(ValueRange sums);
  Stage consume(const Stage &first);

  BlockCode &block;
  VectorCode &code;
  WarpgroupCode warpgroups;
  StageRing stages;
  const Tile &tile;
  /// The part of the product that belongs to the current tile.
  TiledProduct product;
  const KernelBody &body;
  const bool mayBeRounded;
  /// The thread's warpgroup and its place there; the part of rows that it loads, and the first row.
  Value warpgroup, inWarpgroup, ownPart, ownRow;
};
} // namespace

/// The tile for many rows: two warpgroups with 64 x 192 sums each.
static constexpr Tile kMany = {128, 4, 4, 64};
/// The tile for few rows, whose time is that of reading weights; one warpgroup multiplies.
static constexpr Tile kFew = {64, 1, 8, 64};
/// Up to here, the larger tile gives too few tiles for all multiprocessors.
static constexpr int64_t kFewRows = 256;
/// Tiles of rows that come together, with all columns. The blocks of a GPU, about 130, then compute
/// half as many tiles of columns at a time, and read few rows and weights that are not in the
/// second-level cache yet.
static constexpr int64_t kTilesOfGroup = 16;

/// Returns a tile for a product with `k` steps, whose slabs have no remainder.
static Tile tileOf(int64_t k, bool isFew) {
  Tile tile = isFew ? kFew : kMany;
  while (k % tile.slab != 0) {
    tile.slab /= 2;
  }
  assert(tile.slab % kWarpgroupSteps == 0 && "k is a multiple of the steps of an instruction");
  return tile;
}

BlockWork warpgroupWork(int64_t k) {
  const Tile many = tileOf(k, /*isFew=*/false), few = tileOf(k, /*isFew=*/true);
  return {kTileThreads,
          std::max(many.bytes(), few.bytes()),
          {many.rows, many.panels},
          {few.rows, few.panels},
          kFewRows,
          kAnyBlocks,
          /*findsPieces=*/true};
}

RoundedLaunches warpgroupRounds(int64_t n, int64_t k) {
  return worthRounding(n, {k, tileOf(k, /*isFew=*/false).slab});
}

TileCode::TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product,
                   const KernelBody &body, bool mayBeRounded)
    : block(block), code(block.code), warpgroups(block),
      stages(warpgroups, tile.stages, tile.mbarriersBegin()), tile(tile), product(product),
      body(body), mayBeRounded(mayBeRounded),
      warpgroup(code.divide(block.thread, kWarpgroupThreads)),
      inWarpgroup(code.remainder(block.thread, kWarpgroupThreads)),
      ownPart(code.remainder(inWarpgroup, tile.rowParts())),
      ownRow(code.divide(inWarpgroup, tile.rowParts())) {}

/// Returns the number of slabs, opaque for LLVM. If it unrolled the loop, it would set the sums to
/// zero between wgmma.fence and the first product, and ptxas would then let products wait for each
/// other.
Value TileCode::slabCount() {
  Value count = block.keptHere(code.integer(slabs()));
  return arith::ExtUIOp::create(code.builder, code.location, code.i64, count);
}

// --- stages --------------------------------------------------------------------------------------

Value TileCode::stageBegin(Value stage) { return code.multiply(stage, tile.stageBytes()); }

void TileCode::begin() {
  // All threads of the producer arrive when they have stored rows, and one of them with the bytes
  // that are copied: it alone if all are. One lane of each warp that multiplies arrives.
  Value fills = warpgroups.constant(kWarpgroupThreads + 1);
  if (mayBeRounded) {
    fills =
        code.select(isNull(code, roundedRows(code, body.arguments)), fills, warpgroups.constant(1));
  }
  stages.create(fills, warpgroups.constant(tile.consumers() * kWarpgroupThreads / kWarpLanes));
  // Bulk copies arrive at mbarriers.
  warpgroups.fenceProxies();
  block.barrier();
}

// --- the producer --------------------------------------------------------------------------------

/// Starts load `number` of the thread for a slab: one part of a row. Rows past the end repeat the
/// last one; their results are not used.
SmallVector<Value> TileCode::loadPart(int64_t number, Value slab) {
  Value first = code.at(product.rows, code.multiply(product.firstRow, product.rowElements));
  Value row = arith::TruncIOp::create(code.builder, code.location, code.i32, ownRow);
  Value inTile =
      TiledProduct::nearRow(block, code.add(row, warpgroups.constant(number * rowsOfLoad())),
                            product.lastRow(block, tile.rows));
  Value k = code.add(code.multiply(slab, tile.slab), code.multiply(ownPart, kCoreSteps));
  Value from = code.at(code.at(first, code.multiply(inTile, product.rowElements)), k);
  return {block.loadFour(from, product.hasAlignedRows),
          block.loadFour(code.at(from, kNumbersTogether), product.hasAlignedRows)};
}

/// Rounds and stores a loaded part to a stage.
void TileCode::storePart(ValueRange loaded, int64_t number, Value stage) {
  SmallVector<Value> numbers;
  for (Value four : loaded) {
    llvm::append_range(numbers, elementsOf(code, four));
  }
  // Rows at the distance of two loads have the same order of parts.
  Value part = warpgroups.permuted(ownRow, ownPart, tile.rowBytes());
  Value row = code.add(ownRow, number * rowsOfLoad());
  Value place =
      code.add(code.multiply(row, tile.rowBytes()), code.multiply(part, kSharedAlignment));
  warpgroups.storePart(numbers, code.add(stageBegin(stage), place));
}

/// Starts to copy the weights of a slab to a stage that expects so many bytes. The last panel is
/// copied again in place of panels past the end. If there are several panels, the lanes of a warp
/// copy eight steps of one each.
void TileCode::copyWeights(Value slab, Value stage, int64_t expectedBytes) {
  const int64_t steps = copiedSteps();
  const int64_t bytes = tile.weightsBytes() / tile.panels / steps;
  assert(steps * tile.panels <= kWarpLanes && "a warp begins all copies of a stage");
  code.when(code.equal(block.thread, code.integer(0)),
            [&] { warpgroups.arriveExpecting(stages.full(stage), expectedBytes); });
  code.when(code.less(block.thread, code.integer(copiers())), [&] {
    Value inTile = code.divide(block.thread, steps), step = code.remainder(block.thread, steps);
    Value panel =
        code.smaller(code.add(product.firstPanel, inTile), code.subtract(product.endPanel, 1));
    const int64_t panelSteps = product.k * sharedPanelColumns * kBf16Bytes / bytes;
    Value from =
        code.add(code.multiply(panel, panelSteps), code.add(code.multiply(slab, steps), step));
    Value to = code.add(code.multiply(step, tile.stepBytes()), code.multiply(inTile, bytes));
    warpgroups.copyBulk(code.add(code.add(stageBegin(stage), tile.rowsBytes()), to),
                        code.bytesAt(product.weights, code.multiply(from, bytes)), bytes,
                        stages.full(stage));
  });
}

/// Starts to copy the rows of a slab, a block by each of the first lanes. The last block is copied
/// again in place of blocks past the end.
void TileCode::copyRows(Value slab, Value stage, Value from) {
  const RowBlocks blocks = {product.k, tile.slab};
  code.when(code.less(block.thread, code.integer(tile.rows / RowBlocks::rows)), [&] {
    const KernelArguments &launch = body.arguments;
    Value before = code.divide(code.subtract(product.firstRow, launch.rowBegin), RowBlocks::rows);
    Value count = code.divideUp(code.subtract(launch.rowEnd, launch.rowBegin), RowBlocks::rows);
    Value number = code.smaller(code.add(before, block.thread), code.subtract(count, 1));
    Value to = code.add(stageBegin(stage), code.multiply(block.thread, blocks.blockBytes()));
    warpgroups.copyBulk(to, blocks.blockAt(code, from, number, slab), blocks.blockBytes(),
                        stages.full(stage));
  });
}

/// Fills the stage of a slab with its rows and weights. The first loads of its rows are `loaded`;
/// returns those of the next slab. After the last slab, these are its own; they are not used.
SmallVector<Value> TileCode::fill(Value slab, const Stage &stage, ValueRange loaded) {
  Value next = code.smaller(code.add(slab, 1), code.integer(slabs() - 1));
  SmallVector<Value> rest, result;
  for (int64_t number = ahead(); number < loads(); ++number) {
    llvm::append_range(rest, loadPart(number, slab));
  }
  stages.awaitEmpty(stage);
  copyWeights(slab, stage.number, tile.weightsBytes());
  for (int64_t number = 0; number < ahead(); ++number) {
    storePart(loaded.slice(static_cast<size_t>(2 * number), 2), number, stage.number);
    llvm::append_range(result, loadPart(number, next));
  }
  for (int64_t number = ahead(); number < loads(); ++number) {
    const auto first = static_cast<size_t>(2 * (number - ahead()));
    storePart(ValueRange(rest).slice(first, 2), number, stage.number);
  }
  warpgroups.fenceProxies();
  warpgroups.arrive(stages.full(stage.number));
  return result;
}

/// Fills stages with the slabs of a tile. Returns the stage after the last one.
Stage TileCode::produce(const Stage &first) {
  SmallVector<Value> initial = {first.number, first.parity};
  for (int64_t number = 0; number < ahead(); ++number) {
    llvm::append_range(initial, loadPart(number, code.integer(0)));
  }
  const SmallVector<Value> last =
      code.loop(code.integer(0), slabCount(), 1, initial, [&](Value slab, ValueRange carried) {
        const Stage stage = {carried[0], carried[1]};
        const SmallVector<Value> loaded = fill(slab, stage, carried.drop_front(2));
        const Stage next = stages.after(stage);
        SmallVector<Value> results = {next.number, next.parity};
        llvm::append_range(results, loaded);
        return results;
      });
  return {last[0], last[1]};
}

/// Does the same with rows that are rounded already. Each of the threads copies weights of every
/// slab, so none can be a phase behind the others.
Stage TileCode::copy(const Stage &first, Value rounded) {
  const SmallVector<Value> last =
      code.loop(code.integer(0), slabCount(), 1, {first.number, first.parity},
                [&](Value slab, ValueRange carried) {
                  const Stage stage = {carried[0], carried[1]};
                  stages.awaitEmpty(stage);
                  copyWeights(slab, stage.number, tile.weightsBytes() + tile.rowsBytes());
                  copyRows(slab, stage.number, rounded);
                  const Stage next = stages.after(stage);
                  return SmallVector<Value>{next.number, next.parity};
                });
  return {last[0], last[1]};
}

// --- consumers -----------------------------------------------------------------------------------

/// Starts to multiply a slab.
SmallVector<Value> TileCode::multiply(Value slab, Value stage, ValueRange sums) {
  Value rows = code.add(stageBegin(stage), code.multiply(code.subtract(warpgroup, 1),
                                                         kWarpgroupRows * tile.rowBytes()));
  Value weights = code.add(stageBegin(stage), tile.rowsBytes());
  Value ofRows =
      warpgroups.descriptor(rows, tile.rowBytes(), kCoreRows * tile.rowBytes(), kCoreRowBytes);
  Value ofWeights =
      warpgroups.descriptor(weights, kCoreRowBytes, kCoreRows * kCoreRowBytes, tile.stepBytes());
  // The first product replaces the sums.
  Value isLater = arith::ExtUIOp::create(code.builder, code.location, code.i32,
                                         code.less(code.integer(0), slab));
  SmallVector<Value> result(sums);
  warpgroups.fenceRegisters();
  for (int64_t k = 0; k < tile.slab; k += kWarpgroupSteps) {
    const int64_t before = k / kCoreSteps * tile.stepBytes();
    result = warpgroups.add(result, warpgroups.moved(ofRows, k * kBf16Bytes),
                            warpgroups.moved(ofWeights, before),
                            k == 0 ? isLater : warpgroups.constant(1));
  }
  warpgroups.commit();
  return result;
}

/// Returns the stage after those of a tile, and the sums over all of k.
std::pair<Stage, SmallVector<Value>> TileCode::sums(const Stage &first) {
  const auto count = static_cast<size_t>(kWarpgroupRows * tile.columns() / kWarpgroupThreads);
  SmallVector<Value> initial = {first.number, first.parity};
  initial.append(count, code.number(0));
  Value isFirstLane = code.equal(code.remainder(block.thread, kWarpLanes), code.integer(0));
  const SmallVector<Value> last =
      code.loop(code.integer(0), slabCount(), 1, initial, [&](Value slab, ValueRange carried) {
        const Stage stage = {carried[0], carried[1]};
        stages.awaitFull(stage);
        const SmallVector<Value> sums = multiply(slab, stage.number, carried.drop_front(2));
        // The products of the slab before have read its stage.
        warpgroups.await(1);
        Value isLater = code.less(code.integer(0), slab);
        code.when(code.both(isFirstLane, isLater),
                  [&] { warpgroups.arrive(stages.empty(stages.numberBefore(stage.number))); });
        const Stage next = stages.after(stage);
        SmallVector<Value> results = {next.number, next.parity};
        llvm::append_range(results, sums);
        return results;
      });
  const SmallVector<Value> sums = warpgroups.awaitSums(ValueRange(last).drop_front(2));
  code.when(isFirstLane, [&] { warpgroups.arrive(stages.empty(stages.numberBefore(last[0]))); });
  return {{last[0], last[1]}, sums};
}

/// Returns the number of the thread's warp among those that multiply.
Value TileCode::consumerWarp() {
  return code.subtract(code.divide(block.thread, kWarpLanes), kWarpgroupThreads / kWarpLanes);
}

/// Returns the byte of shared memory where the part of the thread's warp begins.
Value TileCode::partBegin() {
  return code.add(code.multiply(consumerWarp(), tile.partBytes()), tile.partsBegin());
}

/// Stores the sums of the thread's warp from a column of the tile on to its part.
void TileCode::storePart(ValueRange sums, int64_t firstColumn) {
  Value lane = code.remainder(inWarpgroup, kWarpLanes);
  Value t = code.multiply(code.remainder(lane, kLanesOfRow), 2 * kFloatBytes);
  for (const int64_t half : {0, 1}) {
    Value row = code.add(code.divide(lane, kLanesOfRow), half * kCoreRows);
    Value at = code.add(code.add(code.multiply(row, tile.sumPitch()), t), partBegin());
    for (int64_t column = 0; column < tile.partColumns(); column += kMatrixColumns) {
      const int64_t matrix = (firstColumn + column) / kMatrixColumns;
      block.store(sums.slice(static_cast<size_t>(matrix * 4 + half * 2), 2),
                  block.sharedAt(code.add(at, column * kFloatBytes)));
    }
  }
}

/// Applies the epilogue to the part of the thread's warp, and stores the result. Neighbouring lanes
/// take neighbouring columns.
void TileCode::finishPart(const KernelResult &result, const Epilogue &epilogue,
                          int64_t firstColumn) {
  Value lane = code.remainder(block.thread, kWarpLanes), begin = partBegin();
  Value firstRow = code.add(product.firstRow, code.multiply(consumerWarp(), kMatrixRows));
  Value left = code.add(product.firstColumn, firstColumn);
  const int64_t ofLane = kMatrixRows * tile.partColumns() / kWarpLanes;
  assert(ofLane % kFinishedTogether == 0 && "a lane has whole groups of sums");
  code.loop(code.integer(0), code.integer(ofLane), kFinishedTogether, [&](Value first) {
    finishTogether(block, product, result, epilogue, kFinishedTogether, [&](Value number) {
      Value place = code.add(code.multiply(code.add(first, number), kWarpLanes), lane);
      Value inPart = code.divide(place, tile.partColumns());
      Value inRow = code.remainder(place, tile.partColumns());
      Value at =
          code.add(code.multiply(inPart, tile.sumPitch()), code.multiply(inRow, kFloatBytes));
      return SumPlace{code.add(firstRow, inPart), code.add(left, inRow), code.add(at, begin)};
    });
  });
}

/// Applies the epilogue to the sums of the thread's warp. The addresses of its operands are loaded
/// only now, so that they need no registers before.
void TileCode::finish(ValueRange sums) {
  KernelBody own = body;
  own.arguments.context = block.addressKeptHere(body.arguments.context);
  const KernelResult result = KernelResult::load(code, own.arguments);
  const Epilogue epilogue(code, own);
  for (int64_t column = 0; column < tile.columns(); column += tile.partColumns()) {
    storePart(sums, column);
    block.syncWarp();
    finishPart(result, epilogue, column);
    // Lanes go on together: to the next part in the same memory, or to the next product.
    block.syncWarp();
  }
}

/// Computes a tile. Returns the stage after its last one.
Stage TileCode::consume(const Stage &first) {
  const auto [next, all] = sums(first);
  Value firstRow = code.add(product.firstRow, code.multiply(consumerWarp(), kMatrixRows));
  // The other warps have only rows past the end.
  code.when(code.less(firstRow, product.endRow), [&, all = all] { finish(all); });
  return next;
}

// --- the tiles of a block ------------------------------------------------------------------------

/// Emits a loop over the block's tiles. `emitTile` is passed the first stage of a tile, and returns
/// that of the next one.
void TileCode::overTiles(llvm::function_ref<Stage(const Stage &first)> emitTile) {
  const KernelArguments &launch = body.arguments;
  const LaunchPieces pieces(code,
                            {launch.rowBegin, launch.rowEnd, launch.columnBegin, launch.columnEnd},
                            code.integer(tile.rows), code.integer(tile.panels));
  Value own = LaunchPieces::first(code), step = LaunchPieces::step(code);
  Value rest = code.subtract(pieces.count, own);
  const Stage first = stages.first();
  code.loop(code.integer(0), code.divideUp(rest, step), 1, {first.number, first.parity},
            [&](Value number, ValueRange carried) {
              const auto [begin, end, firstPanel, endPanel] = pieces.atInGroups(
                  code, code.add(own, code.multiply(number, step)), kTilesOfGroup);
              product.firstRow = begin;
              product.endRow = end;
              product.setColumns(code, firstPanel, endPanel);
              const Stage next = emitTile({carried[0], carried[1]});
              return SmallVector<Value>{next.number, next.parity};
            });
}

/// Fills the stages of all tiles of the block.
void TileCode::fillStages() {
  auto rounding = [&] { overTiles([&](const Stage &first) { return produce(first); }); };
  if (!mayBeRounded) {
    rounding();
    return;
  }
  Value rounded = roundedRows(code, body.arguments);
  code.when(isNull(code, rounded), rounding, [&] {
    code.when(code.less(block.thread, code.integer(copiers())),
              [&] { overTiles([&](const Stage &first) { return copy(first, rounded); }); });
  });
}

void TileCode::emit() {
  begin();
  code.when(
      code.equal(warpgroup, code.integer(0)), [&] { fillStages(); },
      [&] {
        code.when(code.less(warpgroup, code.integer(tile.consumers() + 1)),
                  [&] { overTiles([&](const Stage &first) { return consume(first); }); });
      });
  // Shared memory and mbarriers end with the block, which is the end of this function.
}

void emitWarpgroupTiles(BlockCode &block, const TiledProduct &product, const KernelBody &body) {
  VectorCode &code = block.code;
  Value rows = code.subtract(body.arguments.rowEnd, body.arguments.rowBegin);
  auto emit = [&](bool isFew) {
    const bool mayBeRounded = !isFew && warpgroupRounds(product.n, product.k).from != 0;
    const Tile tile = tileOf(product.k, isFew);
    TileCode(block, tile, product, body, mayBeRounded).emit();
  };
  code.when(
      code.less(rows, code.integer(kFewRows + 1)), [&] { emit(/*isFew=*/true); },
      [&] { emit(/*isFew=*/false); });
}

} // namespace heddle
