// SPDX-License-Identifier: Apache-2.0
///
/// The first thread of a block stores where the block is:
///
///   while the next piece is one of the launch:
///     load the next tile; barrier; store the tile, and what comes after it; its spans, in which a
///     barrier precedes whatever loads these
#include "compiler/Target/Cuda/TileWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace heddle {

enum TileWalk::Slot : int64_t {
  // The launch: the address of its context, its rows and columns, and its blocks.
  kContext,
  kRowBegin,
  kRowEnd,
  kColumnBegin,
  kColumnEnd,
  kStep,
  // What comes next: the piece, and the digits from the lowest on.
  kNextPiece,
  kNextAfter,
  kNextQuery,
  kNextHead,
  kNextRow,
  // The current tile.
  kRow,
  kHead,
  kHeadCount,
  kQuery,
  kLast,
  kSection,
  kHasNext,
  kSlots
};

static constexpr int64_t kSlotBytes = sizeof(int64_t);

int64_t TileWalk::bytes() { return llvm::alignTo(kSlots * kSlotBytes, kSharedAlignment); }

TileWalk::TileWalk(BlockCode &block, const KernelBody &body, const BlockWork &work, int64_t heads,
                   int64_t begin, Prepare prepare)
    : block(block), code(block.code), body(body), work(work), heads(heads), begin(begin),
      prepare(std::move(prepare)) {}

// --- shared memory -------------------------------------------------------------------------------

Value TileWalk::load(Slot slot) const {
  Value address = block.sharedAt(code.integer(begin + slot * kSlotBytes));
  return LLVM::LoadOp::create(code.builder, code.location, code.i64, address, kSlotBytes);
}

void TileWalk::store(ArrayRef<std::pair<Slot, Value>> numbers) {
  code.when(code.equal(block.thread, code.integer(0)), [&] {
    for (const auto &[slot, number] : numbers) {
      Value address = block.sharedAt(code.integer(begin + slot * kSlotBytes));
      LLVM::StoreOp::create(code.builder, code.location, number, address, kSlotBytes);
    }
  });
}

/// Returns the arguments of the launch.
KernelArguments TileWalk::loadLaunch() const {
  KernelArguments launch = body.arguments;
  launch.context =
      LLVM::IntToPtrOp::create(code.builder, code.location, code.pointer, load(kContext));
  launch.rowBegin = load(kRowBegin);
  launch.rowEnd = load(kRowEnd);
  launch.columnBegin = load(kColumnBegin);
  launch.columnEnd = load(kColumnEnd);
  return launch;
}

LaunchPieces TileWalk::piecesOf(const KernelArguments &launch) const {
  return LaunchPieces::of(
      code, {launch.rowBegin, launch.rowEnd, launch.columnBegin, launch.columnEnd}, work);
}

/// Returns the code of a tile, in which what follows from the index of the thread is computed anew.
BlockCode TileWalk::loadBlock() const {
  BlockCode inTile = block;
  inTile.thread = block.indexKeptHere(block.thread);
  return inTile;
}

// --- the loop ------------------------------------------------------------------------------------

void TileWalk::overTiles(Use emitTile) {
  const KernelArguments &launch = body.arguments;
  Value context = LLVM::PtrToIntOp::create(code.builder, code.location, code.i64, launch.context);
  Value zero = code.integer(0);
  store({{kContext, context},
         {kRowBegin, launch.rowBegin},
         {kRowEnd, launch.rowEnd},
         {kColumnBegin, launch.columnBegin},
         {kColumnEnd, launch.columnEnd},
         {kStep, LaunchPieces::step(code)},
         {kNextPiece, LaunchPieces::first(code)},
         {kNextAfter, zero},
         {kNextQuery, zero},
         {kNextHead, zero},
         {kNextRow, zero}});
  block.barrier();
  const SmallVector<Type> types(kNextRow - kNextPiece + 1, code.i64);
  const SmallVector<Location> locations(types.size(), code.location);
  auto op = scf::WhileOp::create(code.builder, code.location, types, ValueRange());
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.createBlock(&op.getBefore());
  SmallVector<Value> next;
  for (int64_t slot = kNextPiece; slot <= kNextRow; ++slot) {
    next.push_back(load(static_cast<Slot>(slot)));
  }
  Value isThere = code.less(next.front(), piecesOf(loadLaunch()).count);
  scf::ConditionOp::create(code.builder, code.location, isThere, next);
  Block *after = code.builder.createBlock(&op.getAfter(), {}, types, locations);
  enter(after->getArguments(), emitTile);
  scf::YieldOp::create(code.builder, code.location);
}

