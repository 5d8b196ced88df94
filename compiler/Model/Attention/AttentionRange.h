// SPDX-License-Identifier: Apache-2.0
///
/// Checks that fusing attention keeps numbers in the range of f32. The kernel multiplies some
/// numbers in another place than the program: factors of queries, keys and values after the
/// products, learned factors of scores before them. It also sums values that are already mapped,
/// and adds one table where the program adds several. The rules are those of fuse-branches
/// (docs/decisions/0009-affine-forms.md).
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H

#include "compiler/Model/Attention/AttentionMatch.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Parameters/ParameterHash.h"

namespace heddle {

/// Returns the first number that is moved too far; empty if there is none. Weights without values
/// from `reader`, which may be empty, are assumed to be of ordinary magnitude.
std::string rangeObstacle(const AttentionMatch &match, const DerivedParameters &parameters,
                          const ParameterReader &reader);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONRANGE_H
