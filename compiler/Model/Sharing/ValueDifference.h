// SPDX-License-Identifier: Apache-2.0
///
/// Says in words why two values have different numbers: the first difference on the way from them
/// up to what they are computed from.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H
#define HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H

#include "compiler/Model/Sharing/ValueNumbering.h"

#include <string>

namespace heddle {

/// The first difference between two attentions whose weights have different numbers: "the queries
/// differ: b.query.weight has other values".
std::string differenceOf(transformer::AttentionOp attention, transformer::AttentionOp other,
                         const ValueNumbering &numbering);

/// "1, 0, 2" where the heads of one attention, from the rows that both read on, are those of
/// another in this order; empty where they are not.
std::string headOrder(transformer::AttentionOp attention, transformer::AttentionOp other,
                      const ValueNumbering &numbering);

/// Why two caches may have different rows: "cache \"b\" is appended to by @prefill alone".
std::string differenceOf(mlir::StringAttr cache, mlir::StringAttr other,
                         const ValueNumbering &numbering);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_SHARING_VALUEDIFFERENCE_H
