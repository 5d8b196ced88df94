// SPDX-License-Identifier: Apache-2.0
///
/// Reserved ranges.
#include "runtime/Cache/AddressSpace.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>
#include <system_error>
#include <utility>

namespace heddle {

Result<AddressSpace> AddressSpace::reserve(uint64_t bytes, std::string_view what, Filling filling) {
  AddressSpace space;
  if (bytes == 0) {
    return space;
  }
  void *const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("{} bytes of addresses for {}: {}", bytes, what,
                                    std::generic_category().message(errno)));
  }
  if (filling == Filling::Dense) {
    // A hint: without large pages all is the same, slower.
    ::madvise(start, bytes, MADV_HUGEPAGE);
  }
  space.start = static_cast<std::byte *>(start);
  space.bytes = bytes;
  return space;
}

AddressSpace::AddressSpace(AddressSpace &&other) noexcept
    : start(std::exchange(other.start, nullptr)), bytes(std::exchange(other.bytes, 0)) {}

AddressSpace &AddressSpace::operator=(AddressSpace &&other) noexcept {
  std::swap(start, other.start);
  std::swap(bytes, other.bytes);
  return *this;
}

AddressSpace::~AddressSpace() {
  if (start != nullptr) {
    ::munmap(start, bytes);
  }
}

} // namespace heddle
