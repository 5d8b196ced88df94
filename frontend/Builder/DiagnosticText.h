// SPDX-License-Identifier: Apache-2.0
///
/// From MLIR's diagnostics to a Status: what the parser and the verifiers say while an object of
/// this class lives is kept and not printed.
#ifndef HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H
#define HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H

#include "heddle/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <string_view>

namespace heddle {

/// The file a program was read from, and its text, which outlives whoever is given it.
struct SourceText {
  std::string path;
  std::string_view text;
};

class DiagnosticText {
public:
  /// With the text of a program, its lines are shown under what is said of them.
  explicit DiagnosticText(mlir::MLIRContext *context, SourceText source = {});

  /// Whether an error was said.
  bool hasErrors() const { return errors > 0; }

  /// The first errors with their notes, each after its place (`file:line:column: error:`, or the
  /// name of a tensor); `fallback` if nothing was said.
  Status status(std::string_view fallback) const;

private:
  void append(mlir::Location location, llvm::StringRef kind, const std::string &message);

  SourceText source;
  std::string text;
  int errors = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H
