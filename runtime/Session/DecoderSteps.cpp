// SPDX-License-Identifier: Apache-2.0
///
/// The beginning and the end of a step. A step may append tokens that the device selects in the
/// step before, which is still under way then: the device copies them to the ids of the step. The
/// host knows everything else about it, since lengths and blocks do not depend on tokens. In beam
/// searches they do: there each row gets an unused block, and the device decides who takes it.
///
/// The device executes steps and copies in order. So blocks that a step still uses may be released
/// and taken by others, which only later steps write to.
#include "runtime/Session/PagedDecoder.h"

#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace heddle {

PagedDecoder::~PagedDecoder() {
  // Before memory is released that the device still uses.
  for (const BegunStep &step : begun) {
    if (step.isRunning) {
      (void)withoutExceptions([&] { return executor->finish(step.run); });
    }
  }
}

bool PagedDecoder::BegunStep::follows() const {
  return std::ranges::any_of(appended, &Appended::follows);
}

PagedDecoder::BegunStep *PagedDecoder::find(StepId id) {
  const auto found = std::ranges::find(begun, id, &BegunStep::id);
  return id == StepId() || found == begun.end() ? nullptr : &*found;
}

/// Returns the hypothesis that was extended; null if it was released.
PagedDecoder::Hypothesis *PagedDecoder::find(const Appended &appended) {
  Hypothesis *const hypothesis = find(appended.hypothesis);
  return hypothesis != nullptr && hypothesis->life == appended.life ? hypothesis : nullptr;
}

Status PagedDecoder::decode(std::span<const Extension> extensions, LogitsSink &sink,
                            const StepOutputs &wanted) {
  HEDDLE_ASSIGN(const StepId step, begin(extensions, sink, wanted));
  return finish(step);
}

Result<StepId> PagedDecoder::begin(std::span<const Extension> extensions, LogitsSink &sink,
                                   AttentionWeights *attention) {
  return begin(extensions, sink, StepOutputs{.attention = attention});
}

Result<StepId> PagedDecoder::begin(std::span<const Extension> extensions, LogitsSink &sink,
                                   const StepOutputs &wanted) {
  return withoutExceptions([&] { return beginUnguarded(extensions, sink, wanted); });
}

// --- Steps that follow the device's tokens -----------------------------------------------------

/// Checks that the step before, null if there is none, selects the tokens that extensions refer to.
Status PagedDecoder::checkFollows(std::span<const Extension> extensions,
                                  const BegunStep *before) const {
  if (!followsTokens || options.profile) {
    return HEDDLE_ERROR(Unsupported, "a step appends tokens that the device selects, expected a "
                                     "device and a model that select them, without a profile");
  }
  if (before == nullptr || before->isDone || !before->status.ok() || before->wantsOutputs()) {
    return HEDDLE_ERROR(InvalidArgument, "a step appends tokens of the step before, expected one "
                                         "under way without outputs beside its logits");
  }
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension &extension = extensions[i];
    if (extension.order != nullptr && (i == 0 || extensions[i - 1].order != extension.order)) {
      HEDDLE_TRY(checkOrder(extensions.subspan(i), *before));
    }
    const bool isRow = extension.bestOf < static_cast<int64_t>(before->tokens.size());
    if (extension.bestOf >= 0 &&
        (!isRow || before->selections.bestToken(extension.bestOf) == nullptr)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("row {} of the step before is referred to, expected one of "
                                      "which the device selects a token",
                                      extension.bestOf));
    }
  }
  return {};
}

