// SPDX-License-Identifier: Apache-2.0
///
/// Describes why two values have different numbers: the first difference on the way from them to
/// their operands.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H
#define HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H

#include "compiler/Model/Sharing/ValueNumbering.h"

#include <string>

namespace heddle {

/// Describes the first difference between two attentions whose weights have different numbers: "the
/// queries differ: b.query.weight has other values".
std::string differenceOf(transformer::AttentionOp attention, transformer::AttentionOp other,
                         const ValueNumbering &numbering);

/// Returns the permutation, "1, 0, 2", if the heads of one attention are those of another in this
/// order, computed from the same rows; empty if they are not.
std::string headOrder(transformer::AttentionOp attention, transformer::AttentionOp other,
                      const ValueNumbering &numbering);

/// Describes why two caches may have different rows: "cache \"b\" is appended to by @prefill
/// alone".
std::string differenceOf(mlir::StringAttr cache, mlir::StringAttr other,
                         const ValueNumbering &numbering);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H
