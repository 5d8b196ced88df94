// SPDX-License-Identifier: Apache-2.0
///
/// Implements the operations of VectorCode with upstream dialects. Vectors are one-dimensional and
/// of register width, so that the instruction selector sees what an emitter writes.
#include "compiler/Target/Emitters/VectorCode.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cstddef>

using namespace mlir;

namespace heddle {

// Arithmetic has no fast-math flags. FMAs are explicit (fma()). If LLVM could contract operations,
// it might do so in one copy of a loop's body and not in another, and a row's bits would depend on
// which copy computes it.
static constexpr unsigned kElementAlignment = 4;
// The position of a bf16 number's bits in the f32 number of the same value.
static constexpr int32_t kHalfBits = 16;

VectorCode::VectorCode(OpBuilder &builder, Location location, const TargetDescription &target)
    : builder(builder), location(location), target(target), lanes(target.lanes),
      f32(builder.getF32Type()), i32(builder.getI32Type()), i64(builder.getI64Type()),
      pointer(LLVM::LLVMPointerType::get(builder.getContext())),
      vector(VectorType::get({target.lanes}, builder.getF32Type())) {}

Value VectorCode::integer(int64_t value) {
  return arith::ConstantIntOp::create(builder, location, i64, value);
}
Value VectorCode::add(Value a, Value b) { return arith::AddIOp::create(builder, location, a, b); }
Value VectorCode::subtract(Value a, Value b) {
  return arith::SubIOp::create(builder, location, a, b);
}
Value VectorCode::multiply(Value a, Value b) {
  return arith::MulIOp::create(builder, location, a, b);
}
Value VectorCode::divide(Value a, Value b) {
  return arith::DivUIOp::create(builder, location, a, b);
}
Value VectorCode::remainder(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, location, a, integer(b));
}
Value VectorCode::larger(Value a, Value b) {
  return arith::MaxSIOp::create(builder, location, a, b);
}
Value VectorCode::smaller(Value a, Value b) {
  return arith::MinSIOp::create(builder, location, a, b);
}
Value VectorCode::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, a, b);
}
Value VectorCode::equal(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, a, b);
}
Value VectorCode::positionBound(const transformer::PositionBound &bound, Value position) {
  // Neither the shift nor the position is negative.
  Value moved = bound.shift == 0 ? position : add(position, bound.shift);
  Value place = multiply(divide(moved, bound.size), bound.step);
  return bound.offset == 0 ? place : add(place, bound.offset);
}
Value VectorCode::both(Value a, Value b) { return arith::AndIOp::create(builder, location, a, b); }
Value VectorCode::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, location, condition, a, b);
}