/// Checks a search, whose extensions are the first ones.
Status PagedDecoder::checkOrder(std::span<const Extension> extensions,
                                const BegunStep &before) const {
  const BeamOrder &order = *extensions.front().order;
  if (const std::string_view reason = reasonAgainst(order); !reason.empty()) {
    return HEDDLE_ERROR(Unsupported, std::string(reason));
  }
  const auto end =
      std::ranges::find_if(extensions, [&](const Extension &each) { return each.order != &order; });
  const auto hypotheses = static_cast<int64_t>(order.hypotheses.size());
  if (end - extensions.begin() != order.width || hypotheses < 1 || hypotheses > order.width ||
      order.sums.size() != order.hypotheses.size()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("a search has {} hypotheses, {} sums and {} extensions, "
                                    "expected as many sums as hypotheses and {} extensions",
                                    hypotheses, order.sums.size(), end - extensions.begin(),
                                    order.width));
  }
  const Hypothesis *const first = find(order.hypotheses.front());
  const auto isLikeFirst = [&](HypothesisId id) {
    const Hypothesis *const hypothesis = find(id);
    return hypothesis != nullptr && hypothesis->length == first->length;
  };
  if (first == nullptr || !std::ranges::all_of(order.hypotheses, isLikeFirst) ||
      !std::all_of(extensions.begin(), end,
                   [&](const Extension &each) { return isLikeFirst(each.hypothesis); })) {
    return HEDDLE_ERROR(InvalidArgument, "a search has hypotheses of several lengths, expected "
                                         "forks of those that it compares");
  }
  for (int64_t row = order.firstRow; row < order.firstRow + hypotheses; ++row) {
    if (row < 0 || row >= static_cast<int64_t>(before.tokens.size()) ||
        before.selections.pairsOf(row) == nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("a search compares row {} of the step before, expected one "
                                      "of which the device selects tokens",
                                      row));
    }
  }
  return {};
}

/// Describes the searches that the device orders.
Status PagedDecoder::collectOrders(std::span<const Extension> extensions, const BegunStep &before) {
  int64_t row = 0;
  const BeamOrder *last = nullptr;
  for (const Extension &extension : extensions) {
    if (extension.order != nullptr && extension.order != last) {
      orders.add(*extension.order, before.selections, row, find(extension.hypothesis)->length);
      for (const HypothesisId id : extension.order->hypotheses) {
        const Hypothesis &parent = *find(id);
        orders.addParent(parent.table.blocks(), parent.state.block());
      }
    }
    last = extension.order;
    row += extension.count();
  }
  // The row of an extension is that of its id and that of its lists.
  if (!orders.empty() && row != static_cast<int64_t>(extensions.size())) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("a step compares hypotheses and has {} extensions of {} "
                                    "tokens, expected one token each",
                                    extensions.size(), row));
  }
  return orders.reserve(executor->deviceStream());
}

std::string_view PagedDecoder::reasonAgainst(const BeamOrder &search) const {
  if (keepsKeyed()) {
    return "states with keys are copied";
  }
  assert(orders.canOrder() && "images that select tokens have the kernels");
  const auto hypotheses = static_cast<int64_t>(search.hypotheses.size());
  const bool isLarge =
      search.width > mostOrderedHypotheses || hypotheses * search.tokensOfRow() > mostContinuations;
  return isLarge ? "too many hypotheses are compared" : "";
}

/// Settles one extension, which is the first of its parent or not.
void PagedDecoder::settleOne(const SettledExtension &extension, bool isFirst) {
  Hypothesis *const hypothesis = find(extension.hypothesis);
  const Hypothesis *const parent = find(extension.parent);
  assert(hypothesis != nullptr && parent != nullptr);
  if (keepsHistory()) {
    hypothesis->table.follow(history, parent->table, isFirst);
  }
  if (keepsStates() && isFirst) {
    hypothesis->state.follow(states, parent->state);
  }
  BegunStep *const step = find(StepId(hypothesis->step));
  if (step != nullptr && !step->isDone) {
    step->tokens[hypothesis->tokenOfStep] = extension.token;
    hypothesis->place = parent->place;
    hypothesis->rest = parent->rest;
  }
}

/// The first that continues a hypothesis takes the block that others have copied, as the device
/// has done.
void PagedDecoder::settle(std::span<const SettledExtension> extensions) {
  for (size_t i = 0; i < extensions.size(); ++i) {
    const auto before = extensions.first(i);
    settleOne(extensions[i], std::ranges::find(before, extensions[i].parent,
                                               &SettledExtension::parent) == before.end());
  }
}

