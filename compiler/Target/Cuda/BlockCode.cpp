// SPDX-License-Identifier: Apache-2.0
///
/// Implements the operations of blocks with the nvvm dialect. Shared memory is one array whose size
/// is given at launch. It is called `shared` here, and after its kernel in PTX (DeviceUnits.cpp).
#include "compiler/Target/Cuda/BlockCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;

namespace heddle {

static constexpr llvm::StringLiteral kShared = "shared";
static constexpr llvm::StringLiteral kNote = "dataflow.block_work";
static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

// --- attributes for entries --------------------------------------------------------------------

void BlockWork::note(func::FuncOp function) const {
  Builder builder(function.getContext());
  function->setAttr(kNote, builder.getDenseI64ArrayAttr(
                               {threads, shared, many.rows, many.columns, few.rows, few.columns,
                                fewRows, leastBlocks, static_cast<int64_t>(findsPieces)}));
}

bool BlockWork::forget(Operation *function) { return function->removeAttr(kNote) != nullptr; }

std::optional<BlockWork> BlockWork::of(func::FuncOp function) {
  auto note = function->getAttrOfType<DenseI64ArrayAttr>(kNote);
  if (!note) {
    return std::nullopt;
  }
  ArrayRef<int64_t> numbers = note.asArrayRef();
  assert(numbers.size() == 9 && "as note() writes it");
  return BlockWork{numbers[0], numbers[1], {numbers[2], numbers[3]}, {numbers[4], numbers[5]},
                   numbers[6], numbers[7], numbers[8] != 0};
}

// --- pieces of a launch ------------------------------------------------------------------------

LaunchPieces::LaunchPieces(VectorCode &code, const LaunchRange &launch, Value rows, Value columns)
    : launch(launch), rows(rows), columns(columns),
      ofColumns(code.divideUp(code.subtract(launch.rowEnd, launch.rowBegin), rows)),
      count(code.multiply(
          ofColumns, code.divideUp(code.subtract(launch.columnEnd, launch.columnBegin), columns))) {
}

LaunchPieces LaunchPieces::of(VectorCode &code, const LaunchRange &launch, const BlockWork &work) {
  Value isFew =
      code.less(code.subtract(launch.rowEnd, launch.rowBegin), code.integer(work.fewRows + 1));
  auto choose = [&](int64_t few, int64_t many) {
    return code.select(isFew, code.integer(few), code.integer(many));
  };
  return {code, launch, choose(work.few.rows, work.many.rows),
          choose(work.few.columns, work.many.columns)};
}

LaunchRange LaunchPieces::at(VectorCode &code, Value number) const {
  Value column = code.divide(number, ofColumns);
  return at(code, code.subtract(number, code.multiply(column, ofColumns)), column);
}

LaunchRange LaunchPieces::atInGroups(VectorCode &code, Value number, int64_t most) const {
  Value ofGroup = code.multiply(code.divide(count, ofColumns), most);
  Value group = code.divide(number, ofGroup), before = code.multiply(group, most);
  Value inGroup = code.subtract(number, code.multiply(group, ofGroup));
  Value rowPieces = code.smaller(code.subtract(ofColumns, before), code.integer(most));
  Value column = code.divide(inGroup, rowPieces);
  Value inColumn = code.subtract(inGroup, code.multiply(column, rowPieces));
  return at(code, code.add(before, inColumn), column);
}

LaunchRange LaunchPieces::at(VectorCode &code, Value row, Value column) const {
  Value begin = code.add(launch.rowBegin, code.multiply(row, rows));
  Value end = code.smaller(code.add(begin, rows), launch.rowEnd);
  Value first = code.add(launch.columnBegin, code.multiply(column, columns));
  Value last = code.smaller(code.add(first, columns), launch.columnEnd);
  return {begin, end, first, last};
}

Value LaunchPieces::first(VectorCode &code) { return readRegister<NVVM::BlockIdXOp>(code); }
Value LaunchPieces::step(VectorCode &code) { return readRegister<NVVM::GridDimXOp>(code); }

// --- code --------------------------------------------------------------------------------------

/// Returns the array of shared memory, which exists once per module.
static LLVM::GlobalOp sharedArray(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (auto existing = module.lookupSymbol<LLVM::GlobalOp>(kShared)) {
    return existing;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(builder, function.getLoc(), type, /*isConstant=*/false,
                                LLVM::Linkage::External, kShared, Attribute(), kSharedAlignment,
                                kSharedSpace);
}

BlockCode::BlockCode(VectorCode &code, func::FuncOp function)
    : code(code),
      sharedPointer(LLVM::LLVMPointerType::get(code.builder.getContext(), kSharedSpace)) {
  thread = readRegister<NVVM::ThreadIdXOp>(code);
  shared = LLVM::AddressOfOp::create(code.builder, code.location, sharedArray(function));
}

Value BlockCode::sharedAt(Value offset) {
  return LLVM::GEPOp::create(code.builder, code.location, sharedPointer, code.builder.getI8Type(),
                             shared, ValueRange{offset});
}

void BlockCode::alignShared(int64_t bytes) {
  auto address = shared.getDefiningOp<LLVM::AddressOfOp>();
  auto module = address->getParentOfType<ModuleOp>();
  module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName())
      .setAlignment(static_cast<uint64_t>(bytes));
}

Value BlockCode::zero(Type type) {
  return arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(type));
}

