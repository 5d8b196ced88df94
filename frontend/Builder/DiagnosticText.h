// SPDX-License-Identifier: Apache-2.0
///
/// Converts MLIR's diagnostics to a Status: an object of this class collects errors during its
/// lifetime, so that none is printed.
#ifndef HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H
#define HEDDLE_FRONTEND_BUILDER_DIAGNOSTICTEXT_H

#include "heddle/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <string_view>

namespace heddle {

/// The text of a program and the file that it was read from. The text outlives this object.
struct SourceText {
  std::string path;
  std::string_view text;
};

class DiagnosticText {
public:
  /// If `source` has a text, messages show the line that they refer to.
  explicit DiagnosticText(mlir::MLIRContext *context, SourceText source = {});

  /// Returns whether there was an error.
  bool hasErrors() const { return errors > 0; }

  /// Returns the first errors with their notes, each with its location (`file:line:column: error:`,
  /// or the name of a tensor); `fallback` if there was none.
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