/// Lists where the tokens are, adjacent ones together.
void PagedDecoder::locateTokens(std::span<const Extension> extensions, const BegunStep &before) {
  uint64_t row = 0;
  for (const Extension &extension : extensions) {
    if (extension.bestOf >= 0) {
      const std::byte *const from = before.selections.bestToken(extension.bestOf);
      IdsOnDevice *const last = idsOnDevice.empty() ? nullptr : &idsOnDevice.back();
      if (last != nullptr && last->firstRow + last->rows == row &&
          last->from + last->rows * last->pitch == from) {
        ++last->rows;
      } else {
        idsOnDevice.push_back({from, before.selections.pitch, row, 1});
      }
    }
    row += static_cast<uint64_t>(extension.count());
  }
}

/// Sets the tokens of a step that the device has selected in the step before, which is done.
void PagedDecoder::takeTokens(BegunStep &step, const BegunStep &before) {
  size_t token = 0;
  for (const Appended &each : step.appended) {
    if (each.bestOf >= 0) {
      step.tokens[token] = before.selections.bestTokenFound(each.bestOf);
    }
    token += each.count;
  }
}

// --- The beginning -----------------------------------------------------------------------------

/// Ends the steps under way except `kept`, which may be null, and returns a place for the next one.
PagedDecoder::BegunStep &PagedDecoder::endSteps(const BegunStep *kept) {
  BegunStep *place = nullptr;
  for (BegunStep &step : begun) {
    if (&step != kept) {
      complete(step);
      place = place == nullptr ? &step : place;
    }
  }
  return *place;
}

/// Makes the place of a step that has ended ready for another one.
void PagedDecoder::clear(BegunStep &step) {
  if (!step.isTold) {
    ended.emplace_back(step.id, std::move(step.status));
    step.isTold = true;
  }
  step.id = StepId();
  step.status = {};
  step.appended.clear();
  step.tokens.clear();
}

Result<StepId> PagedDecoder::beginUnguarded(std::span<const Extension> extensions, LogitsSink &sink,
                                            const StepOutputs &wanted) {
  HEDDLE_TRY(executor->deviceStream().failure());
  const bool follows = std::ranges::any_of(extensions, &Extension::follows);
  const BegunStep *const before = follows ? find(lastBegun) : nullptr;
  idsOnDevice.clear();
  orders.clear();
  if (follows) {
    HEDDLE_TRY(checkFollows(extensions, before));
    locateTokens(extensions, *before);
  }
  BegunStep &step = endSteps(before);
  clear(step);
  if (extensions.empty()) {
    step.id = lastBegun = StepId(++stepNumber);
    step.isTold = false;
    return step.id;
  }
  HEDDLE_TRY(chooseOutputs(wanted));
  HEDDLE_TRY(gather(extensions));
  HEDDLE_TRY(checkRowOutputs(wanted.rows));
  if (follows) {
    HEDDLE_TRY(collectOrders(extensions, *before));
  }
  HEDDLE_ASSIGN(Step *const made, stepFor(chosen));
  const auto idsInput = static_cast<size_t>(decoder.input - decoder.info->inputs.data());
  if (!orders.empty() && !made->plan.inputs[idsInput].used) {
    return HEDDLE_ERROR(Unsupported, "a step compares hypotheses and reads no ids");
  }
  HEDDLE_TRY(checkHistoryRoom(extensions));
  describeMemory(extensions);
  int64_t longest = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const int64_t start = keepsHistory() ? starts[i] : 0;
    longest = std::max(longest, start + lengths[i]);
  }
  historyRows.clear();
  historyRows.prepare(static_cast<int64_t>(extensions.size()), longest);
  stateRows.clear();
  stateRows.prepare(static_cast<int64_t>(extensions.size()), 1);
  keyedRows.clear();
  keyedRows.prepare(static_cast<int64_t>(extensions.size()), memoryRows.longest);
  Run run{.plan = made->plan, .batch = batch, .firstCost = decoder.firstCost};
  run.caches = decoder.caches;
  run.starts = starts;
  run.longestCached = std::max(longest, memoryRows.longest);
  run.whole = true;
  run.tail = &made->projection;
  run.ids = idsOnDevice;
  run.idsInput = idsInput;
  run.head = orders.empty() ? nullptr : &orders;
  HEDDLE_TRY(
      made->projection.begin(sink, batch.tokens(), executor->deviceStream(), step.selections));
  run.wanted = made->projection.rowsWanted();
  HEDDLE_TRY(executor->reserve(run));
  step.plan = &made->plan;
  step.wanted = wanted;
  step.longestCached = run.longestCached;
  step.appended.reserve(extensions.size());
  step.tokens.assign(ids.begin(), ids.end());
  HEDDLE_TRY(start(step, run, extensions));
  return step.id;
}

