// SPDX-License-Identifier: Apache-2.0
///
/// Products on the tile registers of AMX: 16 rows of 64 bytes each, and instructions that multiply
/// two of them. Rows of bf16 or codes and panels of weights lie as these registers want them
/// anyway, so that a binary has its weights once for all processors.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H

#include "compiler/Target/Emitters/Amx.h"
#include "compiler/Target/Emitters/ContractTile.h"

namespace heddle {

/// Whether a target multiplies a layout on these registers: bf16, and codes of 8 bits of which
/// whole registers share a scale.
bool runsOnAmx(const TargetDescription &target, const PanelLayout &layout);

/// Sets the registers up for products of `k` steps.
void enterAmx(VectorCode &code, mlir::func::FuncOp kernel, const PanelLayout &layout, int64_t k);

/// The whole of k of some columns of a tile. It always computes kAmxRows rows: those past the last
/// row of the tile read other memory of the block and are not stored.
void emitAmxTile(const TileColumns &tile);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTAMX_H
