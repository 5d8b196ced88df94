// SPDX-License-Identifier: Apache-2.0
///
/// Where a command's results go: standard output, or a file that appears only when it is whole.
#ifndef HEDDLE_RUNTIME_TOOLS_OUTPUTSTREAM_H
#define HEDDLE_RUNTIME_TOOLS_OUTPUTSTREAM_H

#include "base/AtomicFile.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Unbuffered: hand it large pieces.
class OutputStream {
public:
  /// A file, or standard output for "-".
  static Result<OutputStream> open(const std::string &path);
  /// Standard output.
  static OutputStream standard() { return OutputStream(std::nullopt); }

  /// Whether what is written has a name.
  bool isFile() const { return file.has_value(); }

  /// Appends all of `bytes`.
  Status write(std::string_view bytes);
  /// Makes the file appear under its name. Without it there is none.
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

#endif // HEDDLE_RUNTIME_TOOLS_OUTPUTSTREAM_H