Value VectorCode::at(Value base, Value offset) {
  return LLVM::GEPOp::create(builder, location, pointer, f32, base, ValueRange{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}
Value VectorCode::bytesAt(Value base, Value offset) {
  return LLVM::GEPOp::create(builder, location, pointer, builder.getI8Type(), base,
                             ValueRange{offset});
}

/// Loads memory that does not change while a kernel runs.
static Value loadInvariant(VectorCode &code, Type type, Value address) {
  return LLVM::LoadOp::create(code.builder, code.location, type, address, /*alignment=*/0,
                              /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
}
Value VectorCode::loadPointer(Value address) { return loadInvariant(*this, pointer, address); }
Value VectorCode::loadInteger(Value address) { return loadInvariant(*this, i64, address); }
Value VectorCode::loadIndex(Value base, Value offset) {
  Value address = LLVM::GEPOp::create(builder, location, pointer, i32, base, ValueRange{offset},
                                      LLVM::GEPNoWrapFlags::inbounds);
  Value value = loadInvariant(*this, i32, address);
  return arith::ExtSIOp::create(builder, location, i64, value);
}
Value VectorCode::loadScalar(Value address) {
  return LLVM::LoadOp::create(builder, location, f32, address, kElementAlignment);
}
void VectorCode::storeScalar(Value value, Value address) {
  LLVM::StoreOp::create(builder, location, value, address, kElementAlignment);
}

/// Returns a constant mask of the first `valid` lanes.
static Value firstLanes(VectorCode &code, int64_t valid) {
  SmallVector<bool> mask(code.lanes, false);
  std::fill_n(mask.begin(), valid, true);
  auto type = VectorType::get({code.lanes}, code.builder.getI1Type());
  return arith::ConstantOp::create(code.builder, code.location,
                                   DenseElementsAttr::get(type, ArrayRef<bool>(mask)));
}

Value VectorCode::loadVector(Value address, int64_t valid) {
  if (valid == lanes) {
    return LLVM::LoadOp::create(builder, location, vector, address, kElementAlignment);
  }
  return LLVM::MaskedLoadOp::create(builder, location, vector, address, firstLanes(*this, valid),
                                    splat(0), kElementAlignment);
}
Value VectorCode::storedAt(Value base, Value offset, Type element) {
  return element.isF32() ? at(base, offset)
                         : bytesAt(base, multiply(offset, element.getIntOrFloatBitWidth() / 8));
}
Value VectorCode::loadStored(Value address, Type element, int64_t valid) {
  if (element.isF32()) {
    return loadVector(address, valid);
  }
  const unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  auto narrow = VectorType::get({lanes}, builder.getIntegerType(element.getIntOrFloatBitWidth()));
  Value stored;
  if (valid == lanes) {
    stored = LLVM::LoadOp::create(builder, location, narrow, address, alignment);
  } else {
    Value zeros = arith::ConstantOp::create(builder, location, builder.getZeroAttr(narrow));
    stored = LLVM::MaskedLoadOp::create(builder, location, narrow, address,
                                        firstLanes(*this, valid), zeros, alignment);
  }
  return widenStored(stored, element);
}
Value VectorCode::loadStoredScalar(Value address, Type element) {
  if (element.isF32()) {
    return loadScalar(address);
  }
  const unsigned bits = element.getIntOrFloatBitWidth();
  Value stored =
      LLVM::LoadOp::create(builder, location, builder.getIntegerType(bits), address, bits / 8);
  return widenStored(stored, element);
}
/// Returns an integer constant of a type: i32, or a splat vector of i32.
static Value integerLike(VectorCode &code, Type type, int32_t value) {
  auto words = dyn_cast<VectorType>(type);
  TypedAttr bits = words ? TypedAttr(DenseElementsAttr::get(words, value))
                         : code.builder.getI32IntegerAttr(value);
  return arith::ConstantOp::create(code.builder, code.location, bits);
}
Value VectorCode::widenStored(Value stored, Type element) {
  auto like = [&](Type type) {
    auto of = dyn_cast<VectorType>(stored.getType());
    return of ? Type(of.clone(type)) : type;
  };
  if (element.isInteger()) {
    return arith::SIToFPOp::create(builder, location, like(f32), stored);
  }
  if (element.isF16()) {
    Value half = LLVM::BitcastOp::create(builder, location, like(element), stored);
    return arith::ExtFOp::create(builder, location, like(f32), half);
  }
  // A bf16 number is the upper half of the f32 number of the same value.
  Value wide = arith::ExtUIOp::create(builder, location, like(i32), stored);
  Value half = integerLike(*this, wide.getType(), kHalfBits);
  Value upper = arith::ShLIOp::create(builder, location, wide, half);
  return arith::BitcastOp::create(builder, location, like(f32), upper);
}
Value VectorCode::roundedToBf16(Value numbers) {
  auto of = dyn_cast<VectorType>(numbers.getType());
  Type words = of ? Type(of.clone(i32)) : i32;
  auto constant = [&](int32_t value) { return integerLike(*this, words, value); };
  // Adds half of the last kept bit, or slightly less. It may carry into the exponent, up to
  // infinity.
  constexpr int32_t lessThanHalf = 0x7FFF, quiet = 0x400000;
  Value bits = arith::BitcastOp::create(builder, location, words, numbers);
  Value last = arith::ShRUIOp::create(builder, location, bits, constant(kHalfBits));
  last = arith::AndIOp::create(builder, location, last, constant(1));
  Value half = arith::AddIOp::create(builder, location, last, constant(lessThanHalf));
  Value sum = arith::AddIOp::create(builder, location, bits, half);
  // The bit that distinguishes NaN from infinity may be in the discarded half.
  Value notNumber = arith::OrIOp::create(builder, location, bits, constant(quiet));
  Value isNan =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, numbers, numbers);
  return select(isNan, notNumber, sum);
}
Value VectorCode::nearestBf16(Value numbers) {
  constexpr auto upperHalf = static_cast<int32_t>(0xFFFF0000);
  Value bits = roundedToBf16(numbers);
  bits =
      arith::AndIOp::create(builder, location, bits, integerLike(*this, bits.getType(), upperHalf));
  return arith::BitcastOp::create(builder, location, numbers.getType(), bits);
}
/// Rounds f32 numbers to bf16 and returns their bits.
static Value narrowed(VectorCode &code, Value numbers) {
  Value words = code.roundedToBf16(numbers);
  Value half = integerLike(code, words.getType(), kHalfBits);
  Value upper = arith::ShRUIOp::create(code.builder, code.location, words, half);
  Type i16 = code.builder.getI16Type();
  auto of = dyn_cast<VectorType>(words.getType());
  return arith::TruncIOp::create(code.builder, code.location, of ? Type(of.clone(i16)) : i16,
                                 upper);
}
void VectorCode::storeStored(Value value, Value address, Type element, int64_t valid) {
  if (element.isF32()) {
    return storeVector(value, address, valid);
  }
  assert(element.isBF16() && "kernels write no other type");
  Value bits = narrowed(*this, value);
  if (valid == lanes) {
    LLVM::StoreOp::create(builder, location, bits, address, sizeof(uint16_t));
    return;
  }
  LLVM::MaskedStoreOp::create(builder, location, bits, address, firstLanes(*this, valid),
                              sizeof(uint16_t));
}
void VectorCode::storeBytes(Value value, Value address, int64_t valid) {
  if (valid == lanes) {
    LLVM::StoreOp::create(builder, location, value, address, /*alignment=*/1);
    return;
  }
  LLVM::MaskedStoreOp::create(builder, location, value, address, firstLanes(*this, valid),
                              /*alignment=*/1);
}
void VectorCode::storeStoredScalar(Value value, Value address, Type element) {
  if (element.isF32()) {
    return storeScalar(value, address);
  }
  assert(element.isBF16() && "kernels write no other type");
  LLVM::StoreOp::create(builder, location, narrowed(*this, value), address, sizeof(uint16_t));
}
void VectorCode::storeVector(Value value, Value address, int64_t valid) {
  if (valid == lanes) {
    LLVM::StoreOp::create(builder, location, value, address, kElementAlignment);
    return;
  }
  LLVM::MaskedStoreOp::create(builder, location, value, address, firstLanes(*this, valid),
                              kElementAlignment);
}
void VectorCode::prefetch(Value address) {
  LLVM::Prefetch::create(builder, location, address, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}
void VectorCode::prefetchLines(Value address, int64_t elements) {
  for (int64_t byte = 0; byte < elements * int64_t(sizeof(float)); byte += kLineBytes) {
    prefetch(bytesAt(address, integer(byte)));
  }
}
Value VectorCode::frame(func::FuncOp function, int64_t elements) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  Value count = arith::ConstantIntOp::create(builder, location, i64, elements);
  return LLVM::AllocaOp::create(builder, location, pointer, f32, count, HEDDLE_ALIGNMENT);
}

Value VectorCode::array(func::FuncOp function, ArrayRef<float> values) {
  auto size = static_cast<int64_t>(values.size());
  auto elements = DenseElementsAttr::get(RankedTensorType::get({size}, f32), values);
  auto type = LLVM::LLVMArrayType::get(f32, values.size());
  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder atModule = OpBuilder::atBlockBegin(module.getBody());
  const std::string name = (function.getSymName() + ".numbers").str();
  assert(!module.lookupSymbol(name) && "a function has one array");
  auto global = LLVM::GlobalOp::create(atModule, location, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, elements);
  return LLVM::AddressOfOp::create(builder, location, global);
}

Value VectorCode::number(float value) {
  return arith::ConstantOp::create(builder, location, builder.getF32FloatAttr(value));
}
Value VectorCode::splat(float value) {
  return arith::ConstantOp::create(builder, location,
                                   DenseElementsAttr::get(cast<VectorType>(vector), value));
}
Value VectorCode::broadcast(Value scalar) {
  return ::mlir::vector::BroadcastOp::create(builder, location, vector, scalar);
}
Value VectorCode::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, location, a, b, c);
}
Value VectorCode::addFloat(Value a, Value b) {
  return arith::AddFOp::create(builder, location, a, b);
}
Value VectorCode::subtractFloat(Value a, Value b) {
  return arith::SubFOp::create(builder, location, a, b);
}
Value VectorCode::multiplyFloat(Value a, Value b) {
  return arith::MulFOp::create(builder, location, a, b);
}
Value VectorCode::divideFloat(Value a, Value b) {
  return arith::DivFOp::create(builder, location, a, b);
}
Value VectorCode::maximum(Value a, Value b) {
  // A comparison and a selection become one vmaxps, which returns NaN in `b`.
  Value greater = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OGT, a, b);
  return select(greater, a, b);
}
Value VectorCode::minimum(Value a, Value b) {
  Value less = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, a, b);
  return select(less, a, b);
}
Value VectorCode::maximumOrNan(Value a, Value b) {
  Value isNan = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, a, a);
  return select(isNan, a, maximum(a, b));
}
Value VectorCode::squareRoot(Value a) { return math::SqrtOp::create(builder, location, a); }

