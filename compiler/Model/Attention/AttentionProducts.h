// SPDX-License-Identifier: Apache-2.0
///
/// Rewrites sums of products of queries and keys as one product, and sums of bias tables as one
/// table, because a fused attention has one of each.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONPRODUCTS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONPRODUCTS_H

#include "compiler/Model/Attention/AttentionMatch.h"
#include "compiler/Model/Attention/WeightContraction.h"

#include "mlir/IR/Builders.h"

namespace heddle {

/// The ways to write q1 k1 + q2 k2 + ... as one product.
enum class ProductArrangement {
  /// There is only one product.
  Alone,
  /// (q1 + q2) k
  SameKeys,
  /// q (k1 + k2)
  SameQueries,
  /// [q1 q2] [k1 k2], head by head, by maps with concatenated weights
  SideBySide
};

/// Chooses how the products of `match` become one; on failure `reason` says why they cannot.
llvm::FailureOr<ProductArrangement> arrangeProducts(const AttentionMatch &match,
                                                    std::string &reason);

/// Returns the size of a head of queries and keys.
int64_t sizeOfHeads(const AttentionMatch &match, ProductArrangement arrangement);
/// Returns how many adjacent heads of queries share one head of keys.
int64_t keyShareOf(const AttentionMatch &match);

/// Queries and keys of one product, as rows.
struct QueryKeyRows {
  mlir::Value query;
  mlir::Value key;
  int64_t keyShare = 1;
};

/// Writes the products of `match` as one. The scores are that product times match.scale().
QueryKeyRows combineProducts(mlir::OpBuilder &builder, mlir::Location location,
                             DerivedParameters &parameters, const AttentionMatch &match,
                             ProductArrangement arrangement);

/// Derives the sum of the tables, each times its factor; null if there is none. The end columns of
/// tables with fewer distances are repeated.
mlir::FlatSymbolRefAttr deriveBias(DerivedParameters &parameters, mlir::Location location,
                                   llvm::ArrayRef<DistanceBias> biases);

/// Returns the values of a sum as rows; if the sum has a map, the rows mapped for every head.
mlir::Value valueRows(mlir::OpBuilder &builder, mlir::Location location,
                      DerivedParameters &parameters, const WeightedSum &sum, int64_t heads);

/// Returns the operand as rows [t, h * d], head h in columns h * d on.
mlir::Value toRows(mlir::OpBuilder &builder, mlir::Location location,
                   const AttentionOperand &operand);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONPRODUCTS_H