/// Extends the hypotheses and starts the run of a step. Nothing but the device can fail.
Status PagedDecoder::start(BegunStep &step, Run run, std::span<const Extension> extensions) {
  size_t token = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension &each = extensions[i];
    find(each.hypothesis)->tokenOfStep = std::exchange(token, token + size_t(lengths[i]));
    step.appended.push_back({each.hypothesis, find(each.hypothesis)->life, starts[i],
                             static_cast<size_t>(lengths[i]), each.bestOf, each.follows()});
  }
  extend(extensions);
  describeHistory(extensions);
  const Result<StartedRun> started = executor->start(run);
  if (!started.ok()) {
    // The device has failed for good. Callers still see what was appended before.
    for (size_t i = 0; i < extensions.size(); ++i) {
      Hypothesis &hypothesis = *find(extensions[i].hypothesis);
      hypothesis.place = PrefixTree::outside;
      hypothesis.length -= lengths[i];
    }
    return started.status();
  }
  step.run = *started;
  step.id = lastBegun = StepId(stepNumber);
  step.isDone = step.isTold = false;
  step.isRunning = true;
  return {};
}

// --- The end -----------------------------------------------------------------------------------

/// Waits for a step that is under way, and receives its results.
void PagedDecoder::complete(BegunStep &step) {
  if (std::exchange(step.isDone, true)) {
    return;
  }
  for (BegunStep &before : begun) {
    if (before.id < step.id) {
      complete(before);
    }
  }
  const Status finished = withoutExceptions([&] { return executor->finish(step.run); });
  step.isRunning = false;
  if (step.status.ok()) {
    step.status = finished;
  }
  if (step.status.ok()) {
    step.selections.deliver();
  }
  for (BegunStep &next : begun) {
    if (!next.isDone && next.follows()) {
      next.status = step.status;
      if (step.status.ok()) {
        takeTokens(next, step);
      }
    }
  }
  size_t first = 0;
  for (const Appended &each : step.appended) {
    const std::span<const int32_t> tokens = std::span(step.tokens).subspan(first, each.count);
    first += each.count;
    Hypothesis *const hypothesis = find(each);
    if (hypothesis == nullptr) {
      continue;
    }
    if (step.status.ok()) {
      publish(*hypothesis, each.at, tokens);
    } else {
      hypothesis->place = PrefixTree::outside;
    }
    dropUnread(*hypothesis, each.at + static_cast<int64_t>(each.count));
  }
  if (step.status.ok()) {
    step.status = withoutExceptions([&] { return readOutputs(step); });
  }
}

Status PagedDecoder::finish(StepId id) {
  if (BegunStep *const step = find(id)) {
    const Status completed = withoutExceptions([&] {
      complete(*step);
      return Status();
    });
    if (!completed.ok()) {
      step->status = completed;
    }
    step->isTold = true;
    return step->status;
  }
  const auto found = std::ranges::find(ended, id, &std::pair<StepId, Status>::first);
  if (found == ended.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("no step {}, expected one that was not finished or dropped",
                                    static_cast<uint64_t>(id)));
  }
  const Status status = std::move(found->second);
  ended.erase(found);
  return status;
}

void PagedDecoder::drop(StepId id) {
  std::erase_if(ended, [&](const auto &each) { return each.first == id; });
  BegunStep *const step = find(id);
  if (step == nullptr) {
    return;
  }
  step->isDone = step->isTold = true;
  step->id = StepId();
  for (const Appended &each : step->appended) {
    if (Hypothesis *const hypothesis = find(each)) {
      hypothesis->place = PrefixTree::outside;
    }
  }
}

} // namespace heddle
