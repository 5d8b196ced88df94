// SPDX-License-Identifier: Apache-2.0
///
/// Computes a product of bf16 as tiles of warpgroups, on Hopper (docs/decisions/0068). The first
/// warpgroup of a block fills stages of shared memory, the others multiply them. A stage contains a
/// slab of k:
///
///   rows      [rows][slab] bf16, the 16-byte parts of a row permuted as the descriptor says
///   weights   [slab / 8][columns][8] bf16: core matrices, in the order of their panels
///
///   producer, for each slab: wait until its stage is empty; start bulk copies of weights; round
///   and store rows, and load those of the next slab; fence; arrive at "full" consumer, for each
///   slab: wait until its stage is full; start to multiply; wait for the products of the slab
///   before; arrive at "empty" of its stage
///
/// Two mbarriers belong to each stage. All products of an element are added in the order of k, by
/// instructions of 16 steps each, in every tile.
#include "compiler/Target/Cuda/ProductTile.h"
#include "compiler/Target/Cuda/StageRing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t kFloatBytes = sizeof(float), kElementBytes = 2;
/// Elements that a thread loads at once.
static constexpr int64_t kTogether = 4;
/// Bytes of all banks of shared memory.
static constexpr int64_t kBankBytes = 128;
/// Rows of sums begin so many bytes further in the banks, so that four of them use different ones.
static constexpr int64_t kSumShift = 32;
/// A warpgroup that fills stages, and two that multiply.
static constexpr int64_t kTileThreads = 3 * kWarpgroupThreads;

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
  int64_t rowBytes() const { return slab * kElementBytes; }
  int64_t rowsBytes() const { return rows * rowBytes(); }
  /// Bytes of eight steps of k of all columns.
  int64_t stepBytes() const { return columns() * kCoreRowBytes; }
  int64_t weightsBytes() const { return rowParts() * stepBytes(); }
  int64_t stageBytes() const {
    return static_cast<int64_t>(llvm::alignTo(rowsBytes() + weightsBytes(), kSwizzleAlignment));
  }
  int64_t sumPitch() const {
    return static_cast<int64_t>(llvm::alignTo(columns() * kFloatBytes, kBankBytes)) + kSumShift;
  }
  /// The memory of stages is reused for the sums; mbarriers are behind both.
  int64_t mbarriersBegin() const { return std::max(stages * stageBytes(), rows * sumPitch()); }
  int64_t bytes() const { return mbarriersBegin() + StageRing::bytes(stages); }
};

/// A tile whose code is being emitted.
class TileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product);
  void emit(const KernelBody &body);

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

  void begin();
  Value loadFour(Value from);
  SmallVector<Value> loadPart(int64_t number, Value slab);
  void storePart(ValueRange loaded, int64_t number, Value stage);
  void copyWeights(Value slab, Value stage);
  SmallVector<Value> fill(Value slab, const Stage &stage, ValueRange loaded);
  void produce();
  SmallVector<Value> multiply(Value slab, Value stage, ValueRange sums);
  SmallVector<Value> sums();
  void storeSums(ValueRange sums);
  void consume();
  void finish(KernelBody body);

  BlockCode &block;
  VectorCode &code;
  WarpgroupCode warpgroups;
  StageRing stages;
  const Tile &tile;
  const TiledProduct &product;
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
          kAnyBlocks};
}

TileCode::TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product)
    : block(block), code(block.code), warpgroups(block),
      stages(warpgroups, tile.stages, tile.mbarriersBegin()), tile(tile), product(product),
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
  // All threads of the producer arrive, and one of them again with the bytes of weights. One lane
  // of each warp that multiplies arrives.
  stages.create(warpgroups.constant(kWarpgroupThreads + 1),
                warpgroups.constant(tile.consumers() * kWarpgroupThreads / kWarpLanes));
  // Bulk copies may write where threads have had sums of the previous tile; after the barrier, no
  // thread reads them any more.
  warpgroups.fenceProxies();
  block.barrier();
}

// --- the producer --------------------------------------------------------------------------------

/// Loads four elements of a row.
Value TileCode::loadFour(Value from) {
  auto four = VectorType::get({kTogether}, code.f32);
  if (product.hasAlignedRows) {
    return block.loadFar(from, four);
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    elements.push_back(block.loadFar(code.at(from, i), code.f32));
  }
  return vector::FromElementsOp::create(code.builder, code.location, four, elements);
}

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
  return {loadFour(from), loadFour(code.at(from, kTogether))};
}

/// Rounds and stores a loaded part to a stage.
void TileCode::storePart(ValueRange loaded, int64_t number, Value stage) {
  SmallVector<Value> numbers;
  for (Value four : loaded) {
    for (int64_t i = 0; i < kTogether; ++i) {
      numbers.push_back(vector::ExtractOp::create(code.builder, code.location, four, i));
    }
  }
  // Rows at the distance of two loads have the same order of parts.
  Value part = warpgroups.permuted(ownRow, ownPart, tile.rowBytes());
  Value row = code.add(ownRow, number * rowsOfLoad());
  Value place =
      code.add(code.multiply(row, tile.rowBytes()), code.multiply(part, kSharedAlignment));
  warpgroups.storePart(numbers, code.add(stageBegin(stage), place));
}

