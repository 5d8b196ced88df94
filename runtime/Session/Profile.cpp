// SPDX-License-Identifier: Apache-2.0
///
/// Adds names to the costs that were counted by number.
#include "runtime/Session/Profile.h"

#include "runtime/Artifact/Artifact.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <functional>

namespace heddle {

CachedWork cachedWork(const CacheRows &cache, std::span<const int32_t> ofSequences,
                      const CacheReading &reading) {
  const auto &[positionBytes, mostKeys, wanted] = reading;
  CachedWork work;
  int64_t end = 0;
  for (int64_t segment = 0; segment < cache.segments; ++segment) {
    const int64_t begin = end;
    end += cache.offsets == nullptr ? ofSequences[static_cast<size_t>(segment)]
                                    : cache.offsets[segment + 1] - cache.offsets[segment];
    const int64_t own = std::min(end, wanted.end) - std::max(begin, wanted.begin);
    if (own <= 0) {
      continue;
    }
    const auto rows = static_cast<double>(own);
    const auto positions = static_cast<double>(cache.lengths[segment]);
    const double seen = mostKeys > 0 ? std::min(positions, mostKeys) : positions;
    // The last row sees one position that the row before it does not see, and so on.
    work.bytes += std::min(positions, seen + rows - 1) * positionBytes;
    work.pairs += rows * seen;
  }
  return work;
}

void countGroups(std::span<const int32_t> chosen, uint32_t groups, std::vector<uint64_t> &rows) {
  rows.assign(groups, 0);
  for (const int32_t group : chosen) {
    if (static_cast<uint32_t>(group) < groups) {
      ++rows[static_cast<uint32_t>(group)];
    }
  }
}

double shareOfGroups(std::span<const uint64_t> rows) {
  const auto idle = std::count(rows.begin(), rows.end(), uint64_t(0));
  return 1 - static_cast<double>(idle) / static_cast<double>(rows.size());
}

void addGroups(std::vector<uint64_t> &sum, std::span<const uint64_t> rows) {
  sum.resize(std::max(sum.size(), rows.size()));
  std::transform(rows.begin(), rows.end(), sum.begin(), sum.begin(), std::plus<>());
}

/// Returns what a device multiplies f32 numbers as.
static Arithmetic productsOf(const manifest::Dispatch &dispatch, const Device &device) {
  switch (device.hasMatrixUnits() ? dispatch.float_products() : manifest::FloatProducts::Exact) {
  case manifest::FloatProducts::Exact:
    return Arithmetic::F32;
  case manifest::FloatProducts::Tf32x3:
    return Arithmetic::Tf32x3;
  case manifest::FloatProducts::Tf32:
    return Arithmetic::Tf32;
  case manifest::FloatProducts::Bf16:
    return Arithmetic::Bf16;
  }
  return Arithmetic::F32;
}

static Arithmetic arithmeticOf(const manifest::Dispatch &dispatch, const Device &device) {
  static_assert(int(manifest::Arithmetic::Integers) == int(Arithmetic::Integers) &&
                int(manifest::Arithmetic::Bf16) == int(Arithmetic::Bf16) &&
                manifest::Arithmetic::MAX == manifest::Arithmetic::Bf16);
  return dispatch.arithmetic() == manifest::Arithmetic::F32
             ? productsOf(dispatch, device)
             : static_cast<Arithmetic>(dispatch.arithmetic());
}

std::vector<DispatchProfile> profileOf(const Artifact &artifact,
                                       std::span<const DispatchCost> costs) {
  const manifest::Manifest &model = artifact.manifest();
  std::vector<DispatchProfile> list;
  size_t next = 0;
  for (const manifest::Entry *const entry : *model.entries()) {
    for (const manifest::Dispatch *const dispatch : *entry->dispatches()) {
      const DispatchCost &cost = costs[next++];
      if (cost.calls != 0) {
        list.push_back({entry->name()->str(), dispatch->name()->str(),
                        model.kernels()->Get(dispatch->kernel())->name()->str(), cost.calls,
                        cost.seconds, cost.work.flops, cost.work.weightBytes, cost.work.cacheBytes,
                        cost.groupRows, arithmeticOf(*dispatch, *artifact.device())});
      }
    }
  }
  return list;
}

std::vector<DispatchRun> traceOf(std::span<const DispatchCost> costs,
                                 std::span<const DispatchSpan> spans) {
  std::vector<size_t> places(costs.size());
  size_t next = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    places[i] = next;
    next += costs[i].calls != 0 ? 1 : 0;
  }
  std::vector<DispatchRun> list;
  list.reserve(spans.size());
  for (const DispatchSpan &span : spans) {
    list.push_back({places[span.index], span.thread, span.start, span.seconds, span.work.flops,
                    span.work.weightBytes, span.work.cacheBytes});
  }
  return list;
}

} // namespace heddle
