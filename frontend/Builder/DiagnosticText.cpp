// SPDX-License-Identifier: Apache-2.0
///
/// Formats diagnostics, with the program lines that they refer to.
#include "frontend/Builder/DiagnosticText.h"

#include "base/Utf8.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle {

/// The largest number of errors that are kept; more are rarely useful.
static constexpr int errorLimit = 5;

/// How much of a line is shown on either side of the position, because a line may be a megabyte
/// long.
static constexpr size_t shownBefore = 80;
static constexpr size_t shownAfter = 80;

/// Returns where the character that contains a byte begins. Characters have at most four bytes, so
/// a longer sequence is not UTF-8.
static size_t characterBegin(llvm::StringRef text, size_t at) {
  size_t begin = at;
  while (begin > 0 && at - begin < 3 && begin < text.size() && continuesCharacter(text[begin])) {
    --begin;
  }
  return begin;
}

/// Returns the line of a position with a caret below it, as LLVM's source manager prints them.
static std::string showLine(llvm::StringRef text, unsigned line, unsigned column) {
  for (; line > 1; --line) {
    const size_t end = text.find('\n');
    if (end == llvm::StringRef::npos) {
      return {};
    }
    text = text.drop_front(end + 1);
  }
  text = text.take_until([](char c) { return c == '\n' || c == '\r'; });
  if (column == 0 || column > text.size() + 1) {
    return {};
  }
  // A position inside a character refers to that character.
  const size_t at = characterBegin(text, column - 1);
  const size_t begin = characterBegin(text, at > shownBefore ? at - shownBefore : 0);
  const size_t end = characterBegin(text, std::min(at + shownAfter, text.size()));
  const std::string before = text.slice(begin, at).str();
  std::string indent;
  for (const char c : before) {
    // All bytes of a character share one column.
    indent += continuesCharacter(c) ? "" : c == '\t' ? "\t" : " ";
  }
  return "\n" + before + text.slice(at, end).str() + "\n" + indent + "^";
}

DiagnosticText::DiagnosticText(MLIRContext *context, SourceText source)
    : source(std::move(source)), handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
          return failure();
        }
        if (++errors > errorLimit) {
          return success();
        }
        append(diagnostic.getLocation(), "error: ", diagnostic.str());
        for (Diagnostic &note : diagnostic.getNotes()) {
          // The dump of an operation would repeat the line that the position names.
          if (!llvm::StringRef(note.str()).starts_with("see current operation")) {
            append(note.getLocation(), "note: ", note.str());
          }
        }
        return success();
      }) {}

/// Returns " (FILE:LINE)", if the program that wrote the IR recorded which of its lines created a
/// named operation.
static std::string writtenAt(NameLoc name) {
  auto place = name.getChildLoc()->findInstanceOf<FileLineColLoc>();
  return place ? (" (" + place.getFilename().getValue() + ":" + llvm::Twine(place.getLine()) + ")")
                     .str()
               : std::string();
}

/// Prefers a name to a place in a file, because users know a layer by its name.
void DiagnosticText::append(Location location, llvm::StringRef kind, const std::string &message) {
  text += text.empty() ? "" : "\n";
  const bool isNote = kind == "note: ";
  if (auto name = location->findInstanceOf<NameLoc>()) {
    text += (llvm::Twine('"') + name.getName().getValue() + "\"" + writtenAt(name) + ": " +
             (isNote ? kind : "") + message)
                .str();
    return;
  }
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place) {
    text += (isNote ? kind : "").str() + message;
    return;
  }
  const llvm::StringRef file = place.getFilename().getValue();
  text += (file + ":" + llvm::Twine(place.getLine()) + ":" + llvm::Twine(place.getColumn()) + ": " +
           kind + message)
              .str();
  if (file == llvm::StringRef(source.path)) {
    text += showLine(source.text, place.getLine(), place.getColumn());
  }
}

Status DiagnosticText::status(std::string_view fallback) const {
  return HEDDLE_ERROR(InvalidArgument, text.empty() ? std::string(fallback) : text);
}

} // namespace heddle
