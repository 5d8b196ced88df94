// SPDX-License-Identifier: Apache-2.0
///
/// Diagnostics as text.
#include "frontend/Builder/DiagnosticText.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle {

/// A page of errors helps nobody.
static constexpr int errorLimit = 5;

/// `file:line:column: ` or `"name": `; a name wins, for it is what the user knows a layer by.
static std::string describePlace(Location location) {
  if (auto name = location->findInstanceOf<NameLoc>()) {
    return (llvm::Twine('"') + name.getName().getValue() + "\": ").str();
  }
  if (auto place = location->findInstanceOf<FileLineColLoc>()) {
    return (place.getFilename().getValue() + ":" + llvm::Twine(place.getLine()) + ":" +
            llvm::Twine(place.getColumn()) + ": ")
        .str();
  }
  return {};
}

DiagnosticText::DiagnosticText(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
          return failure();
        }
        if (++errors > errorLimit) {
          return success();
        }
        text +=
            (text.empty() ? "" : "\n") + describePlace(diagnostic.getLocation()) + diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes()) {
          // The dump of an operation repeats the line the place already names.
          if (!llvm::StringRef(note.str()).starts_with("see current operation")) {
            text += "\n" + describePlace(note.getLocation()) + "note: " + note.str();
          }
        }
        return success();
      }) {}

Status DiagnosticText::status(std::string_view fallback) const {
  return HEDDLE_ERROR(InvalidArgument, text.empty() ? std::string(fallback) : text);
}

} // namespace heddle
