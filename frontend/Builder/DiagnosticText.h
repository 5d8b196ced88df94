// SPDX-License-Identifier: Apache-2.0
///
/// From MLIR's diagnostics to a Status: what the parser and the verifiers say while an object of
/// this class lives is kept and not printed.
#ifndef HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H
#define HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H

#include "heddle/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace heddle {

class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext *context);

  /// The first errors with their notes, one a line, each after its place (`file:line:column` or the
  /// name of a tensor); `fallback` if nothing was said.
  Status status(std::string_view fallback) const;

private:
  std::string text;
  int errors = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H
