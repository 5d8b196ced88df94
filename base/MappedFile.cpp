// SPDX-License-Identifier: Apache-2.0
///
/// Maps files.
#include "base/MappedFile.h"

#include "base/FileDescriptor.h"

#include <cerrno>
#include <cstdint>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

Result<MappedFile> MappedFile::open(const std::string &path) {
  // The mapping outlives the descriptor.
  HEDDLE_ASSIGN(const FileDescriptor descriptor, FileDescriptor::open(path));
  return ofDescriptor(descriptor.number(), path);
}

Result<MappedFile> MappedFile::ofDescriptor(int number, const std::string &path) {
  struct stat information;
  if (::fstat(number, &information) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("{}: cannot examine: {}", path,
                                                 std::generic_category().message(errno)));
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
    return HEDDLE_ERROR(InputOutput, fmt::format("{}: cannot map {} bytes: {}", path, size,
                                                 std::generic_category().message(errno)));
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
  // Rounded outwards: neighbours on the same page are read again from the page cache.
  const auto pageSize = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<uintptr_t>(part.data()) % pageSize;
  auto *const begin = const_cast<std::byte *>(part.data()) - before;
  ::madvise(begin, before + part.size(), MADV_DONTNEED);
}

} // namespace heddle
