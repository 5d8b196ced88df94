// SPDX-License-Identifier: Apache-2.0
///
/// Joining, stepping and leaving. A sentence that must make room for older ones returns to the
/// queue and starts again. Its result depends on nothing else, so it stays the same.
///
/// Any allocation may fail, so results are handed over only after the last step that can throw.
#include "runtime/Generate/BatchSearch.h"

#include "runtime/Generate/Sampler.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <new>

namespace heddle {

BatchSearch::BatchSearch(Decoder &decoder, GenerationDefaults defaults, GenerationLimits limits,
                         const BatchBounds &bounds, NewText newText)
    : decoder(decoder), defaults(std::move(defaults)), limits(std::move(limits)), bounds(bounds),
      newText(std::move(newText)) {}

BatchSearch::~BatchSearch() {
  for (const Step &step : steps) {
    if (step.begun) {
      decoder.drop(*step.begun);
    }
  }
  for (const SentencePointer &sentence : batch) {
    leave(*sentence);
  }
}

/// Returns the number of tokens of the source, or of those of the prompt that are not reused,
/// counted once for each hypothesis.
int64_t BatchSearch::cost(const Sentence &sentence) const {
  const Settings &settings = sentence.settings;
  const int64_t searches = settings.sample || settings.alternatives ? settings.nbest : 1;
  int64_t tokens = sourceLength(sentence.source, sentence.rows, limits);
  if (!limits.hasSources) {
    tokens = static_cast<int64_t>(sentence.beginning.size()) -
             (sentence.encoded ? sentence.shared : decoder.shareable(sentence.beginning));
  }
  return tokens * settings.beam * searches;
}

Result<int64_t> BatchSearch::add(GenerationRequest request) {
  HEDDLE_ASSIGN(Settings settings, makeSettings(request, defaults, limits));
  std::vector<int32_t> beginning = settings.start;
  beginning.insert(beginning.end(), settings.prefix.begin(), settings.prefix.end());
  queue.push_back(std::make_unique<Sentence>(
      Sentence{nextId, std::move(request.source), std::move(request.rows), std::move(settings),
               limits.sourceHasWidths ? request.width : 0, std::move(beginning)}));
  return nextId++;
}

Status BatchSearch::remove(int64_t id) {
  const auto is = [id](const SentencePointer &sentence) { return sentence->id == id; };
  if (const auto found = std::find_if(queue.begin(), queue.end(), is); found != queue.end()) {
    tellEnds(**found, FinishReason::Removed, {});
    queue.erase(found);
    return {};
  }
  if (const auto found = std::find_if(batch.begin(), batch.end(), is); found != batch.end()) {
    tellEnds(**found, FinishReason::Removed, {});
    leave(**found);
    batch.erase(found);
    full = false;
    return {};
  }
  return HEDDLE_ERROR(NotFound, fmt::format("request {} is unknown, expected one that waits or "
                                            "runs",
                                            id));
}

/// Releases everything that a sentence holds in the decoder.
void BatchSearch::leave(Sentence &sentence) {
  for (Running &running : sentence.searches) {
    ignoreRows(running);
    for (const HypothesisId hypothesis : running.hypotheses) {
      decoder.release(hypothesis);
    }
    releaseNext(running);
  }
  sentence.searches.clear();
  sentence.found.clear();
  sentence.shared = 0;
  for (Answer &answer : sentence.answers) {
    answer.text = {};
  }
  if (sentence.encoded) {
    decoder.release(*sentence.encoded);
    sentence.encoded.reset();
  }
}

void BatchSearch::fail(Sentence &sentence, const Status &status) {
  results.push_back({sentence.id, status, {}});
  tellEnds(sentence, FinishReason::Failed, status);
  leave(sentence);
}

Status BatchSearch::startSearches(Sentence &sentence) {
  const Settings &settings = sentence.settings;
  const int32_t count = settings.answers();
  // Random numbers depend on the source: for rows, on their bits. Other searches draw none.
  std::vector<int32_t> bits(settings.sample ? sentence.rows.size() : 0);
  std::transform(sentence.rows.begin(),
                 sentence.rows.begin() + static_cast<std::ptrdiff_t>(bits.size()), bits.begin(),
                 [](float value) { return std::bit_cast<int32_t>(value); });
  if (settings.sample && sentence.width != 0) {
    bits.push_back(sentence.width);
  }
  const std::span<const int32_t> source = sentence.rows.empty() ? sentence.source : bits;
  sentence.answers.resize(static_cast<size_t>(count));
  for (int32_t sample = 0; sample < count; ++sample) {
    const uint64_t stream =
        settings.sample ? sampleStream(source, settings.prefix, static_cast<uint64_t>(sample)) : 0;
    Running &running =
        sentence.searches.emplace_back(Running{BeamSearch(settings, stream), sample, {}});
    running.hypotheses.reserve(1);
    if (sample == 0) {
      HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder.start(*sentence.encoded));
      running.hypotheses.push_back(hypothesis);
    }
  }
  return {};
}

