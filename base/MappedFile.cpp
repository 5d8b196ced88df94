// SPDX-License-Identifier: Apache-2.0
///
/// Maps files.
#include "base/MappedFile.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

/// The system's message for an error number.
static std::string reason(int error) { return std::generic_category().message(error); }

/// The mapping outlives the descriptor, so the descriptor is closed on every path.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

Result<MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe nobody writes to must fail below, not hang here.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) {
    const int error = errno;
    const std::string message = fmt::format("{}: cannot open: {}", path, reason(error));
    return error == ENOENT || error == ENOTDIR ? HEDDLE_ERROR(NotFound, message)
                                               : HEDDLE_ERROR(InputOutput, message);
  }
  const Descriptor descriptor{number};
  return ofDescriptor(number, path);
}

Result<MappedFile> MappedFile::ofDescriptor(int number, const std::string &path) {
  struct stat information;
  if (::fstat(number, &information) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("{}: cannot examine: {}", path, reason(errno)));
  }
  if (S_ISDIR(information.st_mode)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: is a directory, expected a file", path));
  }
  if (!S_ISREG(information.st_mode)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: is a device or pipe, expected a regular file", path));
  }
  if (information.st_size == 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: the file is empty", path));
  }
  const auto size = static_cast<size_t>(information.st_size);
  void *const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, number, 0);
  if (start == MAP_FAILED) {
    return HEDDLE_ERROR(InputOutput,
                        fmt::format("{}: cannot map {} bytes: {}", path, size, reason(errno)));
  }
  return MappedFile(path, {static_cast<const std::byte *>(start), size});
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), contents(std::exchange(other.contents, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  // `other` destroys the old mapping.
  std::swap(name, other.name);
  std::swap(contents, other.contents);
  return *this;
}

MappedFile::~MappedFile() {
  if (!contents.empty()) {
    ::munmap(const_cast<std::byte *>(contents.data()), contents.size());
  }
}

void MappedFile::releasePages(std::span<const std::byte> part) const {
  if (part.empty()) {
    return;
  }
  // Rounded outwards: neighbours on the same page read it again from the page cache.
  const auto pageSize = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<uintptr_t>(part.data()) % pageSize;
  auto *const begin = const_cast<std::byte *>(part.data()) - before;
  ::madvise(begin, before + part.size(), MADV_DONTNEED);
}

} // namespace heddle
