// SPDX-License-Identifier: Apache-2.0
///
/// An analysis beside the program it is of.
#ifndef HEDDLE_COMPILER_REPORTPAGE_ANALYSISCHECK_H
#define HEDDLE_COMPILER_REPORTPAGE_ANALYSISCHECK_H

#include "formats/Analysis/AttentionAnalysis.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Refuses an analysis of layers that a program does not have: of another model. `path` is the file
/// it was read from.
Status checkAnalysis(const AttentionAnalysis &analysis, mlir::ModuleOp module,
                     const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORTPAGE_ANALYSISCHECK_H