void BlockCode::barrier() { NVVM::Barrier0Op::create(code.builder, code.location); }

void BlockCode::syncWarp() {
  Value all = arith::ConstantIntOp::create(code.builder, code.location, code.i32, -1);
  NVVM::SyncWarpOp::create(code.builder, code.location, all);
}

/// Casts an address to the address space of global memory.
static Value farAddress(VectorCode &code, Value address) {
  auto global = LLVM::LLVMPointerType::get(code.builder.getContext(), kGlobalSpace);
  return LLVM::AddrSpaceCastOp::create(code.builder, code.location, global, address);
}

Value BlockCode::loadFar(Value address, Type type) {
  const auto vector = dyn_cast<VectorType>(type);
  const auto count = static_cast<unsigned>(vector ? vector.getNumElements() : 1);
  return LLVM::LoadOp::create(code.builder, code.location, type, farAddress(code, address),
                              count * getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
}

Value BlockCode::loadFour(Value address, bool areAligned) {
  auto four = VectorType::get({kNumbersTogether}, code.f32);
  if (areAligned) {
    return loadFar(address, four);
  }
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < kNumbersTogether; ++i) {
    numbers.push_back(loadFar(code.at(address, i), code.f32));
  }
  return vector::FromElementsOp::create(code.builder, code.location, four, numbers);
}

SmallVector<Value> elementsOf(VectorCode &code, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements(); ++i) {
    elements.push_back(vector::ExtractOp::create(code.builder, code.location, vector, i));
  }
  return elements;
}

void BlockCode::copy(Value to, Value from, int64_t bytes, Value valid) {
  assert((bytes == 4 || bytes == 16) && "what a copy can have here");
  // Copies of weights bypass the first-level cache, because no other thread of the block reads them
  // there. Elements of rows are copied singly, from lines that the next copies read too.
  const auto cache =
      bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(code.builder, code.location, to, farAddress(code, from),
                          static_cast<uint32_t>(bytes), cache, valid);
}

void BlockCode::commit() { NVVM::CpAsyncCommitGroupOp::create(code.builder, code.location); }

void BlockCode::await(int64_t running) {
  NVVM::CpAsyncWaitGroupOp::create(code.builder, code.location, static_cast<uint32_t>(running));
}

/// Returns a value of a register, which `constraints` describe, as the result of an empty asm,
/// which hides it from LLVM.
static Value hidden(VectorCode &code, Value value, llvm::StringRef constraints) {
  OpBuilder &builder = code.builder;
  auto noTail =
      LLVM::TailCallKindAttr::get(builder.getContext(), LLVM::tailcallkind::TailCallKind::None);
  return LLVM::InlineAsmOp::create(
             builder, code.location, TypeRange{value.getType()}, ValueRange{value},
             builder.getStringAttr(""), builder.getStringAttr(constraints),
             /*has_side_effects=*/builder.getUnitAttr(),
             /*is_align_stack=*/UnitAttr(), noTail, LLVM::AsmDialectAttr(), ArrayAttr())
      ->getResult(0);
}

Value BlockCode::keptHere(Value number) {
  return hidden(code, arith::TruncIOp::create(code.builder, code.location, code.i32, number),
                "=r,0");
}

Value BlockCode::indexKeptHere(Value number) {
  return arith::ExtSIOp::create(code.builder, code.location, code.i64, keptHere(number));
}

