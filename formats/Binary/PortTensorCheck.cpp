// SPDX-License-Identifier: Apache-2.0
///
/// The tensor of a port in files. Tools rearrange elements by these numbers, so they must form the
/// rows of the port exactly.
#include "formats/Binary/PortTensorCheck.h"

#include "formats/Binary/SymbolicSize.h"
#include "heddle/RectangleEntries.h"

#include <fmt/format.h>
#include <limits>

namespace heddle {

/// The most rows that a tensor may be required to have.
static constexpr uint64_t mostRows = std::numeric_limits<int32_t>::max();

Status checkPortTensor(const manifest::Port &port, bool isInput) {
  int64_t width = 1;
  bool hasKeys = false;
  for (uint32_t i = 1; i < port.shape()->size(); ++i) {
    const uint64_t size = port.shape()->Get(i)->constant();
    hasKeys |= size == 0;
    width *= size == 0 ? 1 : static_cast<int64_t>(size);
  }
  if (!isAligned(port.axes())) {
    return HEDDLE_ERROR(DataLoss, "misaligned axes");
  }
  if (port.axes() != nullptr && port.axes()->size() != 0 &&
      !arePortAxes({port.axes()->data(), port.axes()->size()}, width, hasKeys)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("axes in files that do not form its rows, expected one of rows,"
                                    "{} at most one of sequences, and {} columns",
                                    hasKeys ? " one of keys," : "", width));
  }
  if (port.after() != nullptr && isInput) {
    return HEDDLE_ERROR(DataLoss, "rows of another input before its own, expected that of outputs "
                                  "alone");
  }
  if (port.rows() > (isInput ? mostRows : 0)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} rows in files, expected at most {} of an input and 0 of an "
                                    "output",
                                    port.rows(), mostRows));
  }
  return {};
}

} // namespace heddle
