// SPDX-License-Identifier: Apache-2.0
///
/// Grids and memory follow from a power of two of rows: steps with different numbers of rows then
/// have the same sequence of launches, which is a graph (LaunchGraphs.h).
#include "runtime/Device/Cuda/LaunchShapes.h"

#include <algorithm>
#include <bit>

namespace heddle {

/// The largest memory for partial results of a launch, and for its rounded rows.
static constexpr uint64_t mostPartials = uint64_t(256) << 20, mostRounded = uint64_t(256) << 20;

static int64_t divideUp(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// Blocks take every n-th piece of work, so surplus blocks end at once.
static int64_t bucketOf(int64_t rows) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows)));
}

unsigned blocksOf(const CudaKernel &kernel, const Launch &launch, int64_t columns,
                  uint64_t scratchBytes) {
  const int64_t step = std::max<int64_t>(launch.rowTile, 1);
  const int64_t rows = bucketOf(launch.rows.end - launch.rows.begin);
  const int64_t pieces = divideUp(rows, step) * columns;
  const int64_t threads = kernel.threads;
  if (kernel.isTogether()) {
    return static_cast<unsigned>(std::min<int64_t>(pieces, kernel.mostBlocks));
  }
  int64_t most = std::min<int64_t>((pieces + threads - 1) / threads, kernel.mostBlocks);
  if (launch.scratch != 0) {
    const uint64_t callers = scratchBytes / launch.scratch;
    most = std::min(most, static_cast<int64_t>(callers) / threads);
  }
  return static_cast<unsigned>(most);
}

SectionMemory sectionMemory(const CudaKernel &kernel, const Launch &launch) {
  if (kernel.sectionKeys == 0 || launch.finish != nullptr || launch.columns.begin != 0) {
    return {};
  }
  const int64_t columns = launch.columns.end;
  const int64_t rows = bucketOf(launch.rows.end - launch.rows.begin);
  const int64_t pieces = divideUp(rows, kernel.pieceRows) * divideUp(columns, kernel.pieceColumns);
  if (pieces >= kernel.mostBlocks) {
    return {};
  }
  int64_t longest = 0;
  for (uint32_t i = 0; i < kernel.spaces; ++i) {
    longest = std::max(longest, launch.context->spaces[i]->longest);
  }
  // A power of two, so that a graph is used again while sentences grow.
  const int64_t count = bucketOf(divideUp(longest, kernel.sectionKeys));
  const uint64_t rowBytes = static_cast<uint64_t>(columns * count) * kernel.partialBytes;
  const uint64_t bytes = static_cast<uint64_t>(rows) * rowBytes;
  if (longest <= kernel.sectionKeys || bytes > mostPartials) {
    return {};
  }
  // Partial results are numbered by row, of which the launch has those from its first on.
  return {count, bytes, static_cast<uint64_t>(launch.rows.begin) * rowBytes};
}

uint64_t roundedMemory(const CudaKernel &kernel, const Launch &launch) {
  const int64_t rows = launch.rows.end - launch.rows.begin;
  if (kernel.roundedFrom == 0 || rows < kernel.roundedFrom) {
    return 0;
  }
  constexpr int64_t step = HEDDLE_ROUNDED_ROWS;
  const auto bytesOf = [&](int64_t count) {
    return static_cast<uint64_t>(count + step - 1) / step * step * kernel.roundedBytes;
  };
  // Memory for a power of two of rows, where there may be as much, serves batches of similar sizes.
  return bytesOf(rows) > mostRounded ? 0 : std::min(bytesOf(bucketOf(rows)), mostRounded);
}

} // namespace heddle