Value BlockCode::addressKeptHere(Value address) { return hidden(code, address, "=l,0"); }

Value BlockCode::computedHere(Value number) {
  auto as = [&](Type type, Value value) -> Value {
    return LLVM::BitcastOp::create(code.builder, code.location, type, value);
  };
  return number.getType() == code.i32 ? hidden(code, number, "=r,0")
                                      : as(code.f32, hidden(code, as(code.i32, number), "=r,0"));
}

SmallVector<Value> BlockCode::choose(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                                     llvm::function_ref<SmallVector<Value>()> otherwise) {
  // The builder passed to a region is `code.builder`, at the end of that region.
  auto side = [](llvm::function_ref<SmallVector<Value>()> body) {
    return [body](OpBuilder &builder, Location location) {
      scf::YieldOp::create(builder, location, body());
    };
  };
  auto op = scf::IfOp::create(code.builder, code.location, condition, side(then), side(otherwise));
  return SmallVector<Value>(op.getResults());
}

SmallVector<Value> BlockCode::loadTogether(Value address, VectorType type,
                                           llvm::function_ref<Value(Value)> widen) {
  const unsigned bytes = type.getElementTypeBitWidth() / 8;
  Value loaded = LLVM::LoadOp::create(code.builder, code.location, type, address,
                                      bytes * static_cast<unsigned>(type.getNumElements()));
  return elementsOf(code, widen(loaded));
}

SmallVector<Value> BlockCode::load(Value address, int64_t count, Type element) {
  Type stored =
      element.isF32() ? element : code.builder.getIntegerType(element.getIntOrFloatBitWidth());
  return loadTogether(address, VectorType::get({count}, stored), [&](Value loaded) {
    return element.isF32() ? loaded : code.widenStored(loaded, element);
  });
}

SmallVector<Value> BlockCode::loadWords(Value address, int64_t count) {
  return loadTogether(address, VectorType::get({count}, code.i32),
                      [](Value loaded) { return loaded; });
}

static void storeTogether(VectorCode &code, ValueRange values, Value address) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, values.front().getType());
  Value vector = vector::FromElementsOp::create(code.builder, code.location, type, values);
  LLVM::StoreOp::create(code.builder, code.location, vector, address,
                        type.getElementTypeBitWidth() / 8 * static_cast<unsigned>(values.size()));
}

void BlockCode::store(ValueRange values, Value address) { storeTogether(code, values, address); }

void BlockCode::storeWords(ValueRange words, Value address) { storeTogether(code, words, address); }

// --- products by warps ---------------------------------------------------------------------------

/// Returns the fields of a structure whose fields all have one type.
static SmallVector<Value> fieldsOf(VectorCode &code, Value structure) {
  const auto type = cast<LLVM::LLVMStructType>(structure.getType());
  SmallVector<Value> fields;
  for (size_t i = 0; i < type.getBody().size(); ++i) {
    fields.push_back(LLVM::ExtractValueOp::create(code.builder, code.location, structure,
                                                  static_cast<int64_t>(i)));
  }
  return fields;
}

static LLVM::LLVMStructType fourOf(Type type) {
  return LLVM::LLVMStructType::getLiteral(type.getContext(), {type, type, type, type});
}

static SmallVector<Value> loadMatrices(VectorCode &code, Value address, NVVM::MMALayout layout) {
  MLIRContext *const context = code.builder.getContext();
  Value words = NVVM::LdMatrixOp::create(
      code.builder, code.location, fourOf(code.i32), address, /*num=*/4, layout,
      NVVM::LdStMatrixShapeAttr::get(context, /*m=*/8, /*n=*/8), NVVM::LdStMatrixEltType::B16);
  return fieldsOf(code, words);
}

SmallVector<Value> BlockCode::loadMatrix(Value address) {
  return loadMatrices(code, address, NVVM::MMALayout::row);
}

SmallVector<Value> BlockCode::loadTransposed(Value address) {
  return loadMatrices(code, address, NVVM::MMALayout::col);
}