/// Enters the tile that came next.
void TileWalk::enter(ValueRange next, Use emitTile) {
  auto of = [&](Slot slot) { return next[static_cast<size_t>(slot - kNextPiece)]; };
  // All threads have loaded what comes next before the first one replaces it.
  block.barrier();
  KernelBody own = body;
  own.arguments = loadLaunch();
  piece = of(kNextPiece);
  const LaunchRange range = piecesOf(own.arguments).at(code, piece);
  own.arguments.rowBegin = range.rowBegin;
  own.arguments.rowEnd = range.rowEnd;
  own.arguments.columnBegin = range.columnBegin;
  own.arguments.columnEnd = range.columnEnd;
  AttentionTile a = prepare(own);
  Value row = code.add(range.rowBegin, of(kNextRow));
  Value endRow = code.smaller(enterSequence(a, row, range.rowEnd), range.rowEnd);
  // The division of heads among blocks may split heads that share keys. Columns may be those of any
  // section.
  Value section = code.divide(range.columnBegin, heads), before = code.multiply(section, heads);
  Value firstHead = code.subtract(range.columnBegin, before);
  Value lastHead = code.subtract(range.columnEnd, before);
  a.head = code.add(firstHead, of(kNextHead));
  const int64_t together = a.headsTogether;
  Value endHead = code.multiply(code.add(code.divide(a.head, together), 1), together);
  endHead = code.smaller(endHead, lastHead);
  a.headCount = code.subtract(endHead, a.head);
  a.firstQuery = row;
  Value query = of(kNextQuery), last = code.multiply(code.subtract(endRow, row), a.headCount);
  if (together == 1) {
    query = code.add(row, query);
    last = endRow;
  }
  digits = {
      {of(kNextQuery), code.add(of(kNextQuery), a.rows), code.less(code.add(query, a.rows), last)},
      {of(kNextHead), code.subtract(endHead, firstHead), code.less(endHead, lastHead)},
      {of(kNextRow), code.subtract(endRow, range.rowBegin), code.less(endRow, range.rowEnd)}};
  place = {{kRow, row},     {kHead, a.head}, {kHeadCount, a.headCount},
           {kQuery, query}, {kLast, last},   {kSection, section}};
  BlockCode inTile = loadBlock();
  emitTile({inTile, a, own.arguments, query, last, section, of(kNextAfter)});
  assert(digits.empty() && "a tile calls advance()");
}

void TileWalk::advance(const std::optional<KeySection> &section) {
  assert(!digits.empty() && "once for each tile");
  Value zero = code.integer(0);
  Value isAdvanced = section ? section->hasNext : block.zero(code.builder.getI1Type());
  SmallVector<std::pair<Slot, Value>> numbers = place;
  numbers.push_back({kNextAfter, section ? code.select(isAdvanced, section->to, zero) : zero});
  numbers.push_back(
      {kHasNext, arith::ExtUIOp::create(code.builder, code.location, code.i64, isAdvanced)});
  for (auto [i, digit] : llvm::enumerate(digits)) {
    Value grown = code.select(digit.hasNext, digit.next, zero);
    numbers.push_back({static_cast<Slot>(kNextQuery + static_cast<int64_t>(i)),
                       code.select(isAdvanced, digit.now, grown)});
    isAdvanced = arith::OrIOp::create(code.builder, code.location, isAdvanced, digit.hasNext);
  }
  numbers.push_back({kNextPiece, code.select(isAdvanced, piece, code.add(piece, load(kStep)))});
  store(numbers);
  digits.clear();
}

void TileWalk::again(Use use) const {
  KernelBody own = body;
  own.arguments = loadLaunch();
  AttentionTile a = prepare(own);
  a.firstQuery = load(kRow);
  a.head = load(kHead);
  a.headCount = load(kHeadCount);
  BlockCode inTile = loadBlock();
  use({inTile, a, own.arguments, load(kQuery), load(kLast), load(kSection), /*after=*/{},
       code.less(code.integer(0), load(kHasNext))});
}

} // namespace heddle
