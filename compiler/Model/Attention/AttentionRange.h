// SPDX-License-Identifier: Apache-2.0
///
/// Whether attention keeps the range of f32 where the program does. The kernel multiplies some
/// numbers in another place than the program: those of queries, keys and values after the products,
/// learned ones of the scores before them, it sums values that are mapped already, and it adds one
/// table where the program adds several. By the rules that fuse-branches has for the same moves
/// (docs/decisions/0009-affine-forms.md).
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H

#include "compiler/Model/Attention/AttentionMatch.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Parameters/ParameterHash.h"

namespace heddle {

/// The first number that is moved too far; empty if none is. Weights whose values `reader` does not
/// give, and it may be empty, are taken to be of ordinary sizes.
std::string rangeObstacle(const AttentionMatch &match, const DerivedParameters &parameters,
                          const ParameterReader &reader);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H