/// Starts to copy the weights of a slab. The last panel is copied again in place of panels past the
/// end. If there are several panels, the lanes of a warp copy eight steps of one each.
void TileCode::copyWeights(Value slab, Value stage) {
  const int64_t steps = tile.panels == 1 ? 1 : tile.rowParts();
  const int64_t bytes = tile.weightsBytes() / tile.panels / steps;
  assert(steps * tile.panels <= kWarpLanes && "a warp begins all copies of a stage");
  code.when(code.equal(block.thread, code.integer(0)),
            [&] { warpgroups.arriveExpecting(stages.full(stage), tile.weightsBytes()); });
  code.when(code.less(block.thread, code.integer(steps * tile.panels)), [&] {
    Value inTile = code.divide(block.thread, steps), step = code.remainder(block.thread, steps);
    Value panel =
        code.smaller(code.add(product.firstPanel, inTile), code.subtract(product.endPanel, 1));
    const int64_t panelSteps = product.k * sharedPanelColumns * kElementBytes / bytes;
    Value from =
        code.add(code.multiply(panel, panelSteps), code.add(code.multiply(slab, steps), step));
    Value to = code.add(code.multiply(step, tile.stepBytes()), code.multiply(inTile, bytes));
    warpgroups.copyBulk(code.add(code.add(stageBegin(stage), tile.rowsBytes()), to),
                        code.bytesAt(product.weights, code.multiply(from, bytes)), bytes,
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
  copyWeights(slab, stage.number);
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

void TileCode::produce() {
  const Stage first = stages.first();
  SmallVector<Value> initial = {first.number, first.parity};
  for (int64_t number = 0; number < ahead(); ++number) {
    llvm::append_range(initial, loadPart(number, code.integer(0)));
  }
  code.loop(code.integer(0), slabCount(), 1, initial, [&](Value slab, ValueRange carried) {
    const Stage stage = {carried[0], carried[1]};
    const SmallVector<Value> loaded = fill(slab, stage, carried.drop_front(2));
    const Stage next = stages.after(stage);
    SmallVector<Value> results = {next.number, next.parity};
    llvm::append_range(results, loaded);
    return results;
  });
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
    result = warpgroups.add(result, warpgroups.moved(ofRows, k * kElementBytes),
                            warpgroups.moved(ofWeights, before),
                            k == 0 ? isLater : warpgroups.constant(1));
  }
  warpgroups.commit();
  return result;
}

/// Returns the sums over all of k.
SmallVector<Value> TileCode::sums() {
  const auto count = static_cast<size_t>(kWarpgroupRows * tile.columns() / kWarpgroupThreads);
  const Stage first = stages.first();
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
  return warpgroups.awaitSums(ValueRange(last).drop_front(2));
}

/// Stores the sums of the thread's warpgroup to shared memory.
void TileCode::storeSums(ValueRange sums) {
  Value lane = code.remainder(inWarpgroup, kWarpLanes);
  Value warp = code.divide(inWarpgroup, kWarpLanes);
  Value firstRow = code.add(code.multiply(code.subtract(warpgroup, 1), kWarpgroupRows),
                            code.multiply(warp, kMatrixRows));
  Value t = code.multiply(code.remainder(lane, kLanesOfRow), 2 * kFloatBytes);
  for (const int64_t half : {0, 1}) {
    Value row = code.add(firstRow, code.add(code.divide(lane, kLanesOfRow), half * kCoreRows));
    Value at = code.add(code.multiply(row, tile.sumPitch()), t);
    for (int64_t matrix = 0; matrix < tile.columns() / kMatrixColumns; ++matrix) {
      const auto first = static_cast<size_t>(matrix * 4 + half * 2);
      block.store(sums.slice(first, 2),
                  block.sharedAt(code.add(at, matrix * kMatrixColumns * kFloatBytes)));
    }
  }
}

void TileCode::consume() {
  const SmallVector<Value> all = sums();
  // All warpgroups have read all stages, where the sums are stored.
  block.barrier();
  storeSums(all);
}

/// Applies the epilogue to the sums in shared memory. The addresses of its operands are loaded only
/// now, so that they need no registers before.
void TileCode::finish(KernelBody body) {
  body.arguments.context = block.addressKeptHere(body.arguments.context);
  const KernelResult result = KernelResult::load(code, body.arguments);
  const Epilogue epilogue(code, body);
  const TiledProduct finished{.n = product.n,
                              .k = product.k,
                              .groups = product.groups,
                              .units = product.units,
                              .element = product.element,
                              .rows = product.rows,
                              .weights = product.weights,
                              .rowElements = product.rowElements,
                              .hasAlignedRows = product.hasAlignedRows,
                              .result = result,
                              .epilogue = epilogue,
                              .firstRow = product.firstRow,
                              .endRow = product.endRow,
                              .firstPanel = product.firstPanel,
                              .endPanel = product.endPanel,
                              .firstColumn = product.firstColumn,
                              .endColumn = product.endColumn};
  finishSums(block, finished, {0, tile.rows, tile.columns(), tile.sumPitch(), kTileThreads});
}

void TileCode::emit(const KernelBody &body) {
  begin();
  auto wait = [&] { block.barrier(); };
  code.when(
      code.equal(warpgroup, code.integer(0)),
      [&] {
        produce();
        wait();
      },
      [&] {
        code.when(
            code.less(warpgroup, code.integer(tile.consumers() + 1)), [&] { consume(); }, wait);
      });
  block.barrier();
  stages.destroy();
  finish(body);
}

void emitWarpgroupTile(BlockCode &block, const TiledProduct &product, const KernelBody &body,
                       bool isFew) {
  const Tile tile = tileOf(product.k, isFew);
  TileCode(block, tile, product).emit(body);
}

} // namespace heddle