/// Folds the upper half onto the lower one until one lane is left.
template <typename Combine>
static Value foldLanes(VectorCode &code, Value vector, Combine combine) {
  for (int64_t width = code.lanes; width > 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < width / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + width / 2);
    }
    Value a = vector::ShuffleOp::create(code.builder, code.location, vector, vector, low);
    Value b = vector::ShuffleOp::create(code.builder, code.location, vector, vector, high);
    vector = combine(a, b);
  }
  return vector::ExtractOp::create(code.builder, code.location, vector, ArrayRef<int64_t>{0});
}
/// Applies foldLanes() to several vectors; lane i is the result of vector i. Each round halves the
/// used lanes, so that two vectors fit into one. Unused lanes repeat others.
template <typename Combine>
static Value foldLanesOfEach(VectorCode &code, SmallVector<Value> vectors, Combine combine) {
  assert(!vectors.empty() && static_cast<int64_t>(vectors.size()) <= code.lanes);
  if (vectors.size() == 1) {
    return code.broadcast(foldLanes(code, vectors.front(), combine));
  }
  for (int64_t width = code.lanes; width > 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < 2 * code.lanes; ++lane) {
      (lane & (width / 2) ? high : low).push_back(lane);
    }
    SmallVector<Value> folded;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value x = vectors[i], y = vectors[std::min(i + 1, vectors.size() - 1)];
      Value a = vector::ShuffleOp::create(code.builder, code.location, x, y, low);
      Value b = vector::ShuffleOp::create(code.builder, code.location, x, y, high);
      folded.push_back(combine(a, b));
    }
    vectors = folded;
  }
  return vectors.front();
}
Value VectorCode::sumOfLanes(Value value) {
  return foldLanes(*this, value, [&](Value a, Value b) { return addFloat(a, b); });
}
Value VectorCode::maximumOfLanes(Value value) {
  return foldLanes(*this, value, [&](Value a, Value b) { return maximum(a, b); });
}
Value VectorCode::maximumOfLanesOrNan(Value value) {
  return foldLanes(*this, value, [&](Value a, Value b) { return maximumOrNan(a, b); });
}
Value VectorCode::sumsOfLanes(ArrayRef<Value> vectors) {
  return foldLanesOfEach(*this, SmallVector<Value>(vectors),
                         [&](Value a, Value b) { return addFloat(a, b); });
}
Value VectorCode::maximaOfLanes(ArrayRef<Value> vectors) {
  return foldLanesOfEach(*this, SmallVector<Value>(vectors),
                         [&](Value a, Value b) { return maximum(a, b); });
}
Value VectorCode::broadcastLane(Value value, int64_t lane) {
  return vector::ShuffleOp::create(builder, location, value, value,
                                   SmallVector<int64_t>(lanes, lane));
}
SmallVector<Value> VectorCode::transposeSquare(SmallVector<Value> rows) {
  // log2(lanes) rounds; in each, pairs of vectors at distance `half` exchange blocks of lanes.
  for (int64_t half = 1; half < lanes; half *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool upper = lane & half;
      low.push_back(upper ? lanes + lane - half : lane);
      high.push_back(upper ? lanes + lane : lane + half);
    }
    SmallVector<Value> next(lanes);
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & half) {
        continue;
      }
      Value x = rows[i], y = rows[i + half];
      next[i] = vector::ShuffleOp::create(builder, location, x, y, low);
      next[i + half] = vector::ShuffleOp::create(builder, location, x, y, high);
    }
    rows = next;
  }
  return rows;
}

