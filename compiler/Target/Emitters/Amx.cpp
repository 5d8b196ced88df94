// SPDX-License-Identifier: Apache-2.0
///
/// Emits AMX instructions with explicit register numbers, which LLVM does not change. LLVM's own
/// register assignment would configure the registers in each function.
#include "compiler/Target/Emitters/Amx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

static void call(VectorCode &code, StringRef intrinsic, ValueRange arguments) {
  LLVM::CallIntrinsicOp::create(code.builder, code.location, code.builder.getStringAttr(intrinsic),
                                arguments);
}

static Value registerOf(VectorCode &code, int64_t number) {
  return arith::ConstantOp::create(code.builder, code.location,
                                   code.builder.getI8IntegerAttr(static_cast<int8_t>(number)));
}

void AmxRegisters::set(int64_t number, int64_t rows, int64_t rowBytes) {
  constexpr size_t rowBytesAt = 16, rowsAt = 48;
  const auto place = static_cast<size_t>(number);
  bytes[rowBytesAt + sizeof(uint16_t) * place] = static_cast<uint8_t>(rowBytes);
  bytes[rowsAt + place] = static_cast<uint8_t>(rows);
}

void enterAmx(VectorCode &code, func::FuncOp kernel, const AmxRegisters &registers) {
  auto type = VectorType::get({kAmxRowBytes}, code.builder.getI8Type());
  Value bytes =
      arith::ConstantOp::create(code.builder, code.location,
                                DenseElementsAttr::get(type, ArrayRef<uint8_t>(registers.bytes)));
  Value place = code.frame(kernel, kAmxRowBytes / int64_t(sizeof(float)));
  LLVM::StoreOp::create(code.builder, code.location, bytes, place, kAmxRowBytes);
  call(code, "llvm.x86.ldtilecfg", {place});
}

void leaveAmx(VectorCode &code) { call(code, "llvm.x86.tilerelease", {}); }

void clearAmx(VectorCode &code, int64_t number) {
  call(code, "llvm.x86.tilezero", {registerOf(code, number)});
}

void loadAmx(VectorCode &code, int64_t to, Value from, Value stride) {
  call(code, "llvm.x86.tileloadd64", {registerOf(code, to), from, stride});
}

void storeAmx(VectorCode &code, int64_t from, Value to, Value stride) {
  call(code, "llvm.x86.tilestored64", {registerOf(code, from), to, stride});
}

static void multiply(VectorCode &code, StringRef intrinsic, int64_t sums, int64_t rows,
                     int64_t columns) {
  call(code, intrinsic,
       {registerOf(code, sums), registerOf(code, rows), registerOf(code, columns)});
}

void multiplyAmxBf16(VectorCode &code, int64_t sums, int64_t rows, int64_t columns) {
  multiply(code, "llvm.x86.tdpbf16ps", sums, rows, columns);
}

void multiplyAmxCodes(VectorCode &code, int64_t sums, int64_t rows, int64_t columns) {
  multiply(code, "llvm.x86.tdpbusd", sums, rows, columns);
}

} // namespace heddle
