// SPDX-License-Identifier: Apache-2.0
///
/// The decoder's work in one step: a token for every hypothesis whose prompt is computed, and
/// pieces of prompts, in order of arrival. A prompt waits if another prompt in the step computes a
/// common prefix, which it reuses in the next step.
#include "runtime/Generate/BatchSearch.h"

#include <algorithm>

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
  extensions.push_back(
      {hypothesis, tokens.subspan(static_cast<size_t>(length), static_cast<size_t>(count))});
  pieces.push_back({&sentence, length + count});
  // No logits are needed after the tokens before the last.
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
      extensions.push_back({running.hypotheses[beam], std::span(beams[beam].tokens).last(1)});
      running.search.fillQuery(beam, queries.emplace_back());
      running.rows.push_back(static_cast<int64_t>(queries.size()) - 1);
    }
  }
}

/// Builds the decoder's input for the first `count` sentences.
void BatchSearch::buildStep(size_t count) {
  const std::span<const SentencePointer> stepping = std::span(batch).first(count);
  extensions.clear();
  queries.clear();
  pieces.clear();
  wantsAttention = false;
  bool answers = false;
  for (const SentencePointer &sentence : stepping) {
    answers = answers || !isBeginning(*sentence);
    for (Running &running : sentence->searches) {
      running.rows.clear();
    }
  }
  int64_t left = answers ? bounds.promptTokensBeside : bounds.promptTokens;
  for (const SentencePointer &sentence : stepping) {
    if (isBeginning(*sentence)) {
      left -= addPiece(*sentence, left);
    } else {
      addTokens(*sentence);
    }
  }
}

/// Runs one step of the decoder, after enough sentences have left to make room, and returns the
/// number of sentences that took part. A sentence that the decoder rejects fails alone: until it is
/// found, the sentences before it take steps without the rest.
Result<size_t> BatchSearch::decode() {
  size_t count = batch.size();
  while (count > 0) {
    buildStep(count);
    candidates.prepare(queries);
    Status status = decoder.decode(extensions, candidates, wantsAttention ? &attention : nullptr);
    if (status.ok()) {
      return count;
    }
    if (status.code() == StatusCode::ResourceExhausted) {
      makeRoom(batch.size() - 1, batch.size() == 1, status);
      count = std::min(count, batch.size());
    } else if (!concernsOne(status)) {
      return status;
    } else if (count > 1) {
      count = (count + 1) / 2;
    } else {
      fail(*batch.front(), status);
      batch.erase(batch.begin());
      full = false;
      count = batch.size();
    }
  }
  return size_t(0);
}

} // namespace heddle
