// SPDX-License-Identifier: Apache-2.0
///
/// The decoder's work in one step: a token for every hypothesis whose prompt is computed, and
/// pieces of prompts, in order of arrival. A prompt waits if another prompt in the step computes a
/// common prefix, which it reuses in the next step.
///
/// While a step is under way, the next one may begin, if it appends only the tokens that the device
/// selects. A sentence that turns out to have ended leaves as always, and its row of the next step
/// is ignored.
#include "runtime/Generate/BatchSearch.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace heddle {

/// Returns whether the beginning of a sentence is not computed yet.
bool BatchSearch::isBeginning(const Sentence &sentence) const {
  const std::vector<HypothesisId> &hypotheses = sentence.searches.front().hypotheses;
  return decoder.length(hypotheses.front()) < static_cast<int64_t>(sentence.beginning.size());
}

/// Returns whether a piece of this step computes tokens that the sentence, which has `length`
/// tokens, will reuse.
bool BatchSearch::waitsForOther(const Sentence &sentence, int64_t length) const {
  const int64_t unit = decoder.sharedUnit();
  return unit > 0 && std::any_of(pieces.begin(), pieces.end(), [&](const Piece &piece) {
           const std::vector<int32_t> &mine = sentence.beginning;
           const std::vector<int32_t> &others = piece.sentence->beginning;
           const auto common = std::mismatch(mine.begin(), mine.end() - 1, others.begin(),
                                             others.begin() + piece.end)
                                   .first -
                               mine.begin();
           return common / unit * unit > length;
         });
}

/// Adds at most `most` tokens of a sentence's beginning, and returns their number.
int64_t BatchSearch::addPiece(Sentence &sentence, int64_t most) {
  Running &first = sentence.searches.front();
  const HypothesisId hypothesis = first.hypotheses.front();
  const std::span<const int32_t> tokens = sentence.beginning;
  const int64_t shared = decoder.takeOver(hypothesis, tokens);
  sentence.shared += shared;
  sharedCount += shared;
  const int64_t length = decoder.length(hypothesis);
  const auto all = static_cast<int64_t>(tokens.size());
  const int64_t count = std::min(all - length, most);
  if (count <= 0 || waitsForOther(sentence, length)) {
    return 0;
  }
  now->extensions.push_back(
      {hypothesis, tokens.subspan(static_cast<size_t>(length), static_cast<size_t>(count))});
  pieces.push_back({&sentence, length + count});
  // No logits are needed after the tokens before the last.
  std::vector<RowQuery> &queries = now->queries;
  queries.resize(queries.size() + static_cast<size_t>(count));
  if (length + count == all) {
    first.search.fillQuery(0, queries.back());
    first.rows.push_back(static_cast<int64_t>(queries.size()) - 1);
    wantsAttention = wantsAttention || sentence.settings.needsAttention();
  }
  return count;
}

/// Adds the last token of each hypothesis.
void BatchSearch::addTokens(Sentence &sentence) {
  wantsAttention = wantsAttention || sentence.settings.needsAttention();
  for (Running &running : sentence.searches) {
    const std::vector<Beam> &beams = running.search.beams();
    for (size_t beam = 0; beam < beams.size(); ++beam) {
      now->extensions.push_back({running.hypotheses[beam], std::span(beams[beam].tokens).last(1)});
      running.search.fillQuery(beam, now->queries.emplace_back());
      running.rows.push_back(static_cast<int64_t>(now->queries.size()) - 1);
    }
  }
}

/// Builds the decoder's input for the first `count` sentences.
void BatchSearch::buildStep(size_t count) {
  const std::span<const SentencePointer> stepping = std::span(batch).first(count);
  now->extensions.clear();
  now->queries.clear();
  pieces.clear();
  wantsAttention = false;
  for (const SentencePointer &sentence : batch) {
    for (Running &running : sentence->searches) {
      running.rows.clear();
    }
  }
  const bool answers =
      std::any_of(stepping.begin(), stepping.end(),
                  [&](const SentencePointer &sentence) { return !isBeginning(*sentence); });
  int64_t left = answers ? bounds.promptTokensBeside : bounds.promptTokens;
  for (const SentencePointer &sentence : stepping) {
    if (isBeginning(*sentence)) {
      left -= addPiece(*sentence, left);
    } else {
      addTokens(*sentence);
    }
  }
}

