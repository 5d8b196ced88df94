// SPDX-License-Identifier: Apache-2.0
///
/// The destination of a command's results: standard output, or a file that appears only once it is
/// complete. Also detects what ends a command early: signals, and a closed pipe.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H
#define HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H

#include "base/AtomicFile.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Installs handlers: the first SIGINT, SIGTERM, SIGHUP or SIGXCPU is only recorded; a second one
/// ends the process.
void noteInterruptions();

/// Returns the signal that was recorded, or 0.
int interruption();
/// Returns whether a signal was recorded.
inline bool interrupted() { return interruption() != 0; }
/// Clears the recorded signal: the next one counts as the first.
void forgetInterruption();
/// Returns the name of the signal, for example "SIGINT".
std::string interruptionName();

/// Records that the reader of standard output has closed it. Other pipes do not count: an error
/// after a lost message is still an error.
void noteReaderLeft();
/// Returns whether that was recorded.
bool readerHasLeft();

/// An unbuffered stream: write large pieces.
class OutputStream {
public:
  /// Opens a file, or standard output for "-".
  static Result<OutputStream> open(const std::string &path);
  /// Returns standard output.
  static OutputStream standard() { return OutputStream(std::nullopt); }

  /// Returns whether the destination is a file.
  bool isFile() const { return file.has_value(); }

  /// Appends all of `bytes`.
  Status write(std::string_view bytes);
  /// Renames the file to its final name; without this call there is no file.
  Status finish();
  /// Ends a file early: the data written so far stays in a file with another name. Returns its
  /// path; nullopt for standard output or a device, if nothing was written, or if writing failed.
  Result<std::optional<std::string>> keep();

private:
  explicit OutputStream(std::optional<AtomicFile> file) : file(std::move(file)) {}

  std::optional<AtomicFile> file;
  bool hasContent = false;
  bool failed = false;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_OUTPUTSTREAM_H