/// Adds a matrix product with `steps` steps of k of two types.
static SmallVector<Value> multiplyMatrices(VectorCode &code, ValueRange rows, ValueRange columns,
                                           ValueRange sums, int64_t steps,
                                           std::array<NVVM::MMATypes, 2> types) {
  using Layouts = std::array<NVVM::MMALayout, 2>;
  const Type sum = sums.front().getType();
  const std::optional<NVVM::MMAIntOverflow> overflow =
      sum.isF32() ? std::nullopt : std::optional(NVVM::MMAIntOverflow::wrapped);
  Value product =
      NVVM::MmaOp::create(code.builder, code.location, fourOf(sum), rows, columns, sums,
                          {kMatrixRows, kMatrixColumns, steps}, /*b1Op=*/std::nullopt, overflow,
                          types, Layouts{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return fieldsOf(code, product);
}

SmallVector<Value> BlockCode::multiplyBf16(ValueRange rows, ValueRange columns, ValueRange sums) {
  return multiplyMatrices(code, rows, columns, sums, 2 * kMatrixWords,
                          {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16});
}

SmallVector<Value> BlockCode::multiplyTf32(ValueRange rows, ValueRange columns, ValueRange sums) {
  return multiplyMatrices(code, rows, columns, sums, kMatrixWords,
                          {NVVM::MMATypes::tf32, NVVM::MMATypes::tf32});
}

SmallVector<Value> BlockCode::multiplyCodes(ValueRange rows, ValueRange columns, ValueRange sums,
                                            bool areRowsSigned) {
  const NVVM::MMATypes ofRows = areRowsSigned ? NVVM::MMATypes::s8 : NVVM::MMATypes::u8;
  const NVVM::MMATypes ofColumns = areRowsSigned ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return multiplyMatrices(code, rows, columns, sums, codesTogether * kMatrixWords,
                          {ofRows, ofColumns});
}

Value BlockCode::roundedPair(Value first, Value second) {
  auto pair = VectorType::get({2}, code.builder.getBF16Type());
  Value rounded =
      NVVM::ConvertF32x2ToBF16x2Op::create(code.builder, code.location, pair, second, first,
                                           /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  return LLVM::BitcastOp::create(code.builder, code.location, code.i32, rounded);
}

Value BlockCode::roundedToTf32(Value number) {
  return NVVM::ConvertFloatToTF32Op::create(code.builder, code.location, code.i32, number,
                                            NVVM::FPRoundingMode::RNA, NVVM::SaturationMode::NONE,
                                            /*relu=*/false);
}

// --- exchange between lanes ----------------------------------------------------------------------

/// Without a mask, all lanes take part. Shuffles exchange 32 bits.
static Value shuffleWord(VectorCode &code, Value number, Value lane, NVVM::ShflKind kind,
                         Value mask = {}) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(code.builder, code.location, code.i32, value);
  };
  // The whole warp is one segment.
  return NVVM::ShflOp::create(code.builder, code.location, number.getType(),
                              mask ? mask : constant(-1), number, lane, constant(kWarpLanes - 1),
                              kind, UnitAttr());
}

static Value shuffle(VectorCode &code, Value number, Value lane, NVVM::ShflKind kind, Value mask) {
  if (number.getType() != code.i64) {
    return shuffleWord(code, number, lane, kind, mask);
  }
  auto half = [&](Value bits) -> Value {
    Value word = arith::TruncIOp::create(code.builder, code.location, code.i32, bits);
    Value other = shuffleWord(code, word, lane, kind, mask);
    return arith::ExtUIOp::create(code.builder, code.location, code.i64, other);
  };
  Value bits = code.integer(32);
  Value upper = half(arith::ShRUIOp::create(code.builder, code.location, number, bits));
  upper = arith::ShLIOp::create(code.builder, code.location, upper, bits);
  return arith::OrIOp::create(code.builder, code.location, upper, half(number));
}

Value BlockCode::ofLane(Value number, Value lane, Value mask) {
  return shuffle(code, number, lane, NVVM::ShflKind::idx, mask);
}

Value BlockCode::ofOtherLane(Value number, int64_t bits, Value mask) {
  Value flipped = arith::ConstantIntOp::create(code.builder, code.location, code.i32, bits);
  return shuffle(code, number, flipped, NVVM::ShflKind::bfly, mask);
}

Value BlockCode::teamMask(int64_t members) {
  Value lane = code.remainder(thread, kWarpLanes);
  Value first = code.subtract(lane, code.remainder(lane, members));
  Value bits = code.integer((int64_t{1} << members) - 1);
  Value shifted = arith::ShLIOp::create(code.builder, code.location, bits, first);
  return arith::TruncIOp::create(code.builder, code.location, code.i32, shifted);
}

} // namespace heddle