/// Begins a step of the decoder, after enough sentences have left to make room. A sentence that the
/// decoder rejects fails alone: until it is found, the sentences before it take steps without the
/// rest.
Status BatchSearch::begin() {
  size_t count = batch.size();
  while (count > 0) {
    buildStep(count);
    now->candidates.prepare(now->queries);
    const Result<StepId> begun =
        decoder.begin(now->extensions, now->candidates, wantsAttention ? &attention : nullptr);
    if (begun.ok()) {
      now->begun = *begun;
      stepsUsed.steps += decoder.runsAhead() ? 1 : 0;
      return {};
    }
    if (begun.status().code() == StatusCode::ResourceExhausted) {
      makeRoom(batch.size() - 1, batch.size() == 1, begun.status());
      count = std::min(count, batch.size());
    } else if (!concernsOne(begun.status())) {
      return begun.status();
    } else if (count > 1) {
      count = (count + 1) / 2;
    } else {
      fail(*batch.front(), begun.status());
      batch.erase(batch.begin());
      full = false;
      count = batch.size();
    }
  }
  return {};
}

// --- Steps that begin before the one before them has ended --------------------------------------

/// Returns whether a waiting sentence may join the batch, as far as is known without trying.
bool BatchSearch::mayJoin() const {
  if (queue.empty() || full) {
    return false;
  }
  int64_t tokens = cost(*queue.front());
  for (const SentencePointer &sentence : batch) {
    tokens += cost(*sentence);
  }
  return tokens <= bounds.tokens;
}

/// Returns how the device goes on with a search of this step.
BeamOrder BatchSearch::orderOf(const Running &running) const {
  const RowQuery &query = now->queries[static_cast<size_t>(running.rows.front())];
  return running.search.orderOf(running.hypotheses, running.rows.front(), query);
}

/// Returns why a search does not go on with the token that the device selects in this step.
std::string_view BatchSearch::reasonAgainstAhead(const Sentence &sentence,
                                                 const Running &running) const {
  if (sentence.settings.needsAttention()) {
    return "attention is read";
  }
  if (running.rows.empty()) {
    return "prompts are computed";
  }
  if (running.search.endsNow()) {
    return "";
  }
  const std::string_view reason = running.search.reasonAgainstAhead();
  if (!reason.empty()) {
    return reason;
  }
  if (!std::ranges::all_of(running.rows,
                           [&](int64_t row) { return now->candidates.selectsBest(row); })) {
    return "logits are copied";
  }
  return running.search.followsBest() ? "" : decoder.reasonAgainst(orderOf(running));
}

/// Returns why the next step must wait for this one; an empty text if it need not.
std::string_view BatchSearch::reasonAgainstAhead() const {
  if (!bounds.neverAhead.empty()) {
    return bounds.neverAhead;
  }
  for (const SentencePointer &sentence : batch) {
    for (const Running &running : sentence->searches) {
      if (const std::string_view reason = reasonAgainstAhead(*sentence, running); !reason.empty()) {
        return reason;
      }
    }
  }
  return mayJoin() ? "requests join the batch" : "";
}

/// Adds the rows of a search whose hypotheses the device orders. Whatever they continue has as many
/// tokens, so a fork of any hypothesis stands for it.
Status BatchSearch::addOrdered(Running &running) {
  assert(running.nextHypotheses.empty());
  const BeamOrder &order = next->orders.emplace_back(orderOf(running));
  running.nextHypotheses.reserve(static_cast<size_t>(order.width));
  for (int64_t place = 0; place < order.width; ++place) {
    const auto parent = std::min(static_cast<size_t>(place), running.hypotheses.size() - 1);
    HEDDLE_ASSIGN(const HypothesisId fork, decoder.fork(running.hypotheses[parent]));
    running.nextHypotheses.push_back(fork);
    next->extensions.push_back({.hypothesis = fork, .tokens = {}, .order = &order});
    running.search.fillQuery(0, next->queries.emplace_back(), /*ahead=*/true);
    running.nextRows.push_back(static_cast<int64_t>(next->queries.size()) - 1);
  }
  return {};
}

