// SPDX-License-Identifier: Apache-2.0
///
/// Working memory that grows and is kept: after the largest batch has been seen, runs allocate
/// nothing.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_WORKMEMORY_H
#define HEDDLE_RUNTIME_DEVICE_CPU_WORKMEMORY_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>

namespace heddle {

/// One block; move-only.
class WorkMemory {
public:
  WorkMemory() = default;
  WorkMemory(WorkMemory &&other) noexcept;
  WorkMemory &operator=(WorkMemory &&other) noexcept;
  ~WorkMemory();

  /// Makes the block at least `bytes` long; its contents are undefined afterwards.
  /// ResourceExhausted when the system has no more.
  Status reserve(uint64_t bytes);
  /// A multiple of 4096; null before reserve().
  std::byte *data() const { return block; }
  uint64_t size() const { return blockSize; }

private:
  std::byte *block = nullptr;
  uint64_t blockSize = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_WORKMEMORY_H
