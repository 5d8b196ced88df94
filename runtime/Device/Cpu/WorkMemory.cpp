// SPDX-License-Identifier: Apache-2.0
///
/// Blocks of memory from the system.
#include "runtime/Device/Cpu/WorkMemory.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>
#include <system_error>
#include <utility>

namespace heddle {

/// A large page; smaller blocks cannot have one.
static constexpr uint64_t largePage = uint64_t(2) << 20;

WorkMemory::WorkMemory(WorkMemory &&other) noexcept
    : block(std::exchange(other.block, nullptr)), blockSize(std::exchange(other.blockSize, 0)) {}

WorkMemory &WorkMemory::operator=(WorkMemory &&other) noexcept {
  std::swap(block, other.block);
  std::swap(blockSize, other.blockSize);
  return *this;
}

WorkMemory::~WorkMemory() {
  if (block != nullptr) {
    ::munmap(block, blockSize);
  }
}

Status WorkMemory::reserve(uint64_t bytes) {
  if (bytes <= blockSize) {
    return {};
  }
  // The old block goes first: its contents are not needed, and both might not fit.
  if (block != nullptr) {
    ::munmap(std::exchange(block, nullptr), std::exchange(blockSize, 0));
  }
  const uint64_t unit = bytes >= largePage ? largePage : uint64_t(64) << 10;
  const uint64_t rounded = (bytes + unit - 1) / unit * unit;
  void *const start =
      ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("the batch needs {} bytes of working memory: {}", bytes,
                                    std::generic_category().message(errno)));
  }
  if (unit == largePage) {
    // A hint that spares the activations most misses of the address translation.
    ::madvise(start, rounded, MADV_HUGEPAGE);
  }
  block = static_cast<std::byte *>(start);
  blockSize = rounded;
  return {};
}

} // namespace heddle
