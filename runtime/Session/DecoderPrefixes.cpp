// SPDX-License-Identifier: Apache-2.0
///
/// Blocks of histories that hypotheses reuse from others which begin with the same tokens, during
/// the others' lives and after.
#include "runtime/Session/PagedDecoder.h"

#include <algorithm>
#include <new>

namespace heddle {

/// Returns the tokens of the block from position `at` on that a hypothesis may reuse; null if the
/// last of `tokens` would be among them.
static const int32_t *blockFrom(std::span<const int32_t> tokens, int64_t at) {
  return at + HEDDLE_BLOCK < static_cast<int64_t>(tokens.size()) ? tokens.data() + at : nullptr;
}

int64_t PagedDecoder::shareable(std::span<const int32_t> tokens) const {
  PrefixPlace place = PrefixTree::root;
  int64_t count = 0;
  while (const int32_t *const next = sharesPrefixes() ? blockFrom(tokens, count) : nullptr) {
    const std::optional<PrefixPlace> found = prefixes.find(place, BlockTokens(next, HEDDLE_BLOCK));
    if (!found) {
      break;
    }
    place = *found;
    count += HEDDLE_BLOCK;
  }
  return count;
}

int64_t PagedDecoder::takeOver(HypothesisId id, std::span<const int32_t> tokens) {
  Hypothesis *const hypothesis = find(id);
  if (!sharesPrefixes() || hypothesis == nullptr) {
    return 0;
  }
  const int64_t before = hypothesis->length;
  if (before == 0) {
    hypothesis->place = PrefixTree::root;
  }
  try {
    hypothesis->table.prepare(static_cast<int64_t>(tokens.size()) - before);
  } catch (const std::bad_alloc &) {
    // The step that extends the hypothesis will report the failure.
    return 0;
  }
  // A last block that is not full is replaced by a full one.
  int64_t at = before / HEDDLE_BLOCK * HEDDLE_BLOCK;
  while (const int32_t *const next = blockFrom(tokens, at)) {
    const auto found = prefixes.find(hypothesis->place, BlockTokens(next, HEDDLE_BLOCK));
    if (!found) {
      break;
    }
    hypothesis->table.takeOver(history, found->block);
    hypothesis->place = *found;
    at += HEDDLE_BLOCK;
    hypothesis->length = at;
  }
  dropUnread(*hypothesis, hypothesis->length);
  return hypothesis->length - before;
}

/// Publishes the blocks that a step has completed by appending `tokens` from position `at` on, for
/// others to reuse. If another hypothesis has published an equal block first, that block replaces
/// the hypothesis's own. The next step may have extended the hypothesis already.
void PagedDecoder::publish(Hypothesis &hypothesis, int64_t at, std::span<const int32_t> tokens) {
  if (hypothesis.place.number == PrefixTree::outside.number) {
    return;
  }
  for (const int32_t token : tokens) {
    hypothesis.rest[static_cast<size_t>(at++ % HEDDLE_BLOCK)] = token;
    if (at % HEDDLE_BLOCK != 0) {
      continue;
    }
    const auto index = static_cast<size_t>(at / HEDDLE_BLOCK - 1);
    const int32_t own = hypothesis.table.blocks()[index];
    hypothesis.place =
        prefixes.add(hypothesis.place, hypothesis.rest, own).value_or(PrefixTree::outside);
    if (hypothesis.place.number == PrefixTree::outside.number) {
      return;
    }
    if (hypothesis.place.block != own) {
      hypothesis.table.exchange(history, index, hypothesis.place.block);
    }
  }
}

/// Gives back the blocks that no row after the first `length` positions reads.
void PagedDecoder::dropUnread(Hypothesis &hypothesis, int64_t length) {
  if (!historyReads.empty()) {
    hypothesis.table.dropBefore(history, firstRead(length));
  }
}

} // namespace heddle
