// SPDX-License-Identifier: Apache-2.0
///
/// The vocabulary of blocks as operations of nvvm. Shared memory is one array of a size that the
/// launch says, which is called `shared` here and after its kernel in PTX (DeviceUnits.cpp).
#include "compiler/Target/Cuda/BlockCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

static constexpr llvm::StringLiteral kShared = "shared";
static constexpr llvm::StringLiteral kNote = "dataflow.block_work";
static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

// --- what an entry has to know -----------------------------------------------------------------

void BlockWork::note(func::FuncOp function) const {
  Builder builder(function.getContext());
  function->setAttr(kNote, builder.getDenseI64ArrayAttr({threads, shared, many.rows, many.columns,
                                                         few.rows, few.columns, fewRows}));
}

bool BlockWork::forget(Operation *function) { return function->removeAttr(kNote) != nullptr; }

std::optional<BlockWork> BlockWork::of(func::FuncOp function) {
  auto note = function->getAttrOfType<DenseI64ArrayAttr>(kNote);
  if (!note) {
    return std::nullopt;
  }
  ArrayRef<int64_t> numbers = note.asArrayRef();
  assert(numbers.size() == 7 && "as note() writes it");
  return BlockWork{
      numbers[0], numbers[1], {numbers[2], numbers[3]}, {numbers[4], numbers[5]}, numbers[6]};
}

// --- code --------------------------------------------------------------------------------------

/// The array of shared memory, once in a module.
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
  Value number = NVVM::ThreadIdXOp::create(code.builder, code.location, code.i32);
  thread = arith::ExtUIOp::create(code.builder, code.location, code.i64, number);
  shared = LLVM::AddressOfOp::create(code.builder, code.location, sharedArray(function));
}

Value BlockCode::sharedAt(Value offset) {
  return LLVM::GEPOp::create(code.builder, code.location, sharedPointer, code.builder.getI8Type(),
                             shared, ValueRange{offset});
}

void BlockCode::barrier() { NVVM::Barrier0Op::create(code.builder, code.location); }

void BlockCode::copy(Value to, Value from, int64_t bytes, Value valid) {
  assert((bytes == 4 || bytes == 16) && "what a copy can have here");
  // Weights pass by the first level, as no other thread of the block reads them there; elements of
  // rows come one at a time, of lines that the next copies want too.
  const auto cache =
      bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  auto global = LLVM::LLVMPointerType::get(code.builder.getContext(), kGlobalSpace);
  Value source = LLVM::AddrSpaceCastOp::create(code.builder, code.location, global, from);
  NVVM::CpAsyncOp::create(code.builder, code.location, to, source, static_cast<uint32_t>(bytes),
                          cache, valid);
}

void BlockCode::commit() { NVVM::CpAsyncCommitGroupOp::create(code.builder, code.location); }

void BlockCode::await(int64_t running) {
  NVVM::CpAsyncWaitGroupOp::create(code.builder, code.location, static_cast<uint32_t>(running));
}

Value BlockCode::keptHere(Value number) {
  OpBuilder &builder = code.builder;
  Value narrow = arith::TruncIOp::create(builder, code.location, code.i32, number);
  auto noTail =
      LLVM::TailCallKindAttr::get(builder.getContext(), LLVM::tailcallkind::TailCallKind::None);
  // No instruction, but one that LLVM does not look into: it gives what it takes.
  return LLVM::InlineAsmOp::create(builder, code.location, TypeRange{code.i32}, ValueRange{narrow},
                                   builder.getStringAttr(""), builder.getStringAttr("=r,0"),
                                   /*has_side_effects=*/builder.getUnitAttr(),
                                   /*is_align_stack=*/UnitAttr(), noTail, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      ->getResult(0);
}

SmallVector<Value> BlockCode::load(Value address, int64_t count, Type element) {
  const unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  Type stored = element.isF32() ? element : code.builder.getIntegerType(bytes * 8);
  auto type = VectorType::get({count}, stored);
  Value loaded = LLVM::LoadOp::create(code.builder, code.location, type, address,
                                      bytes * static_cast<unsigned>(count));
  Value numbers = element.isF32() ? loaded : code.widenStored(loaded, element);
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(vector::ExtractOp::create(code.builder, code.location, numbers, i));
  }
  return values;
}

void BlockCode::store(ValueRange values, Value address) {
  auto count = static_cast<int64_t>(values.size());
  auto type = VectorType::get({count}, code.f32);
  Value vector = vector::FromElementsOp::create(code.builder, code.location, type, values);
  LLVM::StoreOp::create(code.builder, code.location, vector, address,
                        sizeof(float) * static_cast<unsigned>(count));
}

} // namespace heddle
