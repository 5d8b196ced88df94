// SPDX-License-Identifier: Apache-2.0
///
/// A request as the rest of the driver reads it: checked, with everything decided that the request
/// leaves open.
#ifndef HEDDLE_COMPILER_DRIVER_REQUEST_H
#define HEDDLE_COMPILER_DRIVER_REQUEST_H

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "formats/Checkpoint/QuantizedTensor.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// What is to be done.
struct Task {
  explicit Task(const CompileRequest &request) : request(request) {}

  const CompileRequest &request;
  /// The path or the name of the program, which begins every message about it.
  std::string input;
  /// With explicit targets, the least capable first.
  PipelineOptions options;
  /// The phases to run.
  Phase first = Phase::Fused;
  Phase last = Phase::SharedObject;

  /// The name of the precision, which is that of the files if none was asked for.
  std::string precision{f32Precision};

  bool wants(ReportForm form) const { return request.report == form; }
  bool wantsText(Phase phase) const;
};

/// Checks a request. InvalidArgument: what is wrong, in the words of its `names`.
Result<Task> resolveRequest(const CompileRequest &request);

/// Fits the task to the program that was read, and refuses what does not go with it.
/// `codes` is what the model's files say of their codes; null if they have none.
Status fitTask(mlir::ModuleOp program, const Quantization *codes, Task &task);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_REQUEST_H
