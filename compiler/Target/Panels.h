// SPDX-License-Identifier: Apache-2.0
///
/// Matrices in panels: how products of every kind of machine read them today, so that a binary for
/// several has its weights once.
#ifndef HEDDLE_COMPILER_TARGET_PANELS_H
#define HEDDLE_COMPILER_TARGET_PANELS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// The columns of panels that all targets share unless they are told others: three registers of 16
/// lanes and six of 8.
inline constexpr int64_t sharedPanelColumns = 48;

/// The panels of a matrix, as TargetBackend::encodeMatrix() says.
MatrixEncoding encodePanels(const TargetDescription &target, transformer::ParameterOp matrix,
                            const dataflow::KernelInput &input);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_PANELS_H