/// Returns a mask of the lanes whose index plus `first` is below `limit`.
static Value lanesBelow(VectorCode &code, Value first, Value limit) {
  auto laneType = VectorType::get({code.lanes}, code.i32);
  SmallVector<int32_t> numbers(code.lanes);
  for (int64_t lane = 0; lane < code.lanes; ++lane) {
    numbers[lane] = static_cast<int32_t>(lane);
  }
  Value lane = arith::ConstantOp::create(
      code.builder, code.location, DenseElementsAttr::get(laneType, ArrayRef<int32_t>(numbers)));
  Value room =
      arith::TruncIOp::create(code.builder, code.location, code.i32, code.subtract(limit, first));
  Value rooms = ::mlir::vector::BroadcastOp::create(code.builder, code.location, laneType, room);
  return arith::CmpIOp::create(code.builder, code.location, arith::CmpIPredicate::slt, lane, rooms);
}
Value VectorCode::keepBelow(Value value, Value first, Value limit, float other) {
  return select(lanesBelow(*this, first, limit), value, splat(other));
}
Value VectorCode::keepFrom(Value value, Value first, Value begin, float other) {
  return select(lanesBelow(*this, first, begin), splat(other), value);
}
Value VectorCode::loadBelow(Value address, Value first, Value limit) {
  return LLVM::MaskedLoadOp::create(builder, location, vector, address,
                                    lanesBelow(*this, first, limit), splat(0), kElementAlignment);
}
void VectorCode::storeBelow(Value value, Value address, Value first, Value limit) {
  LLVM::MaskedStoreOp::create(builder, location, value, address, lanesBelow(*this, first, limit),
                              kElementAlignment);
}