/// Encodes the first `count` sentences of the queue, starts their searches and moves them to the
/// batch: all of them, or none if one does not fit.
Status BatchSearch::join(size_t count) {
  std::vector<SourceView> sources;
  for (size_t i = 0; i < count; ++i) {
    sources.push_back(queue[i]->view());
  }
  std::vector<SourceId> ids(count);
  batch.reserve(batch.size() + count);
  HEDDLE_TRY(decoder.encode(sources, ids));
  for (size_t i = 0; i < count; ++i) {
    queue[i]->encoded = ids[i];
  }
  // On every path, a sentence that has not joined holds nothing in the decoder.
  struct Waiting {
    BatchSearch &search;
    size_t count;
    ~Waiting() {
      for (size_t i = 0; i < count; ++i) {
        search.leave(*search.queue[i]);
      }
    }
  } waiting{*this, count};
  for (size_t i = 0; i < count; ++i) {
    HEDDLE_TRY(startSearches(*queue[i]));
  }
  for (; waiting.count > 0; --waiting.count) {
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return {};
}

/// Lets waiting sentences join while there is room.
Status BatchSearch::admit() {
  int64_t tokens = 0;
  for (const SentencePointer &sentence : batch) {
    tokens += cost(*sentence);
  }
  while (!queue.empty() && !full) {
    size_t count = 0;
    int64_t total = tokens;
    while (count < queue.size() &&
           (total + cost(*queue[count]) <= bounds.tokens || (batch.empty() && count == 0))) {
      total += cost(*queue[count++]);
    }
    if (count == 0) {
      return {};
    }
    const size_t before = batch.size();
    Status status = join(count);
    while ((status.code() == StatusCode::ResourceExhausted || concernsOne(status)) && count > 1) {
      // Half of them, in order.
      count = (count + 1) / 2;
      status = join(count);
    }
    const bool never = status.code() == StatusCode::ResourceExhausted && batch.empty();
    if (never || concernsOne(status)) {
      fail(*queue.front(), never ? status.annotate("the sentence does not fit") : status);
      queue.pop_front();
      continue;
    }
    if (!status.ok()) {
      full = status.code() == StatusCode::ResourceExhausted;
      return full ? Status() : status;
    }
    for (size_t i = before; i < batch.size(); ++i) {
      tokens += cost(*batch[i]);
    }
  }
  return {};
}

/// Handles a full cache: the sentence at `index` returns to the queue, or fails if it was alone.
void BatchSearch::makeRoom(size_t index, bool alone, const Status &status) {
  const auto returns = [&] {
    try {
      queue.emplace_front();
      return true;
    } catch (const std::bad_alloc &) {
      return false;
    }
  };
  if (alone || !returns()) {
    fail(*batch[index], status.annotate("the sentence does not fit"));
  } else {
    leave(*batch[index]);
    queue.front() = std::move(batch[index]);
  }
  batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(index));
  full = !batch.empty();
}

/// Updates the decoder's hypotheses to match the beams. The first beam that continues a hypothesis
/// reuses it; others fork it.
Status BatchSearch::followBeams(Running &running) {
  const std::vector<Beam> &beams = running.search.beams();
  std::vector<bool> taken(running.hypotheses.size(), false);
  std::vector<bool> moved(running.hypotheses.size(), false);
  std::vector<HypothesisId> parents;
  parents.reserve(beams.size());
  for (const Beam &beam : beams) {
    taken[beam.parent] = true;
  }
  // From here on, only forks can fail.
  for (size_t old = 0; old < taken.size(); ++old) {
    if (!taken[old]) {
      decoder.release(running.hypotheses[old]);
    }
  }
  std::swap(parents, running.hypotheses);
  Status status;
  for (const Beam &beam : beams) {
    HypothesisId hypothesis = parents[beam.parent];
    if (moved[beam.parent] && status.ok()) {
      Result<HypothesisId> fork = decoder.fork(hypothesis);
      status = fork.status();
      hypothesis = fork.ok() ? *fork : hypothesis;
    } else if (moved[beam.parent]) {
      continue;
    }
    if (status.ok() || !moved[beam.parent]) {
      running.hypotheses.push_back(hypothesis);
    }
    moved[beam.parent] = true;
  }
  return status;
}

void BatchSearch::releaseNext(Running &running) {
  for (const HypothesisId hypothesis : running.nextHypotheses) {
    decoder.release(hypothesis);
  }
  running.nextHypotheses.clear();
}

/// As followBeams(), if the next step has begun with these beams, as the device chose them; rows
/// for which there is none are ignored.
void BatchSearch::settleBeams(Running &running) {
  const std::vector<Beam> &beams = running.search.beams();
  settled.clear();
  for (size_t place = 0; place < beams.size(); ++place) {
    settled.push_back({running.nextHypotheses[place], running.hypotheses[beams[place].parent],
                       beams[place].tokens.back()});
  }
  decoder.settle(settled);
  for (const HypothesisId hypothesis : running.hypotheses) {
    decoder.release(hypothesis);
  }
  for (size_t place = beams.size(); place < running.nextHypotheses.size(); ++place) {
    decoder.release(running.nextHypotheses[place]);
    next->queries[static_cast<size_t>(running.nextRows[place])] = RowQuery();
  }
  running.nextHypotheses.resize(beams.size());
  running.nextRows.resize(beams.size());
  std::swap(running.hypotheses, running.nextHypotheses);
  running.nextHypotheses.clear();
}

