// SPDX-License-Identifier: Apache-2.0
///
/// Shared by all quantised tensors, whatever the order of their codes.
#include "formats/Checkpoint/QuantizedTensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle {

/// The number of bytes of codes that are examined together.
static constexpr int64_t bytesAtOnce = int64_t{1} << 20;

CodeRows QuantizedTensor::read(int64_t first, int64_t count) const {
  CodeRows result;
  result.codes.resize(static_cast<size_t>(count * ownColumns));
  result.scales.resize(static_cast<size_t>(count * groups()));
  unpackCodes(first, count, result.codes);
  unpackScales(first, count, result.scales);
  if (own.hasZeros()) {
    result.zeros.resize(result.scales.size());
    unpackZeros(first, count, result.zeros);
  }
  if (own.hasMinimums) {
    result.minimums.resize(result.scales.size());
    unpackMinimums(first, count, result.minimums);
  }
  return result;
}

void QuantizedTensor::widen(int64_t first, int64_t count, std::span<float> destination) const {
  const int64_t together = own.group == 0 ? ownColumns : own.group;
  const int64_t atOnce = std::max<int64_t>(bytesAtOnce / ownColumns, 1);
  float *to = destination.data();
  for (int64_t done = 0; done < count; done += atOnce) {
    const CodeRows part = read(first + done, std::min(atOnce, count - done));
    size_t group = 0;
    for (size_t row = 0; row < part.codes.size(); row += static_cast<size_t>(ownColumns)) {
      for (int64_t begin = 0; begin < ownColumns; begin += together, ++group) {
        const int64_t end = std::min(begin + together, ownColumns);
        const int zero = part.zeros.empty() ? 0 : part.zeros[group];
        for (int64_t i = begin; i < end; ++i) {
          const auto code = static_cast<float>(part.codes[row + static_cast<size_t>(i)] - zero);
          *to++ = part.minimums.empty() ? code * part.scales[group]
                                        : std::fma(code, part.scales[group], part.minimums[group]);
        }
      }
    }
  }
}

bool QuantizedTensor::hasLeastCode(int64_t first, int64_t count) const {
  if (own.bits != 8) {
    return false;
  }
  const int64_t atOnce = std::max<int64_t>(bytesAtOnce / ownColumns, 1);
  std::vector<int8_t> codes;
  for (int64_t done = 0; done < count; done += atOnce) {
    const int64_t rows = std::min(atOnce, count - done);
    codes.resize(static_cast<size_t>(rows * ownColumns));
    unpackCodes(first + done, rows, codes);
    if (std::find(codes.begin(), codes.end(), std::numeric_limits<int8_t>::min()) != codes.end()) {
      return true;
    }
  }
  return false;
}

std::string Quantization::text() const {
  std::string result(nameOf(format));
  for (size_t i = 0; i < kinds.size(); ++i) {
    result += i > 0 && i + 1 == kinds.size() ? " and " : ", ";
    result += kinds[i];
  }
  return result;
}

} // namespace heddle
