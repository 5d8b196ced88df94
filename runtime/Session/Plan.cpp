// SPDX-License-Identifier: Apache-2.0
///
/// Makes plans: finds the dispatches that are needed and assigns every buffer a place.
#include "runtime/Session/Plan.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>

namespace heddle {
using manifest::Location;

/// Returns which dispatches contribute to the buffers marked in `needed`, which is extended by all
/// that they read. A buffer may be written in parts: all its writers count. All dispatches of a
/// loop count if one does: a step may read the results of any of them from the previous step.
static std::vector<bool> liveDispatches(const manifest::Entry &entry, std::vector<bool> &needed) {
  std::vector<bool> live(entry.dispatches()->size(), false);
  uint32_t loops = entry.loops() == nullptr ? 0 : entry.loops()->size();
  for (auto end = static_cast<uint32_t>(live.size()); end > 0;) {
    const manifest::Loop *const loop = loops > 0 ? entry.loops()->Get(loops - 1) : nullptr;
    const bool isLoop = loop != nullptr && loop->first() + loop->count() == end;
    loops -= isLoop ? 1 : 0;
    const uint32_t begin = isLoop ? loop->first() : end - 1;
    bool isLive = false;
    for (uint32_t i = begin; i < end; ++i) {
      const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
      for (uint32_t each = 0; each < dispatch.written(); ++each) {
        isLive = isLive || needed[dispatch.operands()->Get(each)->buffer()];
      }
    }
    for (uint32_t i = 0; isLoop && isLive && i < loop->earlier()->size(); ++i) {
      if (const uint32_t initial = loop->earlier()->Get(i)->initial()) {
        needed[initial - 1] = true;
      }
    }
    for (uint32_t i = begin; isLive && i < end; ++i) {
      const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
      live[i] = true;
      for (uint32_t each = dispatch.written(); each < dispatch.operands()->size(); ++each) {
        needed[dispatch.operands()->Get(each)->buffer()] = true;
      }
    }
    end = begin;
  }
  return live;
}

Range PlannedDispatch::columnsOver(Range elements) const {
  const int64_t columnsOfGroup = (groupElements + columnElements - 1) / columnElements;
  const auto columnOf = [&](int64_t element) {
    return element / groupElements * columnsOfGroup + element % groupElements / columnElements;
  };
  return {columnOf(elements.begin), columnOf(elements.end - 1) + 1};
}

Range PlannedDispatch::elementsOf(Range columns) const {
  const int64_t columnsOfGroup = (groupElements + columnElements - 1) / columnElements;
  const auto begin = [&](int64_t column) {
    return column / columnsOfGroup * groupElements + column % columnsOfGroup * columnElements;
  };
  const int64_t last = columns.end - 1;
  const int64_t groupEnd = (last / columnsOfGroup + 1) * groupElements;
  return {begin(columns.begin), std::min(begin(last) + columnElements, groupEnd)};
}

TokenFlops flopsOf(const manifest::Dispatch &dispatch, std::span<const RowSpace> spaces) {
  const RowSpace rows = spaces[dispatch.counted_rows()], keys = spaces[dispatch.counted_keys()];
  return {rows.perToken(dispatch.flops_per_row()),
          keys.perToken(rows.perToken(dispatch.flops_per_row_key()))};
}

RowPairs countRows(const SequenceSizes &sequences, RowSpace rows, RowSpace keys, double mostKeys) {
  RowPairs counted;
  for (size_t i = 0; i < sequences.lengths.size(); ++i) {
    const auto own = static_cast<double>(sequences.rowsIn(rows, i));
    counted.rows += own;
    const auto seen = static_cast<double>(sequences.rowsIn(keys, i));
    counted.pairs += own * (mostKeys > 0 ? std::min(seen, mostKeys) : seen);
  }
  return counted;
}

static void addScratch(Plan &plan, const Artifact &artifact, uint32_t kernel) {
  const manifest::Kernel &used = *artifact.manifest().kernels()->Get(kernel);
  const auto *const launches = used.launches();
  if (launches != nullptr && launches->Get(artifact.isaNumber())->shared() > 0) {
    // Its callers work together, in shared memory: scratch is for other targets.
    return;
  }
  plan.scratch = std::max(plan.scratch, used.scratch());
  plan.scratchPerLongest = std::max(plan.scratchPerLongest, used.scratch_per_longest());
}

static void addDispatch(Plan &plan, const Artifact &artifact, const manifest::Entry &entry,
                        uint32_t index) {
  const manifest::Dispatch &dispatch = *entry.dispatches()->Get(index);
  PlannedDispatch planned{};
  planned.index = index;
  const DeviceProgram &program = *artifact.program();
  planned.kernel = &program.kernel(dispatch.kernel());
  const int32_t finish = dispatch.finish_kernel();
  planned.finish = finish < 0 ? nullptr : &program.kernel(static_cast<uint32_t>(finish));
  planned.rows = dispatch.grid()->rows();
  const manifest::TargetColumns &columns = *dispatch.grid()->columns()->Get(artifact.isaNumber());
  planned.rowTile = columns.row_tile();
  planned.columns = static_cast<int64_t>(columns.count());
  planned.columnElements = static_cast<int64_t>(columns.elements());
  planned.groupElements = static_cast<int64_t>(dispatch.grid()->group_elements());
  planned.firstOperand = static_cast<uint32_t>(plan.operands.size());
  planned.operandCount = dispatch.operands()->size();
  planned.firstSpace = static_cast<uint32_t>(plan.spacesNamed.size());
  for (uint32_t i = 0; dispatch.spaces() != nullptr && i < dispatch.spaces()->size(); ++i) {
    plan.spacesNamed.push_back(dispatch.spaces()->Get(i));
    plan.spacesUsed[dispatch.spaces()->Get(i)] = true;
  }
  planned.written = dispatch.written();
  for (uint32_t i = 0; i < dispatch.written(); ++i) {
    const manifest::Buffer &result = *entry.buffers()->Get(dispatch.operands()->Get(i)->buffer());
    if (result.location() != Location::Cache && result.location() != Location::State) {
      plan.results.push_back({planned.firstOperand + i, RowElements::of(result)});
    }
  }
  planned.countedRows = dispatch.counted_rows();
  planned.countedKeys = dispatch.counted_keys();
  planned.flopsPerRow = static_cast<double>(dispatch.flops_per_row());
  planned.flopsPerRowKey = static_cast<double>(dispatch.flops_per_row_key());
  planned.mostKeys = static_cast<double>(dispatch.most_keys());
  planned.weightBytes = static_cast<double>(columns.weight_bytes());
  planned.weightBytesPerRow = static_cast<double>(dispatch.weight_bytes_per_row());
  planned.chosenGroups = dispatch.chosen_groups();
  planned.chosenBy = dispatch.chosen_by();
  planned.rowByRow = dispatch.row_by_row();
  for (const manifest::Operand *const operand : *dispatch.operands()) {
    plan.operands.push_back({operand->buffer(), operand->byte_offset()});
  }
  const TokenFlops flops = flopsOf(dispatch, plan.spaces);
  plan.flopsPerToken += static_cast<double>(flops.perToken);
  if (planned.mostKeys == 0) {
    plan.flopsPerTokenKey += static_cast<double>(flops.perTokenKey);
  } else {
    plan.bounded.push_back({planned.mostKeys, static_cast<double>(flops.perTokenKey)});
  }
  addScratch(plan, artifact, dispatch.kernel());
  if (finish >= 0) {
    addScratch(plan, artifact, static_cast<uint32_t>(finish));
  }
  plan.dispatches.push_back(planned);
}

double Plan::boundedFlops(int64_t longest) const {
  double flops = 0;
  for (const BoundedKeys &each : bounded) {
    flops += each.flopsPerTokenKey * std::min(each.keys, static_cast<double>(longest));
  }
  return flops;
}

static BufferPlace placeOf(const manifest::Buffer &buffer, const manifest::Entry &entry,
                           const Artifact &artifact) {
  BufferPlace place;
  place.port = buffer.index();
  switch (buffer.location()) {
  case Location::Input:
    place.kind = BufferPlace::Kind::Input;
    break;
  case Location::Output:
    place.kind = BufferPlace::Kind::Output;
    break;
  case Location::Arena:
    place.kind = BufferPlace::Kind::Memory;
    place.offset = SymbolicSize::of(buffer.offset());
    break;
  case Location::Parameter:
    place.kind = BufferPlace::Kind::Weights;
    place.address = artifact.program()->parameter(buffer.parameters()->Get(artifact.isaNumber()));
    break;
  case Location::Cache:
    place.kind = BufferPlace::Kind::Cache;
    place.positionBytes = static_cast<double>(bufferSize(buffer)->constant);
    break;
  case Location::State:
    place.kind = BufferPlace::Kind::State;
    place.port += entry.caches() == nullptr ? 0 : entry.caches()->size();
    place.positionBytes = static_cast<double>(bufferSize(buffer)->constant);
    break;
  }
  return place;
}

/// Adds the loops with dispatches in the plan; `places` are the dispatches' indices in it.
static void addLoops(Plan &plan, const manifest::Entry &entry, const std::vector<bool> &live,
                     const std::vector<uint32_t> &places) {
  uint32_t group = 0;
  for (uint32_t i = 0; entry.loops() != nullptr && i < entry.loops()->size(); ++i) {
    const manifest::Loop &loop = *entry.loops()->Get(i);
    group = loop.beside() ? group : i;
    if (!live[loop.first()]) {
      continue;
    }
    PlannedLoop planned{places[loop.first()], loop.count(), 0, 0, loop.rows(), group, {}, {}};
    for (uint32_t each = loop.first(); each < loop.first() + loop.count(); ++each) {
      const manifest::Dispatch &dispatch = *entry.dispatches()->Get(each);
      const TokenFlops flops = flopsOf(dispatch, plan.spaces);
      const uint64_t keys = dispatch.most_keys();
      planned.flops.perToken += flops.perToken + keys * flops.perTokenKey;
      planned.flops.perTokenKey += keys == 0 ? flops.perTokenKey : 0;
    }
    const PlannedDispatch &last = plan.dispatches[planned.first + planned.count - 1];
    planned.firstOperand = plan.dispatches[planned.first].firstOperand;
    planned.operandCount = last.firstOperand + last.operandCount - planned.firstOperand;
    for (const manifest::EarlierOperand *const earlier : *loop.earlier()) {
      const uint32_t operand =
          plan.dispatches[places[earlier->dispatch()]].firstOperand + earlier->operand();
      const manifest::Buffer &carried = *entry.buffers()->Get(plan.operands[operand].buffer);
      planned.earlier.push_back({operand, earlier->initial(), infoOf(elementOf(carried)).bytes(),
                                 RowElements::of(carried)});
      if (earlier->initial() == 0) {
        plan.earlierBytes = std::max(plan.earlierBytes, *rowBytes(carried));
      }
    }
    plan.loops.push_back(std::move(planned));
  }
}

uint64_t Plan::launches(int64_t longest) const {
  uint64_t count = dispatches.size();
  for (const PlannedLoop &loop : loops) {
    count += loop.count * static_cast<uint64_t>(longest - 1);
  }
  return count;
}

std::span<const PlannedLoop> Plan::loopsBeside(size_t loop) const {
  size_t end = loop + 1;
  while (end < loops.size() && loops[end].group == loops[loop].group) {
    ++end;
  }
  return std::span(loops).subspan(loop, end - loop);
}

/// Assigns every computed output a place after the arena.
static void placeOutputs(Plan &plan, const manifest::Entry &entry, const PlanRequest &request,
                         const std::vector<bool> &read) {
  plan.outputs.resize(entry.outputs()->size());
  for (uint32_t i = 0; i < entry.outputs()->size(); ++i) {
    const uint32_t index = entry.outputs()->Get(i)->buffer();
    const manifest::Buffer &buffer = *entry.buffers()->Get(index);
    PlannedOutput &output = plan.outputs[i];
    output.requested = request.outputs[i];
    output.buffer = index;
    output.readBack = read[index];
    output.live = plan.buffers[index].kind != BufferPlace::Kind::Unused;
    output.rows = buffer.shape()->Get(0)->space();
    output.rowBytes = rowBytes(buffer).value_or(0);
    if (output.rowBytes == 0) {
      output.heads = buffer.shape()->Get(1)->constant();
    }
    if (output.live) {
      output.offset = plan.memory;
      plan.memory = plan.memory + bufferSize(buffer)->symbolic.alignedUp(HEDDLE_ALIGNMENT);
    }
  }
}

/// Returns whether a dispatch computes rows of tokens as its only result, which is this buffer.
static bool givesOnly(const Plan &plan, const PlannedDispatch &dispatch, uint32_t buffer) {
  const PlannedOperand &result = plan.operands[dispatch.firstOperand];
  return dispatch.written == 1 && result.buffer == buffer && result.byteOffset == 0 &&
         dispatch.finish == nullptr && dispatch.rows == tokensSpace;
}

/// Returns whether a dispatch reads whole buffers, these, row by row.
static bool readsOnly(const Plan &plan, const PlannedDispatch &dispatch,
                      std::initializer_list<uint32_t> buffers) {
  const auto first = plan.operands.begin() + dispatch.firstOperand;
  return dispatch.rowByRow &&
         std::equal(first + dispatch.written, first + dispatch.operandCount, buffers.begin(),
                    buffers.end(), [](const PlannedOperand &operand, uint32_t buffer) {
                      return operand.buffer == buffer && operand.byteOffset == 0;
                    });
}

/// Removes the last two dispatches from the plan if they are those that PlanRequest::selection
/// allows. Sets Plan::selection, and whether any other dispatch reads the logits.
static void takeSelection(Plan &plan, const manifest::Entry &entry, const PlanRequest &request,
                          std::vector<bool> &read) {
  if (request.selection < 0 || request.deferred < 0 || plan.dispatches.size() < 2) {
    return;
  }
  const auto bufferOf = [&](int32_t output) {
    return entry.outputs()->Get(static_cast<uint32_t>(output))->buffer();
  };
  const uint32_t logits = bufferOf(request.deferred);
  const PlannedDispatch &best = plan.dispatches.back();
  const PlannedDispatch &before = plan.dispatches[plan.dispatches.size() - 2];
  const uint32_t peaks = plan.operands[before.firstOperand].buffer;
  if (!givesOnly(plan, best, bufferOf(request.selection)) ||
      !readsOnly(plan, best, {logits, peaks}) || !givesOnly(plan, before, peaks) ||
      !readsOnly(plan, before, {logits}) || plan.buffers[peaks].kind != BufferPlace::Kind::Memory) {
    return;
  }
  plan.selection = PlannedSelection{before, best};
  plan.dispatches.resize(plan.dispatches.size() - 2);
  plan.buffers[bufferOf(request.selection)] = {};
  read[logits] = std::any_of(
      plan.dispatches.begin(), plan.dispatches.end(), [&](const PlannedDispatch &dispatch) {
        const auto first = plan.operands.begin() + dispatch.firstOperand;
        return std::any_of(first + dispatch.written, first + dispatch.operandCount,
                           [&](const PlannedOperand &each) { return each.buffer == logits; });
      });
}

/// Removes the last dispatch from the plan if it is the one that PlanRequest::deferred allows.
static void deferLast(Plan &plan, const manifest::Entry &entry, const PlanRequest &request,
                      const std::vector<bool> &read) {
  if (request.deferred < 0 || plan.dispatches.empty()) {
    return;
  }
  const uint32_t buffer = entry.outputs()->Get(static_cast<uint32_t>(request.deferred))->buffer();
  const PlannedDispatch &last = plan.dispatches.back();
  const auto writes = [&](const PlannedDispatch &dispatch) {
    const auto first = plan.operands.begin() + dispatch.firstOperand;
    return std::any_of(first, first + dispatch.written,
                       [&](const PlannedOperand &operand) { return operand.buffer == buffer; });
  };
  if (!givesOnly(plan, last, buffer) || read[buffer] ||
      std::count_if(plan.dispatches.begin(), plan.dispatches.end(), writes) != 1) {
    return;
  }
  plan.deferred = last;
  plan.dispatches.pop_back();
  plan.buffers[buffer] = {};
}

/// Computes Plan::firstForDeferred: the index after the last dispatch whose rows depend on each
/// other or whose results are read later, such as the keys of the last layer.
static size_t findFirstForDeferred(const Plan &plan) {
  const auto serves = [&](const PlannedDispatch &dispatch) {
    const auto first = plan.operands.begin() + dispatch.firstOperand;
    return dispatch.rowByRow && dispatch.rows == tokensSpace &&
           std::all_of(first, first + dispatch.written, [&](const PlannedOperand &operand) {
             return plan.buffers[operand.buffer].kind == BufferPlace::Kind::Memory;
           });
  };
  size_t first = plan.dispatches.size();
  const size_t end = plan.loops.empty() ? 0 : plan.loops.back().first + plan.loops.back().count;
  const bool canServe = plan.deferred && plan.deferred->rowByRow;
  while (canServe && first > end && serves(plan.dispatches[first - 1])) {
    --first;
  }
  return first;
}

/// Returns which buffers the caller requests.
static std::vector<bool> buffersAskedFor(const manifest::Entry &entry, const PlanRequest &request) {
  std::vector<bool> needed(entry.buffers()->size(), false);
  for (uint32_t i = 0; i < entry.outputs()->size(); ++i) {
    if (request.outputs[i]) {
      needed[entry.outputs()->Get(i)->buffer()] = true;
    }
  }
  const auto addWritten = [&](const auto *ports) {
    for (uint32_t i = 0; request.caches && ports != nullptr && i < ports->size(); ++i) {
      if (ports->Get(i)->written()) {
        needed[ports->Get(i)->buffer()] = true;
      }
    }
  };
  addWritten(entry.caches());
  addWritten(entry.states());
  return needed;
}

std::vector<bool> dispatchesFor(const manifest::Entry &entry, const PlanRequest &request) {
  std::vector<bool> needed = buffersAskedFor(entry, request);
  return liveDispatches(entry, needed);
}

SymbolicSize arenaOf(const manifest::Entry &entry, const std::vector<bool> &live) {
  SymbolicSize used;
  for (uint32_t i = 0; i < entry.dispatches()->size(); ++i) {
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    for (uint32_t each = 0; live[i] && each < dispatch.written(); ++each) {
      const manifest::Buffer &buffer =
          *entry.buffers()->Get(dispatch.operands()->Get(each)->buffer());
      if (buffer.location() != Location::Arena) {
        continue;
      }
      // The manifest was checked: the sum is within the entry's arena.
      used = used.larger(SymbolicSize::of(buffer.offset()) + bufferSize(buffer)->symbolic);
    }
  }
  // Outputs follow, and kernels of GPUs rely on the alignment of every buffer in working memory.
  return used.alignedUp(HEDDLE_ALIGNMENT);
}

static bool followsLongest(const SymbolicSize &size) {
  return std::any_of(size.terms().begin(), size.terms().end(),
                     [](const SymbolicSize::Term &term) { return term.keys != 0; });
}

/// Computes Plan::placesFollowLongest.
static bool placesFollowLongest(const Plan &plan) {
  const auto has = [](const auto &list, const auto &follows) {
    return std::any_of(list.begin(), list.end(), follows);
  };
  // Everything after the memory depends on its size.
  return followsLongest(plan.memory) ||
         has(plan.buffers, [](const BufferPlace &each) { return followsLongest(each.offset); }) ||
         has(plan.outputs, [](const PlannedOutput &each) { return followsLongest(each.offset); }) ||
         has(plan.results, [](const PlannedResult &each) { return !!each.rowElements.keys; });
}

Plan Plan::make(const Artifact &artifact, const manifest::Entry &entry,
                const PlanRequest &request) {
  static std::atomic<uint64_t> plans = 0;
  Plan plan;
  plan.number = ++plans;
  const std::vector<bool> live = dispatchesFor(entry, request);
  std::vector<bool> read(entry.buffers()->size(), false);
  plan.buffers.resize(entry.buffers()->size());
  plan.inputs.resize(entry.inputs()->size());
  plan.spaces = spacesOf(entry);
  plan.hasWidths = std::any_of(plan.spaces.begin(), plan.spaces.end(),
                               [](RowSpace space) { return space.hasWidths(); });
  plan.spacesUsed.resize(plan.spaces.size(), false);
  std::vector<uint32_t> places(entry.dispatches()->size(), 0);
  // Caches need the space of tokens.
  plan.spacesUsed[tokensSpace] = true;
  for (uint32_t i = 0; i < entry.dispatches()->size(); ++i) {
    if (!live[i]) {
      continue;
    }
    const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
    places[i] = static_cast<uint32_t>(plan.dispatches.size());
    addDispatch(plan, artifact, entry, i);
    for (uint32_t each = 0; each < dispatch.operands()->size(); ++each) {
      const uint32_t index = dispatch.operands()->Get(each)->buffer();
      plan.buffers[index] = placeOf(*entry.buffers()->Get(index), entry, artifact);
      read[index] = read[index] || each >= dispatch.written();
      if (plan.buffers[index].kind == BufferPlace::Kind::Input) {
        plan.inputs[plan.buffers[index].port] = {true, *rowBytes(*entry.buffers()->Get(index))};
      }
      plan.usesCaches = plan.usesCaches || plan.buffers[index].kind == BufferPlace::Kind::Cache ||
                        plan.buffers[index].kind == BufferPlace::Kind::State;
    }
  }
  addLoops(plan, entry, live, places);
  // Results that are not requested may account for most of the arena.
  plan.memory = arenaOf(entry, live);
  takeSelection(plan, entry, request, read);
  deferLast(plan, entry, request, read);
  if (!plan.deferred) {
    plan.selection.reset();
  }
  plan.firstForDeferred = findFirstForDeferred(plan);
  placeOutputs(plan, entry, request, read);
  plan.memoryWithInputs = plan.memory;
  for (const PlannedInput &input : plan.inputs) {
    const SymbolicSize rows({tokensSpace, 0, input.rowBytes});
    plan.memoryWithInputs = plan.memoryWithInputs + rows;
  }
  plan.placesFollowLongest = heddle::placesFollowLongest(plan);
  return plan;
}

} // namespace heddle
