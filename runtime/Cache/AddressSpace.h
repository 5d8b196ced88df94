// SPDX-License-Identifier: Apache-2.0
///
/// A range of addresses of which only the pages that are touched cost memory, so that what grows
/// never moves.
#ifndef HEDDLE_RUNTIME_CACHE_ADDRESSSPACE_H
#define HEDDLE_RUNTIME_CACHE_ADDRESSSPACE_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle {

/// What a range is used for: a few bytes here and there, or most of it, from its beginning on. The
/// second is given in large pages where the system has them: walks over it then miss few
/// translations of addresses, and it may cost up to 2 MiB more than is touched.
enum class Filling { Sparse, Dense };

/// A range; move-only.
class AddressSpace {
public:
  AddressSpace() = default;
  /// ResourceExhausted, with `what` it was for, when the system has no such range.
  static Result<AddressSpace> reserve(uint64_t bytes, std::string_view what, Filling filling);
  AddressSpace(AddressSpace &&other) noexcept;
  AddressSpace &operator=(AddressSpace &&other) noexcept;
  ~AddressSpace();

  /// A multiple of 4096; zeros until they are written.
  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }

private:
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_ADDRESSSPACE_H
