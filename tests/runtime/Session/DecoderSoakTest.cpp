// SPDX-License-Identifier: Apache-2.0
///
/// Long random runs of decoding, with caches, with states and with both, in memory that is
/// occasionally full: the same bits as alone, and every block and state row is released.
#include "tests/runtime/Session/DecoderModel.h"

#include <deque>

using namespace heddle;
using fixture::vocabulary;

namespace {
/// The expected state of a hypothesis.
struct Known {
  HypothesisId id;
  size_t source;
  Tokens tokens;
};

/// A model, and a cache size that is occasionally insufficient.
struct SoakCase {
  const char *name;
  Model (*model)();
  uint64_t cacheBytes;
};

class DecoderSoak : public testing::TestWithParam<SoakCase> {
protected:
  void encode();
  void start();
  void fork();
  void releaseAt(size_t at);
  void releaseOne() { releaseAt(random() % known.size()); }
  void releaseSource();
  void decode(bool compares);
  void step(int call);

  std::mt19937 random{9};
  const Model model = GetParam().model();
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder(
      {.threads = 2, .schedule = Schedule::Cooperative, .cacheBytes = GetParam().cacheBytes},
      model);
  const std::unique_ptr<PagedDecoder> oracle = makeDecoder({}, model);
  std::vector<std::pair<SourceId, Tokens>> sources;
  std::vector<Known> known;
  size_t refused = 0;
  Recorder recorder;
};

void DecoderSoak::encode() {
  const Tokens source = randomTokens(random, random() % 60 + 1, fixture::words);
  const SourceView view = source;
  SourceId id{};
  const Status status = decoder->encode({&view, 1}, {&id, 1});
  refused += status.ok() ? 0 : 1;
  if (status.ok()) {
    sources.emplace_back(id, source);
  }
}

void DecoderSoak::start() {
  const size_t source = random() % sources.size();
  known.push_back({*decoder->start(sources[source].first), source, {}});
}

void DecoderSoak::fork() {
  const Known original = known[random() % known.size()];
  known.push_back({*decoder->fork(original.id), original.source, original.tokens});
}

void DecoderSoak::releaseAt(size_t at) {
  decoder->release(known[at].id);
  known.erase(known.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Releases the last source and its hypotheses.
void DecoderSoak::releaseSource() {
  const size_t last = sources.size() - 1;
  for (size_t i = known.size(); i-- > 0;) {
    if (known[i].source == last) {
      releaseAt(i);
    }
  }
  decoder->release(sources[last].first);
  sources.pop_back();
}

/// Extends some of the hypotheses, in one call.
void DecoderSoak::decode(bool compares) {
  std::deque<Tokens> added;
  std::vector<Extension> extensions;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < known.size(); ++i) {
    const size_t count = random() % 10 == 0 ? random() % 20 + 1 : 1;
    if (random() % 3 != 0 && known[i].tokens.size() + count <= fixture::longestTarget) {
      added.push_back(randomTokens(random, count, vocabulary));
      extensions.push_back({known[i].id, added.back()});
      chosen.push_back(i);
    }
  }
  const Status status = decoder->decode(extensions, recorder);
  refused += status.ok() ? 0 : 1;
  ASSERT_TRUE(status.ok() || status.code() == StatusCode::ResourceExhausted);
  for (size_t i = 0; status.ok() && i < chosen.size(); ++i) {
    Tokens &tokens = known[chosen[i]].tokens;
    tokens.insert(tokens.end(), added[i].begin(), added[i].end());
  }
  if (status.ok() && !chosen.empty() && compares) {
    const Known &last = known[chosen.back()];
    const std::vector<float> alone =
        logitsOf(*oracle, sources[last.source].second, last.tokens, {last.tokens.size()});
    ASSERT_EQ(std::vector<float>(recorder.logits.end() - vocabulary, recorder.logits.end()),
              std::vector<float>(alone.end() - vocabulary, alone.end()));
  }
}

void DecoderSoak::step(int call) {
  const uint32_t kind = random() % 8;
  if (kind == 0 && sources.size() < 12) {
    encode();
  } else if (kind == 1 && !sources.empty()) {
    start();
  } else if (kind == 2 && !known.empty()) {
    fork();
  } else if (kind == 3 && !known.empty()) {
    releaseOne();
  } else if (kind == 4 && random() % 8 == 0 && !sources.empty()) {
    releaseSource();
  } else {
    decode(call % 20 == 0);
  }
}
} // namespace

TEST_P(DecoderSoak, ALongRandomRunGivesEveryBlockBack) {
  for (int call = 0; call < 3000; ++call) {
    ASSERT_NO_FATAL_FAILURE(step(call));
    for (const Known &each : known) {
      ASSERT_EQ(decoder->length(each.id), static_cast<int64_t>(each.tokens.size()));
    }
    // Makes room, so that the run continues.
    while (known.size() > 24) {
      releaseAt(known.size() - 1);
    }
  }
  EXPECT_GT(refused, 0u);
  for (const Known &each : known) {
    decoder->release(each.id);
  }
  for (const auto &[id, tokens] : sources) {
    decoder->release(id);
  }
  EXPECT_EQ(decoder->blocksInUse(), 0);
}

static const SoakCase soakCases[] = {
    {"Caches", generatingModel, 60 * blockBytes},
    {"CachesAndStates", averagingModel, 60 * blockBytes},
    // The memory, and less than 24 rows.
    {"States", historylessModel, 22 * blockBytes + 8 * stateRowBytes},
};
INSTANTIATE_TEST_SUITE_P(Models, DecoderSoak, testing::ValuesIn(soakCases),
                         [](const testing::TestParamInfo<SoakCase> &info) {
                           return info.param.name;
                         });
