// SPDX-License-Identifier: Apache-2.0
///
/// The .npy header: magic, version, length of the description, the description as a Python literal
/// padded with spaces and closed by a line feed.
#include "runtime/Tools/Npy.h"

#include "heddle/ElementType.h"

#include <fmt/format.h>
#include <string_view>

namespace heddle::tools {

std::string npyHeader(int64_t rows, int64_t columns) {
  constexpr std::string_view magic("\x93NUMPY\x01\x00", 8);
  constexpr size_t lengthBytes = 2;
  constexpr size_t alignment = 64;
  std::string description =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  infoOf(ElementType::F32).numpy, rows, columns);
  const size_t used = magic.size() + lengthBytes + description.size() + 1;
  description.append((alignment - used % alignment) % alignment, ' ');
  description += '\n';
  std::string header(magic);
  header += static_cast<char>(description.size() & 0xff);
  header += static_cast<char>(description.size() >> 8);
  return header + description;
}

} // namespace heddle::tools
