// SPDX-License-Identifier: Apache-2.0
///
/// The destination of a command's results, standard output or a file that appears only once it is
/// complete; and what may end a command early: signals, and a reader that has left.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H
#define HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H

#include "base/AtomicFile.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// From now on the first SIGINT, SIGTERM, SIGHUP or SIGXCPU is only noted; a second one ends the
/// process.
void noteInterruptions();

/// The signal that was noted, or 0.
int interruption();
/// Whether there was one.
inline bool interrupted() { return interruption() != 0; }
/// Takes note of no signal any more: the next one is noted as the first.
void forgetInterruption();
/// Its name, for example "SIGINT".
std::string interruptionName();

/// Notes that nobody reads standard output any more. Other pipes do not count: an error that comes
/// after a lost message is still one.
void noteReaderLeft();
/// Whether that was noted.
bool readerHasLeft();

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
