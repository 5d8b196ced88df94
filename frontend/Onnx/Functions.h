// SPDX-License-Identifier: Apache-2.0
///
/// Imports graphs of several lengths that no decoder runs as functions of their tensors: callers
/// give the rows of the source and those of earlier runs with each run, and get every output.
#ifndef HEDDLE_FRONTEND_ONNX_FUNCTIONS_H
#define HEDDLE_FRONTEND_ONNX_FUNCTIONS_H

#include "frontend/Onnx/Evaluation.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle::onnx {

/// Returns the entries that such a graph is written to: one for each length that it has.
EntryPlan functionPlan(const InputForms &forms, const Uses *known);

/// Checks that rows of one length attend to those of the other, and that padding is hidden: that of
/// the source by all attentions to it, and none of earlier runs.
Status checkFunction(const Graph &graph, const InputForms &forms, const Uses &uses);

/// Sets the attributes of ports that describe their tensors in files.
void describePorts(mlir::ModuleOp module, const std::vector<PortTensor> &tensors);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_FUNCTIONS_H