void VectorCode::loop(Value from, Value to, int64_t step, Body body) {
  auto op = scf::ForOp::create(builder, location, from, to, integer(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}
SmallVector<Value> VectorCode::loop(Value from, Value to, int64_t step, ValueRange initial,
                                    CarriedBody body) {
  auto op = scf::ForOp::create(builder, location, from, to, integer(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(builder, location, next);
  return SmallVector<Value>(op.getResults());
}
void VectorCode::walk(Value from, Value to, llvm::function_ref<Value(Value)> body) {
  auto op = scf::WhileOp::create(builder, location, TypeRange{i64}, ValueRange{from});
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&op.getBefore(), {}, {i64}, {location});
  scf::ConditionOp::create(builder, location, less(before->getArgument(0), to),
                           before->getArguments());
  Block *after = builder.createBlock(&op.getAfter(), {}, {i64}, {location});
  scf::YieldOp::create(builder, location, ValueRange{body(after->getArgument(0))});
}
void VectorCode::when(Value condition, llvm::function_ref<void()> then,
                      llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(builder, location, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}
void VectorCode::overRows(Value from, Value to, Body body) {
  loop(team ? add(from, team->team) : from, to, team ? team->teams : 1, body);
}
void VectorCode::overGroups(int64_t width, int64_t unroll,
                            llvm::function_ref<void(ArrayRef<Columns>)> body) {
  const int64_t step = columnStep(), group = unroll * step, whole = width / group * group;
  if (whole > 0) {
    loop(integer(0), integer(whole), group, [&](Value first) {
      SmallVector<Columns> vectors;
      for (int64_t index = 0; index < unroll; ++index) {
        vectors.push_back({ownColumn(add(first, index * step)), lanes});
      }
      body(vectors);
    });
  }
  SmallVector<Columns> rest;
  int64_t column = whole;
  for (; column + (team ? step : 1) <= width; column += step) {
    rest.push_back({ownColumn(integer(column)), std::min(lanes, width - column)});
  }
  if (!rest.empty()) {
    body(rest);
  }
  if (column < width) {
    // Some members of the team have one more column.
    Value own = ownColumn(integer(column));
    when(less(own, integer(width)), [&] { body(Columns{own, lanes}); });
  }
}
void VectorCode::overRow(int64_t width, int64_t unroll,
                         llvm::function_ref<void(Value, int64_t)> body) {
  overGroups(width, unroll, [&](ArrayRef<Columns> group) {
    for (const Columns &columns : group) {
      body(columns.first, columns.valid);
    }
  });
}
void VectorCode::once(llvm::function_ref<void()> body) {
  if (team) {
    when(equal(team->own, integer(0)), body);
  } else {
    body();
  }
}

// --- kernel arguments ------------------------------------------------------------------------

static Value field(VectorCode &code, Value context, size_t byteOffset) {
  return code.bytesAt(context, code.integer(static_cast<int64_t>(byteOffset)));
}
Value KernelArguments::operand(VectorCode &code, int64_t index) const {
  Value operands = code.loadPointer(field(code, context, offsetof(HeddleKernelContext, operands)));
  return code.loadPointer(code.bytesAt(operands, code.integer(index * sizeof(void *))));
}
RowFields KernelArguments::rows(VectorCode &code, RowSpace space) const {
  const auto *found = llvm::find(spaces, space);
  assert(found != spaces.end() && "a kernel asks for spaces that its type names");
  Value list = code.loadPointer(field(code, context, offsetof(HeddleKernelContext, spaces)));
  auto number = static_cast<int64_t>(found - spaces.begin());
  return {code.loadPointer(code.bytesAt(list, code.integer(number * sizeof(void *))))};
}
Value KernelArguments::scratch(VectorCode &code) const {
  return code.loadPointer(field(code, context, offsetof(HeddleKernelContext, scratch)));
}

// --- rows ------------------------------------------------------------------------------------

Value RowFields::count(VectorCode &code) const {
  return code.loadInteger(field(code, rows, offsetof(HeddleRows, count)));
}
Value RowFields::longest(VectorCode &code) const {
  return code.loadInteger(field(code, rows, offsetof(HeddleRows, longest)));
}
Value RowFields::offsets(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, offsets)));
}
Value RowFields::sequenceOf(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, sequence_of)));
}
Value RowFields::positions(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, positions)));
}
Value RowFields::ranks(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, ranks)));
}
Value RowFields::lengths(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, lengths)));
}
Value RowFields::widths(VectorCode &code) const {
  return code.loadPointer(field(code, rows, offsetof(HeddleRows, widths)));
}