/// Builds the step that appends the tokens that the device selects in this one, for each search
/// that may go on.
Status BatchSearch::buildNextStep() {
  next->extensions.clear();
  next->queries.clear();
  next->orders.clear();
  for (const SentencePointer &sentence : batch) {
    for (Running &running : sentence->searches) {
      running.nextRows.clear();
      if (running.search.endsNow()) {
        continue;
      }
      if (!running.search.followsBest()) {
        HEDDLE_TRY(addOrdered(running));
        continue;
      }
      next->extensions.push_back({running.hypotheses.front(), {}, running.rows.front()});
      running.search.fillQuery(0, next->queries.emplace_back(), /*ahead=*/true);
      running.nextRows.push_back(static_cast<int64_t>(next->queries.size()) - 1);
    }
  }
  return {};
}

/// Begins the next step if some sentence needs one. Returns why it cannot begin yet; an empty text
/// otherwise. A device that has failed fails a later call again.
std::string_view BatchSearch::beginNextStep() {
  Status status = buildNextStep();
  if (status.ok() && next->extensions.empty()) {
    return "";
  }
  if (status.ok()) {
    next->candidates.prepare(next->queries);
    const Result<StepId> begun = decoder.begin(next->extensions, next->candidates);
    if (begun.ok()) {
      next->begun = *begun;
      ++stepsUsed.steps;
      ++stepsUsed.ahead;
      return "";
    }
    status = begun.status();
  }
  forgetNextStep();
  return status.code() == StatusCode::ResourceExhausted ? "the cache or memory is full"
                                                        : "another step came between";
}

void BatchSearch::forgetNextStep() {
  for (const SentencePointer &sentence : batch) {
    for (Running &running : sentence->searches) {
      running.nextRows.clear();
      releaseNext(running);
    }
  }
  if (next->begun) {
    decoder.drop(*std::exchange(next->begun, std::nullopt));
  }
}

/// Empties the queries of a search that ends: steps under way may still have rows of it, and the
/// lists of the queries end with it.
void BatchSearch::ignoreRows(const Running &running) {
  const auto empty = [](Step &step, std::span<const int64_t> rows) {
    for (const int64_t row : step.begun ? rows : std::span<const int64_t>()) {
      step.queries[static_cast<size_t>(row)] = RowQuery();
    }
  };
  empty(*now, running.rows);
  empty(*next, running.nextRows);
}

/// Begins the next step, if it may begin before this one has ended. Otherwise it begins later.
void BatchSearch::runAhead() {
  if (!now->begun || !decoder.runsAhead()) {
    return;
  }
  try {
    std::string_view reason = reasonAgainstAhead();
    if (reason.empty()) {
      reason = beginNextStep();
    }
    if (!reason.empty() &&
        std::ranges::find(stepsUsed.reasons, reason) == stepsUsed.reasons.end()) {
      stepsUsed.reasons.emplace_back(reason);
    }
  } catch (const std::bad_alloc &) {
    forgetNextStep();
  }
}

/// Ends a step from which no sentence needs anything any more.
void BatchSearch::dropUnwanted() {
  const bool isWanted =
      std::any_of(batch.begin(), batch.end(), [](const SentencePointer &sentence) {
        return !sentence->searches.front().rows.empty();
      });
  if (now->begun && !isWanted) {
    decoder.drop(*std::exchange(now->begun, std::nullopt));
  }
}

SelectionUse BatchSearch::selectionUse() const {
  SelectionUse all = steps[0].candidates.use();
  const SelectionUse &other = steps[1].candidates.use();
  all.selected += other.selected;
  all.copied += other.copied;
  for (const std::string &reason : other.reasons) {
    if (std::ranges::find(all.reasons, reason) == all.reasons.end()) {
      all.reasons.push_back(reason);
    }
  }
  return all;
}

} // namespace heddle
