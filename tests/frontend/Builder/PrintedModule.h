// SPDX-License-Identifier: Apache-2.0
///
/// A program as text, for tests that compare parts of it.
#ifndef HEDDLE_TESTS_FRONTEND_BUILDER_PRINTEDMODULE_H
#define HEDDLE_TESTS_FRONTEND_BUILDER_PRINTEDMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace heddle {

/// Prints the program, optionally with the location of each operation.
inline std::string printed(mlir::ModuleOp module, bool locations = false) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.useLocalScope();
  if (locations) {
    flags.enableDebugInfo(true, false);
  }
  module->print(stream, flags);
  return text.ends_with('\n') ? text : text + "\n";
}

/// Succeeds if `part` occurs in the text; the failure shows the whole text.
inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << part << "\nis not in\n" << text;
}

} // namespace heddle

#endif // HEDDLE_TESTS_FRONTEND_BUILDER_PRINTEDMODULE_H
