// SPDX-License-Identifier: Apache-2.0
///
/// The hash function and the bookkeeping.
#include "tests/runtime/Generate/FakeDecoder.h"

#include "runtime/Kernels/LogSumExp.h"
#include "runtime/Kernels/TopK.h"
#include "tests/runtime/Artifact/OrderReference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <new>
#include <thread>
#include <utility>

namespace heddle {

static uint64_t mixed(uint64_t state, uint64_t value) {
  state = (state ^ value) * 0x9e3779b97f4a7c15U;
  return state ^ (state >> 29);
}

static uint64_t hashOf(std::span<const int32_t> source, std::span<const int32_t> target) {
  uint64_t state = 17;
  for (const int32_t token : source) {
    state = mixed(state, static_cast<uint64_t>(token) + 1);
  }
  state = mixed(state, 0xffff);
  for (const int32_t token : target) {
    state = mixed(state, static_cast<uint64_t>(token) + 1);
  }
  return state;
}

static float fraction(uint64_t state, uint64_t number) {
  return static_cast<float>(mixed(mixed(state, number), 99) >> 40) / static_cast<float>(1 << 24);
}

std::vector<float> HashModel::logits(std::span<const int32_t> source,
                                     std::span<const int32_t> target) const {
  const uint64_t state = hashOf(source, target);
  std::vector<float> values(static_cast<size_t>(vocabulary));
  for (size_t token = 0; token < values.size(); ++token) {
    const float uniform = fraction(state, token);
    values[token] = 6 * uniform * uniform - 3;
    if (token == 2) {
      values[token] = -1 + 0.5F * static_cast<float>(target.size()) + uniform;
    }
    if (levels > 0) {
      values[token] =
          std::round(values[token] * static_cast<float>(levels)) / static_cast<float>(levels);
    }
  }
  return values;
}

std::vector<float> HashModel::attention(std::span<const int32_t> source,
                                        std::span<const int32_t> target, int64_t heads) const {
  const uint64_t state = hashOf(source, target);
  std::vector<float> weights;
  for (int64_t head = 0; head < heads; ++head) {
    float sum = 0;
    const size_t begin = weights.size();
    for (size_t position = 0; position < source.size(); ++position) {
      const auto number = static_cast<uint64_t>(head * 1000) + position;
      weights.push_back(0.01F + fraction(state, number));
      sum += weights.back();
    }
    for (size_t i = begin; i < weights.size(); ++i) {
      weights[i] /= sum;
    }
  }
  return weights;
}

void FakeDecoder::call() {
  if (callsToThrow < 0) {
    return;
  }
  --callsToThrow;
  if (callsToThrow < 0) {
    throw std::bad_alloc();
  }
}

Status FakeDecoder::encode(std::span<const SourceView> texts, std::span<SourceId> ids) {
  call();
  std::vector<std::vector<int32_t>> tokens;
  int64_t positions = blocksInUse();
  for (const SourceView &text : texts) {
    tokens.emplace_back(text.bytes.size() / sizeof(int32_t));
    // A prompt has no source: there is no address to copy from.
    if (!text.bytes.empty()) {
      std::memcpy(tokens.back().data(), text.bytes.data(), text.bytes.size());
    }
    positions += static_cast<int64_t>(tokens.back().size());
  }
  if (capacity > 0 && positions > capacity) {
    return HEDDLE_ERROR(ResourceExhausted, "the cache is full");
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    ids[i] = SourceId(nextNumber++);
    sources[ids[i]] = std::move(tokens[i]);
  }
  return {};
}

int64_t FakeDecoder::positions(SourceId source) const {
  return static_cast<int64_t>(sources.at(source).size());
}

void FakeDecoder::release(SourceId source) {
  for (const auto &[id, text] : texts) {
    EXPECT_NE(text.source, source) << "a hypothesis of it is still there";
  }
  EXPECT_EQ(sources.erase(source), 1U);
}

Result<HypothesisId> FakeDecoder::start(SourceId source) {
  call();
  EXPECT_TRUE(sources.contains(source));
  const auto id = HypothesisId(nextNumber++);
  texts[id] = {source, {}};
  return id;
}

Result<HypothesisId> FakeDecoder::fork(HypothesisId hypothesis) {
  if (forksToRefuse > 0) {
    --forksToRefuse;
    return HEDDLE_ERROR(ResourceExhausted, "no memory for a fork");
  }
  EXPECT_TRUE(texts.contains(hypothesis));
  const auto id = HypothesisId(nextNumber++);
  texts[id] = texts[hypothesis];
  return id;
}

void FakeDecoder::release(HypothesisId hypothesis) { EXPECT_EQ(texts.erase(hypothesis), 1U); }

int64_t FakeDecoder::length(HypothesisId hypothesis) const {
  return static_cast<int64_t>(texts.at(hypothesis).tokens.size());
}

int64_t FakeDecoder::blocksInUse() const {
  size_t positions = 0;
  for (const auto &[id, source] : sources) {
    positions += source.size();
  }
  for (const auto &[id, text] : texts) {
    positions += text.tokens.size();
  }
  return static_cast<int64_t>(positions);
}

/// Reduces the chunks of a row to pairs (heddle/Selection.h).
static std::vector<float> piecesOf(const std::vector<float> &logits) {
  std::vector<float> pairs;
  const auto all = static_cast<int64_t>(logits.size());
  for (int64_t first = 0; first < all; first += logitsChunk) {
    const ExponentialSum sum =
        exponentialSum(logits.data() + first, std::min(logitsChunk, all - first));
    pairs.insert(pairs.end(), {sum.largest, sum.sum});
  }
  return pairs;
}

/// Selects the best of a row.
static std::vector<SelectedToken> bestOf(const std::vector<float> &logits, int64_t most) {
  std::vector<RankedValue> ranked;
  for (size_t token = 0; token < logits.size(); ++token) {
    const float value = logits[token];
    if (value > -std::numeric_limits<float>::infinity()) {
      ranked.push_back({value, static_cast<int32_t>(token)});
    }
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const RankedValue &a, const RankedValue &b) { return ranksBefore(a, b); });
  ranked.resize(static_cast<size_t>(most), {-std::numeric_limits<float>::infinity(), 0});
  std::vector<SelectedToken> best;
  for (const RankedValue &each : ranked) {
    best.push_back({each.value, each.number});
  }
  return best;
}

