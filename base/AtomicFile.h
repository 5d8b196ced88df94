// SPDX-License-Identifier: Apache-2.0
///
/// An output file that is whole or absent: it is written beside its final name and renamed by
/// commit(). Whatever goes wrong before leaves an existing file of that name as it was. A program
/// whose handler of signals calls removePartialFiles() leaves nothing of an unfinished file either.
///
/// A name that is a device or a pipe (/dev/stdout, /dev/null) is written to directly: there is
/// nothing to keep, and renaming would replace the device.
#ifndef HEDDLE_BASE_ATOMICFILE_H
#define HEDDLE_BASE_ATOMICFILE_H

#include "heddle/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// One file being written; move-only, for one thread at a time.
class AtomicFile {
public:
  /// Starts a file that will be `path`. A symbolic link is followed: the file it names is replaced.
  /// `permissions` is subject to the process's umask; 0777 makes an executable.
  static Result<AtomicFile> open(const std::string &path, unsigned permissions = 0666);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  /// Without a successful commit() the partial file is removed.
  ~AtomicFile();

  /// Appends all of `bytes`, or fails (a full disk is InputOutput, with the system's words).
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

  /// Replaces bytes written before, from byte `offset`: a header that says where the rest is. It
  /// fails on a pipe.
  Status overwrite(size_t offset, std::span<const std::byte> bytes);

  /// Closes and renames; on failure the partial file is removed. No write() may follow.
  Status commit();

  /// Closes and gives what is written the name of the finished file and ".partial", for work that
  /// ends early and is worth keeping; answers that name. Where that exists, ".partial-2" is next
  /// and so on; where no such name can be had, the file stays under the one it was written to. A
  /// device or pipe has none: it is closed, and the answer is empty. No write() may follow.
  Result<std::string> keepPartial();

  /// The path as given to open().
  const std::string &path() const { return name; }

  /// Whether a write failed because this is a pipe that nobody reads any more.
  bool hasLostReader() const { return brokenPipe; }

private:
  AtomicFile(std::string path, std::string target, std::string partial, int descriptor)
      : name(std::move(path)), target(std::move(target)), partial(std::move(partial)),
        descriptor(descriptor) {}
  Status close();
  void discard();

  std::string name;
  // `target` is `name` with symbolic links followed; `partial` is empty for a device.
  std::string target;
  std::string partial;
  // `partial` in the list of removePartialFiles(), which owns it; null for a device.
  char *listed = nullptr;
  int descriptor = -1;
  bool brokenPipe = false;
};

/// Removes what unfinished files have on the disk, for a program that ends at once. It may be
/// called from a handler of signals, in any thread; of more than 64 files that are open at a time
/// the others stay.
void removePartialFiles() noexcept;

} // namespace heddle

#endif // HEDDLE_BASE_ATOMICFILE_H
