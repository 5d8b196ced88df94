// SPDX-License-Identifier: Apache-2.0
///
/// Joining, stepping and leaving. A sentence that must make room for older ones goes back to the
/// queue and starts again: as its result depends on nothing else, it comes to the same.
#include "runtime/Generate/BatchSearch.h"

#include "runtime/Generate/Sampler.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace heddle {

BatchSearch::BatchSearch(Decoder &decoder, GenerationDefaults defaults, GenerationLimits limits,
                         int64_t batchTokens)
    : decoder(decoder), defaults(std::move(defaults)), limits(limits), batchTokens(batchTokens) {}

BatchSearch::~BatchSearch() {
  for (const SentencePointer &sentence : batch) {
    leave(*sentence);
  }
}

/// Source tokens, once for each hypothesis.
int64_t BatchSearch::Sentence::cost() const {
  const int64_t searches = settings.sample || settings.alternatives ? settings.nbest : 1;
  return static_cast<int64_t>(source.size()) * settings.beam * searches;
}

Result<int64_t> BatchSearch::add(GenerationRequest request) {
  HEDDLE_ASSIGN(Settings settings, makeSettings(request, defaults, limits));
  queue.push_back(
      std::make_unique<Sentence>(Sentence{nextId, std::move(request.source), std::move(settings)}));
  return nextId++;
}

Status BatchSearch::remove(int64_t id) {
  const auto is = [id](const SentencePointer &sentence) { return sentence->id == id; };
  if (const auto found = std::find_if(queue.begin(), queue.end(), is); found != queue.end()) {
    queue.erase(found);
    return {};
  }
  if (const auto found = std::find_if(batch.begin(), batch.end(), is); found != batch.end()) {
    leave(**found);
    batch.erase(found);
    full = false;
    return {};
  }
  return HEDDLE_ERROR(NotFound, fmt::format("request {} is not there, expected one that waits or "
                                            "runs",
                                            id));
}

/// Gives back what a sentence has in the decoder.
void BatchSearch::leave(Sentence &sentence) {
  for (const Running &running : sentence.searches) {
    for (const HypothesisId hypothesis : running.hypotheses) {
      decoder.release(hypothesis);
    }
  }
  sentence.searches.clear();
  sentence.found.clear();
  if (sentence.encoded) {
    decoder.release(*sentence.encoded);
    sentence.encoded.reset();
  }
}

void BatchSearch::fail(Sentence &sentence, const Status &status) {
  leave(sentence);
  results.push_back({sentence.id, status, {}});
}

Status BatchSearch::startSearches(Sentence &sentence) {
  const Settings &settings = sentence.settings;
  const int32_t count = settings.sample ? settings.nbest : 1;
  for (int32_t sample = 0; sample < count; ++sample) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder.start(*sentence.encoded));
    const uint64_t stream =
        sampleStream(sentence.source, settings.prefix, static_cast<uint64_t>(sample));
    sentence.searches.push_back({BeamSearch(settings, stream), {hypothesis}});
  }
  return {};
}

/// Encodes sentences and starts their searches: all of them, or none when one does not fit.
Status BatchSearch::join(std::span<SentencePointer> sentences) {
  std::vector<std::span<const int32_t>> sources;
  for (const SentencePointer &sentence : sentences) {
    sources.emplace_back(sentence->source);
  }
  std::vector<SourceId> ids(sources.size());
  HEDDLE_TRY(decoder.encode(sources, ids));
  for (size_t i = 0; i < sentences.size(); ++i) {
    sentences[i]->encoded = ids[i];
  }
  for (const SentencePointer &sentence : sentences) {
    if (Status status = startSearches(*sentence); !status.ok()) {
      for (const SentencePointer &started : sentences) {
        leave(*started);
      }
      return status;
    }
  }
  return {};
}

/// Lets waiting sentences join as long as there is room.
Status BatchSearch::admit() {
  int64_t tokens = 0;
  for (const SentencePointer &sentence : batch) {
    tokens += sentence->cost();
  }
  while (!queue.empty() && !full) {
    size_t count = 0;
    int64_t cost = tokens;
    while (count < queue.size() &&
           (cost + queue[count]->cost() <= batchTokens || (batch.empty() && count == 0))) {
      cost += queue[count++]->cost();
    }
    if (count == 0) {
      return {};
    }
    std::vector<SentencePointer> group(
        std::make_move_iterator(queue.begin()),
        std::make_move_iterator(queue.begin() + static_cast<std::ptrdiff_t>(count)));
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
    Status status = join(group);
    while (status.code() == StatusCode::ResourceExhausted && group.size() > 1) {
      // Half of them, in order.
      for (size_t kept = (group.size() + 1) / 2; group.size() > kept; group.pop_back()) {
        queue.push_front(std::move(group.back()));
      }
      status = join(group);
    }
    if (status.code() == StatusCode::ResourceExhausted && batch.empty()) {
      fail(*group.front(), status.annotate("the sentence does not fit"));
      continue;
    }
    if (!status.ok()) {
      std::move(group.rbegin(), group.rend(), std::front_inserter(queue));
      full = status.code() == StatusCode::ResourceExhausted;
      return full ? Status() : status;
    }
    for (SentencePointer &sentence : group) {
      tokens += sentence->cost();
      batch.push_back(std::move(sentence));
    }
  }
  return {};
}