/// Selects from rows that need nothing else, and makes their logits NaN.
void FakeDecoder::select(std::vector<Row> &rows, LogitsSink &sink) {
  for (size_t index = 0; index < rows.size(); ++index) {
    const auto number = static_cast<int64_t>(index);
    const int64_t best = sink.wantsRow(number) ? sink.bestNeeded(number) : -1;
    deliveredRows += sink.wantsRow(number) && best < 0 ? 1 : 0;
    if (best < 0) {
      continue;
    }
    EXPECT_LE(best, std::min(selects, model.vocabulary));
    ++selectedRows;
    Row &row = rows[index];
    std::vector<int32_t> excluded;
    sink.exclude(number, excluded);
    for (const int32_t token : excluded) {
      row.logits[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
    row.pieces = piecesOf(row.logits);
    row.best = bestOf(row.logits, best);
    std::fill(row.logits.begin(), row.logits.end(), std::numeric_limits<float>::quiet_NaN());
  }
}

/// Delivers chunks in descending order, distributed over the workers, so that nothing relies on
/// their order.
void FakeDecoder::deliver(const std::vector<Row> &rows, LogitsSink &sink) const {
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].pieces.empty()) {
      sink.deliverSelected(static_cast<int64_t>(row), {rows[row].pieces, rows[row].best});
    }
  }
  const int64_t chunks = (model.vocabulary + logitsChunk - 1) / logitsChunk;
  const auto work = [&](int worker) {
    std::vector<float> piece(rows.size() * logitsChunk);
    for (int64_t chunk = chunks - 1 - worker; chunk >= 0; chunk -= workers) {
      if (!sink.wants(chunk)) {
        continue;
      }
      const int64_t first = chunk * logitsChunk;
      const int64_t count = std::min(logitsChunk, model.vocabulary - first);
      for (size_t row = 0; row < rows.size(); ++row) {
        std::copy_n(rows[row].logits.begin() + first, count,
                    piece.begin() + static_cast<std::ptrdiff_t>(row) * logitsChunk);
      }
      sink.deliver(worker, chunk, count, piece.data(), logitsChunk);
    }
  };
  std::vector<std::thread> threads;
  for (int worker = 1; worker < workers; ++worker) {
    threads.emplace_back(work, worker);
  }
  work(0);
  for (std::thread &thread : threads) {
    thread.join();
  }
}

