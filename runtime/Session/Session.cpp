// SPDX-License-Identifier: Apache-2.0
///
/// Sessions: a plan is made when an entry is first run for a set of outputs, and kept.
#include "heddle/Session.h"

#include "base/Utf8.h"
#include "runtime/Session/ModelState.h"
#include "runtime/Session/SessionState.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace heddle {

static constexpr std::string_view embedEntry = "embed";
static constexpr std::string_view embedInput = "input_ids";
static constexpr std::string_view embedOutput = "embedding";

/// Returns the prefix sums, from 0, of the numbers of dispatches of all entries.
static std::vector<size_t> countDispatches(const Model &model) {
  std::vector<size_t> first{0};
  for (const EntryInfo &entry : model.entries()) {
    first.push_back(first.back() +
                    static_cast<size_t>(entry.dispatches + entry.observedDispatches));
  }
  return first;
}

Session::State::State(const Model &model, const SessionOptions &options,
                      std::shared_ptr<Executor> executor)
    : model(model), options(options), firstCosts(countDispatches(model)),
      executor(std::move(executor)) {}

Result<PagedDecoder *> Session::State::decoder() {
  if (ownDecoder == nullptr) {
    HEDDLE_ASSIGN(ownDecoder, PagedDecoder::create(model, options, executor));
  }
  return ownDecoder.get();
}

const Plan &Session::State::planFor(size_t entry) {
  for (const std::unique_ptr<Prepared> &each : prepared) {
    if (each->entry == entry && each->requested == batch.requested()) {
      return each->plan;
    }
  }
  const Artifact &artifact = *model.state->artifact;
  const manifest::Entry &table = *artifact.manifest().entries()->Get(static_cast<uint32_t>(entry));
  prepared.push_back(std::make_unique<Prepared>(Prepared{
      entry, batch.requested(), Plan::make(artifact, table, {batch.requested(), false, -1})}));
  return prepared.back()->plan;
}

Result<Session> Session::create(const Model &model, const SessionOptions &options) {
  return withoutExceptions([&]() -> Result<Session> {
    HEDDLE_ASSIGN(std::shared_ptr<Executor> executor, Executor::create(model, options));
    return Session(std::make_unique<State>(model, options, std::move(executor)));
  });
}

Session::Session(std::unique_ptr<State> state) : state(std::move(state)) {}
Session::Session(Session &&other) noexcept = default;
Session &Session::operator=(Session &&other) noexcept = default;
Session::~Session() = default;

const Model &Session::model() const { return state->model; }

/// Returns the failure for a name that no entry has.
static Status noEntry(const Model &model, std::string_view name) {
  std::string known;
  for (const EntryInfo &entry : model.entries()) {
    known += (known.empty() ? "" : ", ") + quote(entry.name);
  }
  return HEDDLE_ERROR(NotFound, fmt::format("{}: no entry {}, there are {}", model.path(),
                                            quote(name), known.empty() ? "none" : known));
}

/// Returns the failure for an entry that is run step by step.
static Status needsDecoder(const Model &model, std::string_view name) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: entry {} reads caches that the run of one entry does not "
                                  "have: run encode and decode together, with heddle run without "
                                  "--entry, or generate",
                                  model.path(), quote(name)));
}

Status Session::run(std::string_view entry, std::span<const int32_t> lengths,
                    std::span<const Input> inputs, std::span<const Output> outputs,
                    std::span<const int32_t> widths) {
  return withoutExceptions([&]() -> Status {
    const EntryInfo *const info = state->model.findEntry(entry);
    if (info == nullptr) {
      return noEntry(state->model, entry);
    }
    const std::string &name = info->name;
    const auto isMemory = [](const CacheInfo &cache) { return !cache.written; };
    if (std::any_of(info->caches.begin(), info->caches.end(), isMemory)) {
      return needsDecoder(state->model, name);
    }
    HEDDLE_TRY_WITH(state->batch.bind(*info, {lengths, widths}, inputs, outputs),
                    fmt::format("entry {}", quote(name)));
    if (lengths.empty()) {
      return {};
    }
    const auto index = static_cast<size_t>(info - state->model.entries().data());
    const Plan &plan = state->planFor(index);
    if (plan.dispatches.empty()) {
      return {};
    }
    if (plan.usesCaches) {
      return needsDecoder(state->model, name);
    }
    return state->executor->run(
        {.plan = plan, .batch = state->batch, .firstCost = state->firstCosts[index]});
  });
}

Result<int64_t> Session::embeddingWidth() const {
  return withoutExceptions([&]() -> Result<int64_t> {
    const EntryInfo *const entry = state->model.findEntry(embedEntry);
    if (entry == nullptr) {
      return noEntry(state->model, embedEntry);
    }
    for (const PortInfo &output : entry->outputs) {
      if (output.name == embedOutput && output.shape.size() == 2 &&
          output.shape[0] == sequencesDimension) {
        return output.shape[1];
      }
    }
    return HEDDLE_ERROR(NotFound,
                        fmt::format("{}: entry {} has no output {} with a row for each "
                                    "sequence",
                                    state->model.path(), quote(embedEntry), quote(embedOutput)));
  });
}

Status Session::embed(std::span<const std::string_view> texts, std::span<float> embeddings) {
  return withoutExceptions([&]() -> Status {
    HEDDLE_ASSIGN(const int64_t width, embeddingWidth());
    if (embeddings.size() / static_cast<size_t>(width) != texts.size() ||
        embeddings.size() % static_cast<size_t>(width) != 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("room for {} floats, expected {} embeddings of {}",
                                      embeddings.size(), texts.size(), width));
    }
    state->lengths.clear();
    state->ids.clear();
    for (size_t i = 0; i < texts.size(); ++i) {
      Result<std::vector<int32_t>> ids = state->model.tokenize(texts[i]);
      HEDDLE_TRY_WITH(ids.status(), fmt::format("text {}", i + 1));
      state->lengths.push_back(static_cast<int32_t>(ids->size()));
      state->ids.insert(state->ids.end(), ids->begin(), ids->end());
    }
    const Input input{embedInput, state->ids};
    const Output output{embedOutput, embeddings};
    return run(embedEntry, state->lengths, {&input, 1}, {&output, 1});
  });
}

std::vector<DispatchProfile> Session::profile() const {
  return state->options.profile ? profileOf(*state->model.state->artifact, state->executor->costs())
                                : std::vector<DispatchProfile>();
}

std::vector<DispatchRun> Session::trace() const {
  return traceOf(state->executor->costs(), state->executor->spans());
}

void Session::resetProfile() { state->executor->resetCosts(); }

LaunchUse Session::launchUse() const { return state->executor->deviceStream().launchUse(); }

} // namespace heddle
