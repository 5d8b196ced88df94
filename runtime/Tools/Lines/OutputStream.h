// SPDX-License-Identifier: Apache-2.0
///
/// The destination of a command's results: standard output, or a file that appears only once it is
/// complete.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H
#define HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H

#include "base/AtomicFile.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Unbuffered: write large pieces.
class OutputStream {
public:
  /// A file, or standard output for "-".
  static Result<OutputStream> open(const std::string &path);
  /// Standard output.
  static OutputStream standard() { return OutputStream(std::nullopt); }

  /// Whether this is a file.
  bool isFile() const { return file.has_value(); }

  /// Appends all of `bytes`.
  Status write(std::string_view bytes);
  /// Makes the file appear under its name; without this call there is no file.
  Status finish();
  /// Ends a file early: what was written stays beside an existing file of its name. Answers where;
  /// nothing where that is standard output or a device, where nothing was written, or where writing
  /// failed.
  Result<std::optional<std::string>> keep();

private:
  explicit OutputStream(std::optional<AtomicFile> file) : file(std::move(file)) {}

  std::optional<AtomicFile> file;
  bool hasContent = false;
  bool failed = false;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H