void FakeDecoder::attend(std::span<const Row> rows, AttentionWeights &attention) const {
  attention.heads = 2;
  attention.pitch = 0;
  for (const Row &row : rows) {
    attention.pitch = std::max(attention.pitch, static_cast<int64_t>(row.source.size()));
  }
  attention.values.assign(rows.size() * static_cast<size_t>(2 * attention.pitch), -1);
  float *to = attention.values.data();
  for (const Row &row : rows) {
    const std::vector<float> weights = model.attention(row.source, row.tokens, 2);
    for (size_t head = 0; head < 2; ++head, to += attention.pitch) {
      std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(head * row.source.size()),
                  row.source.size(), to);
    }
  }
}

/// Returns the tokens of an extension, which may be the best token of the last step.
Result<std::vector<int32_t>> FakeDecoder::tokensOf(const Extension &extension) {
  if (extension.order != nullptr) {
    // order() has appended it.
    std::vector<int32_t> &own = texts.at(extension.hypothesis).tokens;
    const int32_t token = own.back();
    own.pop_back();
    return std::vector{token};
  }
  if (extension.bestOf < 0) {
    EXPECT_FALSE(extension.tokens.empty());
    return std::vector(extension.tokens.begin(), extension.tokens.end());
  }
  const auto row = static_cast<size_t>(extension.bestOf);
  if (row >= lastRows.size() || lastRows[row].best.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "no token was selected from the row");
  }
  return std::vector{lastRows[row].best.front().token};
}

/// Orders the continuations of a search, whose extensions are the first ones, and makes each text
/// that of the hypothesis which it continues.
Status FakeDecoder::order(std::span<const Extension> extensions) {
  const BeamOrder &search = *extensions.front().order;
  EXPECT_EQ(search.sums.size(), search.hypotheses.size());
  std::vector<float> pairs;
  size_t best = 0;
  size_t pieces = 0;
  for (size_t i = 0; i < search.hypotheses.size(); ++i) {
    const Row &row = lastRows.at(static_cast<size_t>(search.firstRow) + i);
    EXPECT_EQ(row.tokens, texts.at(search.hypotheses[i]).tokens);
    best = row.best.size();
    pieces = row.pieces.size() / selectedPair;
    pairs.insert(pairs.end(), row.pieces.begin(), row.pieces.end());
    for (const SelectedToken &each : row.best) {
      pairs.insert(pairs.end(), {each.logit, std::bit_cast<float>(each.token)});
    }
  }
  const HeddleOrderedSearch described = {
      .pairs = pairs.data(),
      .pitch = static_cast<int64_t>((pieces + best) * selectedPair * sizeof(float)),
      .chunks = static_cast<int64_t>(pieces),
      .best = std::min(static_cast<int64_t>(best), search.tokensOfRow()),
      .hypotheses = static_cast<int64_t>(search.hypotheses.size()),
      .wanted = search.wanted,
      .width = search.width,
      .refills = search.refillsPlaces ? 1 : 0,
      .sums = search.sums.data(),
      .ends = search.ends.data(),
      .end_count = static_cast<int64_t>(search.ends.size()),
      .banned = search.banned.data(),
      .banned_count = static_cast<int64_t>(search.banned.size()),
      .first_row = 0,
      .first_slot = 0,
      .whole_blocks = 0,
      .has_partial = 0};
  const OrderedContinuations found(described);
  found.fill([&](int64_t place, const OrderedSlot &slot) {
    const Extension &extension = extensions[static_cast<size_t>(place)];
    EXPECT_EQ(extension.order, &search);
    Text &text = texts.at(extension.hypothesis);
    text.tokens = texts.at(search.hypotheses[static_cast<size_t>(slot.hypothesis)]).tokens;
    text.tokens.push_back(slot.token);
    text.isOpen = true;
  });
  ++searchesOrdered;
  return {};
}