// --- results ---------------------------------------------------------------------------------

KernelResult KernelResult::load(VectorCode &code, const KernelArguments &arguments,
                                int64_t number) {
  Value result = arguments.operand(code, number);
  auto integer = [&](size_t offset) { return code.loadInteger(field(code, result, offset)); };
  Value memory = code.loadPointer(field(code, result, offsetof(HeddleResult, memory)));
  Value rowStride = integer(offsetof(HeddleResult, row_stride));
  Value rows = code.multiply(integer(offsetof(HeddleResult, first_row)), rowStride);
  return {memory, rowStride, code.add(rows, integer(offsetof(HeddleResult, first_column)))};
}
Value KernelResult::at(VectorCode &code, Value row, Value column) const {
  // Combines integers first: an address outside the memory must not even be computed.
  return code.at(memory, code.add(code.multiply(row, rowStride), code.subtract(column, skipped)));
}

// --- caches ----------------------------------------------------------------------------------

CacheFields CacheFields::load(VectorCode &code, Value cache) {
  auto pointer = [&](size_t offset) { return code.loadPointer(field(code, cache, offset)); };
  auto integer = [&](size_t offset) { return code.loadInteger(field(code, cache, offset)); };
  return {pointer(offsetof(HeddleCache, memory)),      integer(offsetof(HeddleCache, block_stride)),
          pointer(offsetof(HeddleCache, offsets)),     pointer(offsetof(HeddleCache, segment_of)),
          pointer(offsetof(HeddleCache, lengths)),     pointer(offsetof(HeddleCache, blocks)),
          integer(offsetof(HeddleCache, blocks_pitch))};
}
Value CacheFields::blocksOf(VectorCode &code, Value segment) const {
  // Elements of i32 are as wide as those of f32.
  return code.at(blocks, code.multiply(segment, blocksPitch));
}
Value CacheFields::blockAt(VectorCode &code, Value list, Value position) const {
  Value block = code.loadIndex(list, code.divide(position, HEDDLE_BLOCK));
  return code.bytesAt(memory, code.multiply(block, blockStride));
}

} // namespace heddle
