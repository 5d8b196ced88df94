// SPDX-License-Identifier: Apache-2.0
///
/// The rows of a trial: the contents of the spaces that a kernel names, for some sequences.
#include "tests/EndToEnd/KernelTrial.h"

#include "runtime/Session/StepOrder.h"

#include <algorithm>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

/// Draws sequences of one row and of many, with earlier positions if the kernel can use them.
void KernelTrial::drawRows() {
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(type);
  bool hasPast = false;
  int64_t most = 400;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    hasPast |= !isa<BufferType>(type.getInput(i));
    if (input.role == KernelInput::Role::Positions) {
      most = std::min(most, kernel.getOperandBuffer(i).getShape().front() - input.offset);
    }
  }
  spaces.emplace_back(RowSpace::tokens(), RunRows());
  for (RowSpace space : namedSpaces(type)) {
    if (space != RowSpace::tokens()) {
      spaces.emplace_back(space, RunRows());
    }
  }
  // Images have whole rows of pixels, of one common width or individual widths.
  int64_t multiple = 1;
  bool hasWidths = false;
  for (const auto &[space, rows] : spaces) {
    multiple = std::max(multiple, space.tokenMultiple());
    hasWidths |= space.hasWidths();
  }
  for (auto [length, width] : {std::pair<int64_t, int64_t>(1, 1), {17, 1}, {4, 5}, {2, 3}}) {
    width = hasWidths && length * width * multiple <= most ? width : 1;
    length = std::min(length * multiple, std::max(most, multiple) / multiple * multiple) * width;
    auto past = hasPast ? static_cast<int64_t>(random() % 40) * (random() % 3 == 0 ? 0 : 1) : 0;
    past = std::min(past, most - length);
    lengths.push_back(static_cast<int32_t>(length));
    starts.push_back(static_cast<int32_t>(past));
    for (auto &[space, rows] : spaces) {
      const int64_t first = space == RowSpace::tokens() || space.unit() == 0 ? past : 0;
      const int64_t count = space.rowsOf(length, width);
      rows.widths.push_back(static_cast<int32_t>(space.rowPixels(width)));
      for (int64_t row = 0; row < count; ++row) {
        rows.sequenceOf.push_back(static_cast<int32_t>(rows.sequences()));
        rows.positions.push_back(static_cast<int32_t>(first + row));
      }
      rows.offsets.push_back(static_cast<int32_t>(rows.count()));
      rows.longest = std::max(rows.longest, space == RowSpace::tokens() ? first + count : count);
    }
  }
  ranks.resize(lengths.size());
  StepOrder order;
  order.arrange(lengths);
  for (auto &[space, rows] : spaces) {
    if (space.isOrdered()) {
      rows.offsets.resize(static_cast<size_t>(rows.longest) + 1);
    }
    views.push_back({rows.count(), rows.longest, rows.offsets.data(), rows.sequenceOf.data(),
                     rows.positions.data(), ranks.data(), lengths.data(), rows.widths.data()});
    if (space.isOrdered()) {
      order.write(lengths, starts, space, views.back());
    }
  }
}

int64_t KernelTrial::extent(int64_t dimension) const {
  std::optional<RowDimension> rows = RowDimension::of(dimension);
  if (!rows) {
    return dimension;
  }
  return rows->isLongest ? rowsOf(rows->space).longest : rowsOf(rows->space).count();
}

int64_t KernelTrial::rowElements(BufferType type) const {
  if (type.getRowStride() != 0) {
    return type.getRowStride();
  }
  int64_t elements = 1;
  for (int64_t dimension : type.getShape().drop_front()) {
    elements *= extent(dimension);
  }
  return elements;
}

} // namespace heddle
