// SPDX-License-Identifier: Apache-2.0
///
/// An output file that is complete or absent. It is written under a temporary name and renamed by
/// commit(). Until then, an existing file of that name is untouched. A program whose signal handler
/// calls removePartialFiles() leaves no temporary files behind either.
///
/// A device or pipe (/dev/stdout, /dev/null) is written directly: there is no file to preserve, and
/// renaming would replace the device.
#ifndef HEDDLE_BASE_ATOMICFILE_H
#define HEDDLE_BASE_ATOMICFILE_H

#include "heddle/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// A file being written. Move-only; not thread-safe.
class AtomicFile {
public:
  /// Starts a file that commit() renames to `path`. If `path` is a symbolic link, the file it
  /// points to is replaced. A new file has `permissions`, subject to the process's umask; 0777
  /// makes an executable. One that replaces another keeps its permissions, group and, for root,
  /// owner.
  static Result<AtomicFile> open(const std::string &path, unsigned permissions = 0666);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  /// Removes the partial file unless commit() succeeded.
  ~AtomicFile();

  /// Appends all of `bytes`. A full disk is InputOutput, with the system's message.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  /// Replaces bytes that were already written, starting at `offset`, for example a header with the
  /// places of other parts. Fails on a pipe.
  Status overwrite(size_t offset, std::span<const std::byte> bytes);

  /// Closes and renames the file; on failure, removes it. No write() may follow.
  Status commit();

  /// Keeps the output of work that ended early: closes the file, appends ".partial" to its final
  /// name and returns the result. If that name exists, ".partial-2" is tried, and so on; if none is
  /// free, the file keeps its temporary name. A device or pipe is closed, and the result is empty.
  /// No write() may follow.
  Result<std::string> keepPartial();

  /// Returns the path as given to open().
  const std::string &path() const { return name; }

  /// Returns whether a write failed because the reader of this pipe has closed it.
  bool hasLostReader() const { return brokenPipe; }

private:
  AtomicFile(std::string path, std::string target, std::string partial, int descriptor)
      : name(std::move(path)), target(std::move(target)), partial(std::move(partial)),
        descriptor(descriptor) {}
  Status close();
  void discard();

  std::string name;
  // `target` is `name` with symbolic links resolved; `partial` is empty for a device.
  std::string target;
  std::string partial;
  // `partial` in the list of removePartialFiles(), which owns it; null for a device.
  char *listed = nullptr;
  int descriptor = -1;
  bool brokenPipe = false;
};

} // namespace heddle

#endif // HEDDLE_BASE_ATOMICFILE_H
