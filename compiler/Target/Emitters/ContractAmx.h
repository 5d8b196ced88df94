// SPDX-License-Identifier: Apache-2.0
///
/// Products on the tile registers of AMX: registers of 16 rows of 64 bytes, and instructions that
/// multiply two of them. Rows of bf16 or codes and panels of weights already have the layout of
/// these registers, so a binary contains its weights once for all processors.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H

#include "compiler/Target/Emitters/Amx.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Returns whether a target multiplies a layout on these registers: bf16, and 8-bit codes whose
/// groups are whole registers.
bool runsOnAmx(const TargetDescription &target, const PanelLayout &layout);

/// Configures the registers for products of `k` steps.
void enterAmx(VectorCode &code, mlir::func::FuncOp kernel, const PanelLayout &layout, int64_t k);

/// Computes some columns of a tile over the whole of k. Always computes kAmxRows rows: those past
/// the last row of the tile read other memory of the block and are not stored.
void emitAmxTile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H
