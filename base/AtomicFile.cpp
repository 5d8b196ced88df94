// SPDX-License-Identifier: Apache-2.0
///
/// Writes to a temporary file, then renames it.
#include "base/AtomicFile.h"

#include "base/PartialNames.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

/// Returns the system's message for an error number.
static std::string reason(int error) { return std::generic_category().message(error); }

static Status cannot(const char *action, const std::string &path, int error) {
  return HEDDLE_ERROR(InputOutput, fmt::format("{}: cannot {}: {}", path, action, reason(error)));
}

/// Returns `path` with symbolic links resolved, or `path` itself if nothing exists there yet.
static std::string resolve(const std::string &path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

/// The number of partial files that keepPartial() numbers for one name.
static constexpr unsigned mostKept = 99;

/// Returns a name next to `target` that no other thread or process uses.
static std::string partialName(const std::string &target) {
  static std::atomic<unsigned> counter = 0;
  return fmt::format("{}.partial-{}-{}", target, ::getpid(), counter.fetch_add(1));
}

/// Lets those use a new file who may use the one that it replaces, and nobody else. What the new
/// one should be executable for is that for all who may read it.
static void takeAccess(int descriptor, const struct stat &replaced, unsigned permissions) {
  mode_t mode = replaced.st_mode & 0777U;
  if ((permissions & 0111U) != 0) {
    mode |= (mode & 0444U) >> 2U;
  }
  struct stat own;
  const bool isKnown = ::fstat(descriptor, &own) == 0;
  if (!isKnown ||
      (own.st_gid != replaced.st_gid && ::fchown(descriptor, -1, replaced.st_gid) != 0)) {
    // The writer's group is not the one that was meant.
    mode &= ~mode_t(0070);
  }
  // Only root gives files away: others stay the owners of what they write.
  [[maybe_unused]] const bool isGiven =
      isKnown && own.st_uid != replaced.st_uid && ::fchown(descriptor, replaced.st_uid, -1) == 0;
  // File systems without modes refuse, and keep nobody out anyway.
  ::fchmod(descriptor, mode);
}

// --- The file ------------------------------------------------------------------------------------

Result<AtomicFile> AtomicFile::open(const std::string &path, unsigned permissions) {
  if (path.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the path of a file to write is empty");
  }
  struct stat information;
  const bool isThere = ::stat(path.c_str(), &information) == 0;
  if (isThere) {
    if (S_ISDIR(information.st_mode)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: is a directory, expected a file to write", path));
    }
    if (!S_ISREG(information.st_mode)) {
      const int device = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (device < 0) {
        return cannot("create", path, errno);
      }
      return AtomicFile(path, path, "", device);
    }
  }
  const std::string target = resolve(path);
  while (true) {
    std::string partial = partialName(target);
    char *const listed = enlist(partial);
    const int descriptor =
        ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (descriptor >= 0) {
      AtomicFile file(path, target, std::move(partial), descriptor);
      file.listed = listed;
      if (isThere) {
        takeAccess(descriptor, information, permissions);
      }
      return file;
    }
    const int error = errno;
    delist(listed);
    // A killed process with the same number left this file: try the next name.
    if (error != EEXIST) {
      return cannot("create", path, error);
    }
  }
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : name(std::move(other.name)), target(std::move(other.target)),
      partial(std::exchange(other.partial, {})), listed(std::exchange(other.listed, nullptr)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  if (this != &other) {
    discard();
    name = std::move(other.name);
    target = std::move(other.target);
    partial = std::exchange(other.partial, {});
    listed = std::exchange(other.listed, nullptr);
    descriptor = std::exchange(other.descriptor, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor >= 0) {
    ::close(std::exchange(descriptor, -1));
  }
  if (!partial.empty()) {
    ::unlink(partial.c_str());
    partial.clear();
  }
  delist(std::exchange(listed, nullptr));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor < 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: written to after it was closed", name));
  }
  while (!bytes.empty()) {
    // Linux writes at most 2 GiB at once, and less after a signal or on a nearly full disk.
    const size_t request = std::min<size_t>(bytes.size(), size_t(1) << 30);
    const ssize_t written = ::write(descriptor, bytes.data(), request);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      const int error = errno;
      brokenPipe = error == EPIPE;
      return cannot("write", name, error);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::overwrite(size_t offset, std::span<const std::byte> bytes) {
  if (descriptor < 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: written to after it was closed", name));
  }
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return cannot("write", name, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<size_t>(written);
  }
  return {};
}

Status AtomicFile::close() {
  // Some file systems report a full disk or quota only on close.
  if (::close(std::exchange(descriptor, -1)) != 0) {
    const int error = errno;
    discard();
    return cannot("close", name, error);
  }
  return {};
}

Status AtomicFile::commit() {
  if (descriptor < 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: committed after it was closed", name));
  }
  HEDDLE_TRY(close());
  if (partial.empty()) {
    return {};
  }
  if (std::rename(partial.c_str(), target.c_str()) != 0) {
    const int error = errno;
    discard();
    return cannot("rename the finished file to its name", name, error);
  }
  partial.clear();
  delist(std::exchange(listed, nullptr));
  return {};
}

Result<std::string> AtomicFile::keepPartial() {
  if (descriptor < 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: kept after it was closed", name));
  }
  HEDDLE_TRY(close());
  if (partial.empty()) {
    return std::string();
  }
  // Never replace a file kept by an earlier run. If no name is free, keep the temporary one.
  std::string kept = partial;
  for (unsigned number = 1; number <= mostKept; ++number) {
    const std::string next = number == 1 ? fmt::format("{}.partial", target)
                                         : fmt::format("{}.partial-{}", target, number);
    if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, next.c_str(), RENAME_NOREPLACE) == 0) {
      kept = next;
      break;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  partial.clear();
  delist(std::exchange(listed, nullptr));
  return kept;
}

} // namespace heddle
