// SPDX-License-Identifier: Apache-2.0
///
/// The loop of `heddle score`, over blocks of lines: a block is read, scored in as few passes as
/// possible, and written. It is used for pairs of lines and for single texts.
#ifndef HEDDLE_RUNTIME_TOOLS_SCORE_SCOREDBLOCKS_H
#define HEDDLE_RUNTIME_TOOLS_SCORE_SCOREDBLOCKS_H

#include "heddle/Status.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// A line, or a pair of lines, and its result.
template <typename RequestType> struct Scored {
  using Request = RequestType;

  /// The name in messages.
  std::string where;
  /// Empty if the line is blank or has a failure: it is written without a score.
  std::optional<Request> request = std::nullopt;
  Status status = {};
  std::vector<float> scores = {};
};

/// How scoring ended, unless the output failed.
struct ScoredBlocks {
  int64_t written = 0;
  /// The failure that ended the input; success at its end.
  Status failure;
};

/// Reads the next items; `more` is set if others may follow. If an item ends the run, the block
/// holds the items before it.
template <typename Run>
Status readBlock(Run &run, std::vector<typename Run::Item> &block, bool &more) {
  // Small enough that an answer does not wait long.
  constexpr size_t blockItems = 64;
  while (block.size() < blockItems && !interrupted()) {
    Result<std::optional<typename Run::Item>> item = run.next();
    more = item.ok() && item->has_value();
    if (!more) {
      return item.status();
    }
    if (!(*item)->status.ok() && !run.errors.goOn((*item)->status)) {
      more = false;
      return {};
    }
    block.push_back(*std::move(*item));
  }
  return {};
}

/// Sets the scores of every item with a request. If the block cannot be scored, its items are
/// scored one by one, to attribute the failure to a line. Fails if that is no line's, as when a
/// device is lost: the block then holds the items before.
template <typename Run> Status scoreBlock(Run &run, std::vector<typename Run::Item> &block) {
  std::vector<typename Run::Item *> asked;
  std::vector<typename Run::Item::Request> requests;
  for (typename Run::Item &item : block) {
    if (item.request) {
      asked.push_back(&item);
      requests.push_back(*item.request);
    }
  }
  Result<std::vector<std::vector<float>>> scores = run.scoresOf(requests);
  for (size_t i = 0; i < asked.size(); ++i) {
    if (scores.ok()) {
      asked[i]->scores = std::move((*scores)[i]);
      continue;
    }
    Result<std::vector<std::vector<float>>> alone = run.scoresOf({&requests[i], 1});
    if (alone.ok()) {
      asked[i]->scores = std::move(alone->front());
      continue;
    }
    if (alone.status().code() == StatusCode::Internal) {
      const Status failure = alone.status().annotate(placesFrom(asked[i]->where, asked.size() - i));
      block.resize(static_cast<size_t>(asked[i] - block.data()));
      return failure;
    }
    asked[i]->status = alone.status().annotate(asked[i]->where);
    if (!run.errors.goOn(asked[i]->status)) {
      block.resize(static_cast<size_t>(asked[i] - block.data()));
      return {};
    }
  }
  return {};
}

/// Reads, scores and writes until the input ends, or a failure or a signal ends the run. A run has
/// an `Item`, which is Scored; `errors`; next(), which returns the next item, if any, and whose
/// failure ends the input; scoresOf(), which scores requests; and write(). Fails only if write()
/// does.
template <typename Run>
Result<ScoredBlocks> scoreBlocks(Run &run, Progress &progress, std::optional<int64_t> total) {
  ScoredBlocks result;
  for (bool more = true; more && !run.errors.stopped() && !interrupted();) {
    std::vector<typename Run::Item> block;
    result.failure = readBlock(run, block, more);
    if (const Status failure = scoreBlock(run, block); !failure.ok()) {
      result.failure = failure;
      more = false;
    }
    HEDDLE_TRY(run.write(block));
    result.written += static_cast<int64_t>(block.size());
    progress.update(result.written, total);
  }
  return result;
}

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_SCORE_SCOREDBLOCKS_H