void FakeDecoder::settle(std::span<const SettledExtension> extensions) {
  for (const SettledExtension &each : extensions) {
    Text &text = texts.at(each.hypothesis);
    EXPECT_TRUE(std::exchange(text.isOpen, false));
    std::vector<int32_t> expected = texts.at(each.parent).tokens;
    expected.push_back(each.token);
    EXPECT_EQ(text.tokens, expected) << "the search and the device have decided differently";
  }
}

Result<StepId> FakeDecoder::begin(std::span<const Extension> extensions, LogitsSink &sink,
                                  AttentionWeights *attention) {
  call();
  // Only steps that follow another one begin while that is under way.
  const bool follows = std::ranges::any_of(extensions, &Extension::follows);
  EXPECT_EQ(begun.size(), follows ? 1U : 0U);
  int64_t positions = blocksInUse();
  for (const Extension &extension : extensions) {
    positions += extension.count();
  }
  if (capacity > 0 && positions > capacity) {
    return HEDDLE_ERROR(ResourceExhausted, "the cache is full");
  }
  for (const Extension &extension : extensions) {
    if (sources.at(texts.at(extension.hypothesis).source) == refused) {
      return HEDDLE_ERROR(OutOfRange, "a token that the decoder does not read");
    }
  }
  std::vector<Row> rows;
  const BeamOrder *last = nullptr;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension &extension = extensions[i];
    if (extension.order != nullptr && extension.order != last) {
      HEDDLE_TRY(order(extensions.subspan(i)));
    }
    last = extension.order;
    HEDDLE_ASSIGN(const std::vector<int32_t> tokens, tokensOf(extension));
    Text &text = texts.at(extension.hypothesis);
    EXPECT_EQ(text.isOpen, extension.order != nullptr);
    const std::vector<int32_t> &source = sources.at(text.source);
    for (const int32_t token : tokens) {
      text.tokens.push_back(token);
      EXPECT_LE(static_cast<int64_t>(text.tokens.size()), longestTarget());
      rows.push_back({source, text.tokens, model.logits(source, text.tokens)});
      if (source == damaged) {
        rows.back().logits[5] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  ++steps;
  stepsAhead += follows ? 1 : 0;
  mostRows = std::max(mostRows, static_cast<int64_t>(rows.size()));
  if (selects > 0) {
    sink.offerSelection(std::min(selects, model.vocabulary), model.vocabulary);
  }
  sink.begin(static_cast<int64_t>(rows.size()), model.vocabulary, workers);
  if (selects > 0) {
    select(rows, sink);
  }
  lastRows = rows;
  begun.push_back({StepId(static_cast<uint64_t>(steps)), &sink, attention, std::move(rows)});
  return begun.back().id;
}

Status FakeDecoder::finish(StepId id) {
  const auto step = std::find_if(begun.begin(), begun.end(),
                                 [&](const BegunStep &each) { return each.id == id; });
  EXPECT_TRUE(step == begun.begin() && step != begun.end());
  const BegunStep done = std::move(*step);
  begun.erase(step);
  if (!nextFailure.ok()) {
    return std::exchange(nextFailure, {});
  }
  deliver(done.rows, *done.sink);
  if (done.attention != nullptr) {
    attend(done.rows, *done.attention);
  }
  return {};
}

void FakeDecoder::drop(StepId id) {
  EXPECT_EQ(std::erase_if(begun, [&](const BegunStep &each) { return each.id == id; }), 1U);
  ++stepsDropped;
}

} // namespace heddle
