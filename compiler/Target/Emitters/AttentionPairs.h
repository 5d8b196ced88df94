// SPDX-License-Identifier: Apache-2.0
///
/// Keys, values and queries of attention as pairs of bf16, and their products: by vector dot
/// products, or on the tile registers of AMX.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H

#include "compiler/Target/Emitters/AttentionTile.h"

namespace heddle {

/// Pairs, as 32-bit words, in an AMX register and in a row of one, which is a vector.
inline constexpr int64_t kWords = kAmxRows * kAmxRowBytes / 4;
inline constexpr int64_t kRowWords = kAmxRowBytes / 4;

/// Returns the number of registers that a vector of keys takes.
int64_t stepsOf(const AttentionTile &a);
/// Return the address of the pairs of a key, the first of a vector, and of values, the first of 32.
mlir::Value keysAt(const AttentionTile &a, mlir::Value key);
mlir::Value valuesAt(const AttentionTile &a, mlir::Value key);

/// Write the keys and values of the current heads, and the queries of a tile, to scratch.
void pairKeys(AttentionTile &a);
void pairValues(AttentionTile &a);
void pairQueries(AttentionTile &a, llvm::ArrayRef<mlir::Value> queries);
/// Stores the weights of a vector of keys from number `key` on as bf16. They overwrite the row's
/// scores of keys up to the last one of this vector at most.
void storePairedWeights(AttentionTile &a, mlir::Value weights, mlir::Value row, mlir::Value key);

/// Computes Q[r] . K[j] for the rows of a tile and `vectors` vectors of keys from number `key` on.
llvm::SmallVector<mlir::Value> dotKeys(AttentionTile &a, mlir::Value key, int64_t vectors);
/// Returns sums[r * group.count + v] plus the sum over from <= j < end of weights[r][j] V[firstKey
/// + j].
llvm::SmallVector<mlir::Value> dotValues(AttentionTile &a, ValueGroup group, mlir::Value firstKey,
                                         mlir::Value from, mlir::Value end,
                                         llvm::ArrayRef<mlir::Value> sums);

/// Configures the AMX registers for a call of a kernel.
void enterAmx(const AttentionTile &a, mlir::func::FuncOp kernel);
/// Computes products[r][j] = Q[r] . K[firstKey + j], from <= j < end.
void multiplyKeys(AttentionTile &a, mlir::Value firstKey, mlir::Value from, mlir::Value end);
/// Computes sums[r][:] += sum over from <= j < end of weights[r][j] V[firstKey + j][:].
void multiplyValues(AttentionTile &a, mlir::Value sums, mlir::Value firstKey, mlir::Value from,
                    mlir::Value end);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONPAIRS_H
