// SPDX-License-Identifier: Apache-2.0
///
/// A checked request with all defaults resolved, for the rest of the driver.
#ifndef HEDDLE_COMPILER_DRIVER_REQUEST_H
#define HEDDLE_COMPILER_DRIVER_REQUEST_H

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "formats/Checkpoint/QuantizedTensor.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// A resolved request.
struct Task {
  explicit Task(const CompileRequest &request) : request(request) {}

  const CompileRequest &request;
  /// The path or the name of the program, the prefix of every message about it.
  std::string input;
  /// With explicit targets, the least capable first.
  PipelineOptions options;
  /// The phases to run.
  Phase first = Phase::Fused;
  Phase last = Phase::SharedObject;

  /// The name of the precision; that of the files if none was requested.
  std::string precision{f32Precision};

  bool wants(ReportForm form) const { return request.report == form; }
  bool wantsText(Phase phase) const;
};

/// Checks a request. Returns InvalidArgument with messages in terms of its `names`.
Result<Task> resolveRequest(const CompileRequest &request);

/// Adapts the task to the imported program, and rejects options that do not match it. `codes`
/// describes the quantisation of the model's files; null if there is none.
Status fitTask(mlir::ModuleOp program, const Quantization *codes, Task &task);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_REQUEST_H
