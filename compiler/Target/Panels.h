// SPDX-License-Identifier: Apache-2.0
///
/// Matrices in panels: the layout that all back ends use, so that a binary for several targets
/// stores its weights once.
#ifndef HEDDLE_COMPILER_TARGET_PANELS_H
#define HEDDLE_COMPILER_TARGET_PANELS_H

#include "compiler/Target/Target.h"

namespace heddle {

/// The default panel width of all targets: three registers of 16 lanes and six of 8.
inline constexpr int64_t sharedPanelColumns = 48;

/// Implements TargetBackend::encodeMatrix() with panels.
MatrixEncoding encodePanels(const TargetDescription &target, transformer::ParameterOp matrix,
                            const dataflow::KernelInput &input);
/// Does the same with panels of [k / together][panelColumns][together] for products of a target
/// whose instructions want that. Look-ups cannot read their rows.
MatrixEncoding encodePanels(const TargetDescription &target, transformer::ParameterOp matrix,
                            const dataflow::KernelInput &input, int64_t together);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_PANELS_H