/// The cache is full: the sentence at `index` goes back to the queue, or fails if it was alone.
void BatchSearch::makeRoom(size_t index, bool alone, const Status &status) {
  SentencePointer sentence = std::move(batch[index]);
  batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(index));
  full = !batch.empty();
  if (alone) {
    fail(*sentence, status.annotate("the sentence does not fit"));
    return;
  }
  leave(*sentence);
  queue.push_front(std::move(sentence));
}

/// What the decoder is asked for: the last token of each hypothesis, or all of one that begins.
void BatchSearch::buildStep() {
  extensions.clear();
  queries.clear();
  beginnings.clear();
  wantsAttention = false;
  size_t beginning = 0;
  for (const SentencePointer &sentence : batch) {
    beginning += sentence->searches.size();
  }
  // Extensions refer to its elements.
  beginnings.reserve(beginning);
  for (const SentencePointer &sentence : batch) {
    const Settings &settings = sentence->settings;
    wantsAttention = wantsAttention || settings.needsAttention();
    for (Running &running : sentence->searches) {
      const std::vector<Beam> &beams = running.search.beams();
      running.rows.clear();
      for (size_t beam = 0; beam < beams.size(); ++beam) {
        std::span<const int32_t> tokens = beams[beam].tokens;
        const HypothesisId hypothesis = running.hypotheses[beam];
        if (decoder.length(hypothesis) == 0) {
          std::vector<int32_t> &all = beginnings.emplace_back(settings.start);
          all.insert(all.end(), tokens.begin(), tokens.end());
          tokens = all;
        } else {
          tokens = tokens.last(1);
        }
        extensions.push_back({hypothesis, tokens});
        // Of the tokens before the last, nothing is wanted.
        queries.resize(queries.size() + tokens.size());
        running.search.fillQuery(beam, queries.back());
        running.rows.push_back(static_cast<int64_t>(queries.size()) - 1);
      }
    }
  }
}

/// One step of the decoder, after as many sentences have left as it takes.
Status BatchSearch::decode() {
  while (!batch.empty()) {
    buildStep();
    candidates.prepare(queries);
    Status status = decoder.decode(extensions, candidates, wantsAttention ? &attention : nullptr);
    if (status.code() != StatusCode::ResourceExhausted) {
      return status;
    }
    makeRoom(batch.size() - 1, batch.size() == 1, status);
  }
  return {};
}

/// Makes the decoder's hypotheses those of the beams: the first that continues one takes it over,
/// others fork it.
Status BatchSearch::followBeams(Running &running) {
  const std::vector<Beam> &beams = running.search.beams();
  std::vector<bool> taken(running.hypotheses.size(), false);
  for (const Beam &beam : beams) {
    taken[beam.parent] = true;
  }
  for (size_t old = 0; old < taken.size(); ++old) {
    if (!taken[old]) {
      decoder.release(running.hypotheses[old]);
    }
  }
  std::vector<HypothesisId> parents = std::move(running.hypotheses);
  std::vector<bool> moved(parents.size(), false);
  running.hypotheses.clear();
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

Status BatchSearch::advanceSearch(Sentence &sentence, Running &running) {
  const StepAttention looked{&attention, static_cast<int64_t>(sentence.source.size())};
  HEDDLE_TRY(running.search.advance(candidates, running.rows, looked));
  HEDDLE_TRY(followBeams(running));
  if (running.search.finished() || running.search.branches()) {
    for (Hypothesis &hypothesis : running.search.takeFinished()) {
      insertByScore(sentence.found, std::move(hypothesis));
    }
  }
  return {};
}

/// A step of all searches of a sentence.
Status BatchSearch::advance(Sentence &sentence) {
  std::vector<Running> remaining;
  for (Running &running : sentence.searches) {
    HEDDLE_TRY(advanceSearch(sentence, running));
  }
  for (Running &running : sentence.searches) {
    if (running.search.branches()) {
      for (size_t beam = 0; beam < running.hypotheses.size(); ++beam) {
        remaining.push_back({BeamSearch(running.search, beam), {running.hypotheses[beam]}});
      }
    } else if (!running.search.finished()) {
      remaining.push_back(std::move(running));
    }
  }
  sentence.searches = std::move(remaining);
  return {};
}

void BatchSearch::complete(Sentence &sentence) {
  std::vector<Hypothesis> &found = sentence.found;
  found.resize(std::min(found.size(), static_cast<size_t>(sentence.settings.nbest)));
  results.push_back({sentence.id, {}, std::move(found)});
  leave(sentence);
}

Result<std::vector<GenerationResult>> BatchSearch::step() {
  HEDDLE_TRY(admit());
  HEDDLE_TRY(decode());
  const bool alone = batch.size() == 1;
  for (size_t index = 0; index < batch.size();) {
    Sentence &sentence = *batch[index];
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
  return std::exchange(results, {});
}

} // namespace heddle
