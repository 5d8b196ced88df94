// SPDX-License-Identifier: Apache-2.0
///
/// Graphs are made by capturing a stream. During capture, this thread may only issue launches;
/// other threads of the process are not restricted.
#include "runtime/Device/Cuda/LaunchGraphs.h"

#include <algorithm>

namespace heddle {

/// The largest number of sequences: a step has one for each bucket of rows, and some for its
/// results.
static constexpr size_t mostSequences = 64;

void LaunchGraphs::forget(Known &known) {
  if (known.graph != nullptr) {
    owner->giveBack(owner->driver().cuGraphExecDestroy, known.graph);
  }
  known = Known();
}

void LaunchGraphs::clear() {
  for (Known &known : all) {
    forget(known);
  }
  all.clear();
}

LaunchGraphs::Known &LaunchGraphs::know(std::span<const GraphLaunch> sequence) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Known &known) {
    return std::equal(known.sequence.begin(), known.sequence.end(), sequence.begin(),
                      sequence.end());
  });
  Known *known = found == all.end() ? nullptr : &*found;
  if (known == nullptr && all.size() < mostSequences) {
    known = &all.emplace_back();
  } else if (known == nullptr) {
    known = &*std::min_element(all.begin(), all.end(), [](const Known &one, const Known &other) {
      return one.lastUse < other.lastUse;
    });
    forget(*known);
  }
  if (known->sequence.empty()) {
    known->sequence.assign(sequence.begin(), sequence.end());
  }
  known->lastUse = ++uses;
  return *known;
}

Status LaunchGraphs::begin(CudaContext &context, void *stream) {
  owner = &context;
  return context.call(context.driver().cuStreamBeginCapture_v2, stream, cudaCaptureOfThread);
}

Status LaunchGraphs::end(CudaContext &context, void *stream, const Status &told, void *&graph) {
  const Driver &driver = context.driver();
  void *recorded = nullptr;
  Status made = told.ok() ? context.call(driver.cuStreamEndCapture, stream, &recorded) : told;
  if (made.ok()) {
    made = context.call(driver.cuGraphInstantiateWithFlags, &graph, recorded, 0ULL);
  } else {
    // The stream must not be captured any longer.
    context.giveBack(driver.cuStreamEndCapture, stream, &recorded);
  }
  if (recorded != nullptr) {
    context.giveBack(driver.cuGraphDestroy, recorded);
  }
  return made;
}

} // namespace heddle