Status BatchSearch::advanceSearch(Sentence &sentence, Running &running) {
  const StepAttention looked{&attention, decoder.positions(*sentence.encoded)};
  HEDDLE_TRY(running.search.advance(now->candidates, running.rows, looked));
  const Settings &settings = sentence.settings;
  if (settings.isSingle() && (settings.events || !settings.stop.empty())) {
    HEDDLE_TRY(followSingle(sentence, running));
  }
  if (running.nextHypotheses.empty()) {
    HEDDLE_TRY(followBeams(running));
  } else {
    settleBeams(running);
  }
  if (running.search.finished() || running.search.branches()) {
    takeFinished(sentence, running);
  }
  return {};
}

/// Starts the other samples from the beginning that the first has computed; all draw from its
/// logits.
Status BatchSearch::shareBeginning(Sentence &sentence) {
  const Running &first = sentence.searches.front();
  for (Running &running : sentence.searches) {
    if (running.hypotheses.empty()) {
      HEDDLE_ASSIGN(const HypothesisId fork, decoder.fork(first.hypotheses.front()));
      running.hypotheses.push_back(fork);
      running.rows = first.rows;
    }
  }
  return {};
}

/// Advances all searches of a sentence. If memory runs out in between, the sentence must start
/// again.
Status BatchSearch::advance(Sentence &sentence) {
  try {
    return advanceAll(sentence);
  } catch (const std::bad_alloc &) {
    return HEDDLE_ERROR(ResourceExhausted, "out of memory");
  }
}

Status BatchSearch::advanceAll(Sentence &sentence) {
  HEDDLE_TRY(shareBeginning(sentence));
  size_t most = 0;
  for (Running &running : sentence.searches) {
    HEDDLE_TRY(advanceSearch(sentence, running));
    most += std::max<size_t>(1, running.hypotheses.size());
  }
  std::vector<Running> remaining;
  remaining.reserve(most);
  for (Running &running : sentence.searches) {
    if (running.search.branches()) {
      for (size_t beam = 0; beam < running.hypotheses.size(); ++beam) {
        remaining.push_back(
            {BeamSearch(running.search, beam), running.sample, {running.hypotheses[beam]}});
      }
    } else if (!running.search.finished()) {
      remaining.push_back(std::move(running));
    } else {
      ignoreRows(running);
    }
  }
  sentence.searches = std::move(remaining);
  const bool tells = sentence.settings.events && !sentence.settings.isSingle();
  return tells ? followAgreed(sentence) : Status();
}

void BatchSearch::complete(Sentence &sentence) {
  std::vector<Hypothesis> &found = sentence.found;
  found.resize(std::min(found.size(), static_cast<size_t>(sentence.settings.nbest)));
  results.push_back({sentence.id,
                     {},
                     std::move(found),
                     static_cast<int64_t>(sentence.settings.prefix.size()),
                     sentence.shared});
  leave(sentence);
}

/// Lets all sentences start again, because memory has run out after the decoder's step.
void BatchSearch::startAgain(const Status &status) {
  while (!batch.empty()) {
    makeRoom(batch.size() - 1, batch.size() == 1, status);
  }
}

Result<std::vector<GenerationResult>> BatchSearch::step() {
  HEDDLE_TRY(failure);
  dropUnwanted();
  if (!now->begun) {
    HEDDLE_TRY(admit());
  }
  // After the decoder's step, no finished result may be lost for lack of memory.
  results.reserve(results.size() + batch.size());
  if (!now->begun) {
    HEDDLE_TRY(begin());
  }
  runAhead();
  const Status ended =
      now->begun ? decoder.finish(*std::exchange(now->begun, std::nullopt)) : Status();
  if (ended.code() == StatusCode::ResourceExhausted) {
    startAgain(ended);
  } else if (!ended.ok()) {
    forgetNextStep();
    return failure = ended;
  }
  const bool alone = batch.size() == 1;
  for (size_t index = 0; index < batch.size();) {
    Sentence &sentence = *batch[index];
    if (sentence.searches.front().rows.empty()) {
      // It has no part in the step, or its prompt is not computed yet.
      ++index;
      continue;
    }
    const Status status = advance(sentence);
    if (status.code() == StatusCode::ResourceExhausted) {
      makeRoom(index, alone, status);
      continue;
    }
    if (!status.ok() || sentence.searches.empty()) {
      if (status.ok()) {
        complete(sentence);
      } else {
        fail(sentence, status);
      }
      batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(index));
      full = false;
      continue;
    }
    ++index;
  }
  std::swap(now, next);
  for (const SentencePointer &sentence : batch) {
    for (Running &running : sentence->searches) {
      std::swap(running.rows, running.nextRows);
      running.nextRows.clear();
    }
  }
  return std::exchange(results, {});
}

} // namespace heddle
