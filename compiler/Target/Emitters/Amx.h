// SPDX-License-Identifier: Apache-2.0
///
/// The tile registers of AMX: eight registers of 16 rows of 64 bytes, and instructions that
/// multiply two of them and accumulate into a third. An instruction covers 32 steps of k in bf16,
/// or 64 with 8-bit codes.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H

#include "compiler/Target/Emitters/VectorCode.h"

#include <array>

namespace heddle {

/// Rows of a register, and bytes per row.
inline constexpr int64_t kAmxRows = 16;
inline constexpr int64_t kAmxRowBytes = 64;
/// Steps of k that an instruction on bf16 covers.
inline constexpr int64_t kAmxBf16Steps = kAmxRowBytes / 2;

/// The configuration of the registers (ldtilecfg), in the processor's format.
struct AmxRegisters {
  std::array<uint8_t, kAmxRowBytes> bytes = {/*palette=*/1};

  void set(int64_t number, int64_t rows, int64_t rowBytes);
};

/// Configures the registers, and releases them. Kernels do this once per call, around all tiles,
/// because both together take as long as a small tile.
void enterAmx(VectorCode &code, mlir::func::FuncOp kernel, const AmxRegisters &registers);
void leaveAmx(VectorCode &code);

/// Sets a register to zero.
void clearAmx(VectorCode &code, int64_t number);
/// Loads and stores a register whose rows are `stride` bytes apart in memory.
void loadAmx(VectorCode &code, int64_t to, mlir::Value from, mlir::Value stride);
void storeAmx(VectorCode &code, int64_t from, mlir::Value to, mlir::Value stride);
/// Adds the product of registers `rows` and `columns` to `sums`: of bf16, or of unsigned by signed
/// codes.
void multiplyAmxBf16(VectorCode &code, int64_t sums, int64_t rows, int64_t columns);
void multiplyAmxCodes(VectorCode &code, int64_t sums, int64_t rows, int64_t columns);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_AMX_H
