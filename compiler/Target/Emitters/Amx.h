// SPDX-License-Identifier: Apache-2.0
///
/// The tile registers of AMX: eight of 16 rows of 64 bytes, and instructions that multiply two of
/// them and add to a third. An instruction takes 32 steps of a sum in bf16, 64 in codes of 8 bits.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H

#include "compiler/Target/Emitters/VectorCode.h"

#include <array>

namespace heddle {

/// Rows of a register, and bytes of one of them.
inline constexpr int64_t kAmxRows = 16;
inline constexpr int64_t kAmxRowBytes = 64;
/// Steps of a sum of products of bf16 that an instruction takes.
inline constexpr int64_t kAmxBf16Steps = kAmxRowBytes / 2;

/// How registers are set up, as the processor reads it.
struct AmxRegisters {
  std::array<uint8_t, kAmxRowBytes> bytes = {/*palette=*/1};

  void set(int64_t number, int64_t rows, int64_t rowBytes);
};

/// Sets the registers up, and gives them back: around all tiles of a call of a kernel, as both take
/// as long as a small tile.
void enterAmx(VectorCode &code, mlir::func::FuncOp kernel, const AmxRegisters &registers);
void leaveAmx(VectorCode &code);

/// Makes a register zero.
void clearAmx(VectorCode &code, int64_t number);
/// Loads and stores a register, whose rows lie `stride` bytes apart.
void loadAmx(VectorCode &code, int64_t to, mlir::Value from, mlir::Value stride);
void storeAmx(VectorCode &code, int64_t from, mlir::Value to, mlir::Value stride);
/// Adds the products of registers `rows` and `columns` to `sums`: of bf16, or of codes without sign
/// and codes with one.
void multiplyAmxBf16(VectorCode &code, int64_t sums, int64_t rows, int64_t columns);
void multiplyAmxCodes(VectorCode &code, int64_t sums, int64_t rows, int64_t columns);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H
