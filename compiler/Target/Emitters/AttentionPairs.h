// SPDX-License-Identifier: Apache-2.0
///
/// Keys, values and queries of attention in pairs of bf16, and their products: by dot products of
/// vectors, or on the tile registers of AMX.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H

#include "compiler/Target/Emitters/AttentionTile.h"

namespace heddle {

/// Pairs, words of 32 bits, in a register of AMX and in a row of one, which is a vector.
inline constexpr int64_t kWords = kAmxRows * kAmxRowBytes / 4;
inline constexpr int64_t kRowWords = kAmxRowBytes / 4;

/// Registers that a vector of keys takes.
int64_t stepsOf(const AttentionTile &a);
/// Where the pairs of a key begin, the first of a vector, and those of values, the first of 32.
mlir::Value keysAt(const AttentionTile &a, mlir::Value key);
mlir::Value valuesAt(const AttentionTile &a, mlir::Value key);

/// Write the keys and values of the heads at hand, and the queries of a tile, to scratch.
void pairKeys(AttentionTile &a);
void pairValues(AttentionTile &a);
void pairQueries(AttentionTile &a, llvm::ArrayRef<mlir::Value> queries);
/// Stores the weights of a vector of keys from number `key` on as bf16 over the scores of the row:
/// over those of keys up to the last of these at most.
void storePairedWeights(AttentionTile &a, mlir::Value weights, mlir::Value row, mlir::Value key);

/// Q[r] . K[j] for the rows of a tile and `vectors` of keys from number `key` on.
llvm::SmallVector<mlir::Value> dotKeys(AttentionTile &a, mlir::Value key, int64_t vectors);
/// sums[r * group.count + v] plus the sum over from <= j < end of weights[r][j] V[firstKey + j].
llvm::SmallVector<mlir::Value> dotValues(AttentionTile &a, ValueGroup group, mlir::Value firstKey,
                                         mlir::Value from, mlir::Value end,
                                         llvm::SmallVector<mlir::Value> sums);

/// Sets the registers of AMX up for a call of a kernel.
void enterAmx(const AttentionTile &a, mlir::func::FuncOp kernel);
/// products[r][j] = Q[r] . K[firstKey + j], from <= j < end.
void multiplyKeys(AttentionTile &a, mlir::Value firstKey, mlir::Value from, mlir::Value end);
/// sums[r][:] += sum over from <= j < end of weights[r][j] V[firstKey + j][:].
void multiplyValues(AttentionTile &a, mlir::Value sums, mlir::Value firstKey, mlir::Value from,
                    mlir::Value end);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H
