// SPDX-License-Identifier: Apache-2.0
///
/// Memories whose positions are rows derived from tokens: a decoder gives the same bits as if the
/// same rows were the tokens of a source of floats, whatever the batch; searches, commands and
/// errors count those positions.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Generation.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

namespace heddle {
namespace {

constexpr int64_t words = 37, width = 24, blockSize = 3;

/// Writes attention of two heads from rows to caches.
Tensor attend(const Scope &scope, const Tensor &x, const Segments &rows, const Cache &key,
              const Cache &value, const Segments &memory, Tensor *probabilities = nullptr) {
  const Tensor scores = scope.contract("thd,khd->thk", x.splitHeads(2),
                                       key.rows(memory).splitHeads(2), rows, memory) *
                        0.3;
  const Tensor seen = scores.softmax(memory);
  if (probabilities != nullptr) {
    *probabilities = seen;
  }
  return scope.contract("thk,khd->thd", seen, value.rows(memory).splitHeads(2), rows, memory)
      .mergeHeads();
}

void remember(const Scope &scope, Entry &entry, const Tensor &x, const Segments &rows) {
  for (const char *name : {"key", "value"}) {
    entry.cache(name, width).append(scope.linear(name, x, width), rows);
  }
}

void writeDecode(ModelBuilder &model) {
  Entry entry = model.entry("decode");
  const Scope scope = model.scope();
  const Segments rows = entry.segments();
  const Tensor x = scope.gather("words", entry.input("target"), words, width);
  const Segments memory = entry.memory("memory");
  Tensor probabilities;
  const Tensor seen = attend(scope, x, rows, entry.cache("key", width), entry.cache("value", width),
                             memory, &probabilities);
  const State sum = entry.state("sum", width);
  const Tensor mean = sum.prefixMean(x, rows);
  sum.accumulate(x, rows);
  entry.output("seen", seen);
  entry.output("logits", scope.linear("out", seen + mean, words));
  entry.output("attention", probabilities);
  Generation generation;
  generation.start = {1};
  generation.end = {2};
  generation.pad = 0;
  generation.maxLength = 12;
  model.generation(generation);
}

/// Compiles a model with random parameters, which depend only on their names.
std::string compileTo(const std::string &path, ModelBuilder &model,
                      const std::vector<std::string> &disabled) {
  std::vector<TensorValues> tensors;
  std::vector<std::vector<float>> values;
  for (const Parameter &parameter : model.parameters()) {
    size_t count = 1;
    for (const int64_t size : parameter.shape()) {
      count *= static_cast<size_t>(size);
    }
    std::mt19937 random(static_cast<unsigned>(parameter.symbol().size() * 31) +
                        static_cast<unsigned char>(parameter.symbol()[0]));
    std::normal_distribution<float> normal(0, 0.4F);
    values.emplace_back(count);
    std::generate(values.back().begin(), values.back().end(), [&] { return normal(random); });
    tensors.emplace_back(parameter.symbol(), parameter.shape(), values.back());
  }
  return compileText(path, model.text(), std::move(tensors), disabled);
}

/// Compiles sources of tokens, whose memory has a position for each block.
std::string compileBlocks(const TemporaryFolder &folder, const std::vector<std::string> &disabled) {
  ModelBuilder model("test");
  Entry encode = model.entry("encode");
  const Segments rows = encode.segments(), blocks = rows.blocks(blockSize);
  const Tensor x = model.scope().gather("words", encode.input("source"), words, width);
  const Tensor pooled = x.pool(transformer::Pooling::Mean, rows, blocks);
  remember(model.scope(), encode, pooled, blocks);
  encode.output("pooled", pooled);
  writeDecode(model);
  return compileTo(folder / "blocks.so", model, disabled);
}

/// Compiles sources of rows, each of which is a position of the memory.
std::string compileRows(const TemporaryFolder &folder, const std::vector<std::string> &disabled) {
  ModelBuilder model("test");
  Entry encode = model.entry("encode");
  const Tensor x = encode.input("rows", width);
  remember(model.scope(), encode, x, encode.segments());
  encode.output("taken", x * 1);
  writeDecode(model);
  return compileTo(folder / "rows.so", model, disabled);
}

/// The logits of a target after each source, all decoded together, and the rows of "seen".
struct Decoded {
  std::vector<float> logits, seen;
  bool operator==(const Decoded &) const = default;
};

Decoded decodeAll(PagedDecoder &decoder, const std::vector<SourceView> &sources,
                  const Tokens &target, std::vector<float> *pooled = nullptr) {
  std::vector<SourceId> ids(sources.size());
  std::vector<Output> outputs;
  if (pooled != nullptr) {
    outputs.push_back({"pooled", *pooled});
  }
  EXPECT_EQ(decoder.encode(sources, ids, outputs).message(), "");
  std::vector<Extension> extensions;
  for (const SourceId id : ids) {
    extensions.push_back({*decoder.start(id), target});
  }
  Recorder recorder;
  std::vector<float> seen(sources.size() * target.size() * width);
  const std::vector<Output> rows = {{"seen", seen}};
  EXPECT_EQ(decoder.decode(extensions, recorder, {.rows = rows}).message(), "");
  for (size_t i = 0; i < ids.size(); ++i) {
    decoder.release(extensions[i].hypothesis);
    decoder.release(ids[i]);
  }
  EXPECT_EQ(decoder.blocksInUse(), 0);
  return {recorder.logits, seen};
}

std::unique_ptr<PagedDecoder> decoderOf(const std::string &path, const std::string &isa,
                                        int threads) {
  const Result<Model> model = Model::load(path, {.isa = isa});
  EXPECT_EQ(model.status().message(), "");
  auto decoder =
      PagedDecoder::create(*model, {.threads = threads, .schedule = Schedule::Cooperative});
  EXPECT_EQ(decoder.status().message(), "");
  return *std::move(decoder);
}

TEST(MemoryRows, OfBlocksGiveTheBitsOfTheSameRowsAsTokens) {
  std::mt19937 random(4);
  std::vector<Tokens> sources;
  std::vector<SourceView> ofTokens;
  size_t blocks = 0;
  for (const size_t length : {1U, 3U, 50U, 2U, 97U, 130U}) {
    sources.push_back(randomTokens(random, length, words));
    blocks += (length + blockSize - 1) / blockSize;
  }
  ofTokens.assign(sources.begin(), sources.end());
  const Tokens target = randomTokens(random, 9, words);
  for (const std::vector<std::string> &disabled : {std::vector<std::string>{}, passNames()}) {
    const TemporaryFolder folder;
    const std::string given = compileBlocks(folder, disabled);
    const std::string taken = compileRows(folder, disabled);
    for (const std::string &isa : runnableTargets(given)) {
      const auto first = decoderOf(given, isa, 1), second = decoderOf(taken, isa, 2);
      std::vector<float> pooled(blocks * width);
      const Decoded found = decodeAll(*first, ofTokens, target, &pooled);
      std::vector<std::vector<float>> rows;
      std::vector<SourceView> ofRows;
      size_t begin = 0;
      for (const Tokens &source : sources) {
        const size_t end = begin + (source.size() + blockSize - 1) / blockSize * width;
        rows.emplace_back(pooled.begin() + static_cast<std::ptrdiff_t>(begin),
                          pooled.begin() + static_cast<std::ptrdiff_t>(end));
        begin = end;
      }
      ofRows.assign(rows.begin(), rows.end());
      EXPECT_TRUE(decodeAll(*second, ofRows, target) == found) << isa;
      // Each alone.
      Decoded alone;
      for (const SourceView &source : ofTokens) {
        const auto other = decoderOf(given, isa, 2);
        std::vector<float> own((source.bytes.size() / sizeof(int32_t) + blockSize - 1) / blockSize *
                               width);
        const Decoded one = decodeAll(*other, {source}, target, &own);
        alone.logits.insert(alone.logits.end(), one.logits.begin(), one.logits.end());
        alone.seen.insert(alone.seen.end(), one.seen.begin(), one.seen.end());
      }
      EXPECT_TRUE(alone == found) << isa;
    }
  }
}

TEST(MemoryRows, AreWhatSearchesCount) {
  const TemporaryFolder folder;
  const Result<Model> model = Model::load(compileBlocks(folder, {}));
  ASSERT_EQ(model.status().message(), "");
  Result<Generator> generator = Generator::create(*model);
  ASSERT_EQ(generator.status().message(), "");
  GenerationRequest request{.source = {5, 6, 7, 8}};
  request.options.attention = true;
  request.options.coveragePenalty = 0.1F;
  request.options.beam = 2;
  ASSERT_TRUE(generator->add(request).ok());
  std::vector<GenerationResult> results;
  while (!generator->idle()) {
    auto finished = generator->step();
    ASSERT_EQ(finished.status().message(), "");
    std::move(finished->begin(), finished->end(), std::back_inserter(results));
  }
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].status.message(), "");
  const Hypothesis &best = results[0].hypotheses[0];
  // Two blocks of four tokens.
  EXPECT_GE(best.attention.size(), best.tokens.size() * 2);
  EXPECT_EQ(best.attention.size() % 2, 0U);
  for (size_t i = 0; i + 1 < best.attention.size(); i += 2) {
    EXPECT_NEAR(best.attention[i] + best.attention[i + 1], 1, 1e-5);
  }
}

TEST(MemoryRows, TakeTheirPartOfEachToken) {
  const TemporaryFolder folder;
  const std::string path = compileBlocks(folder, {});
  const Result<Model> model = Model::load(path);
  ASSERT_EQ(model.status().message(), "");
  // Keys and values, of three tokens each.
  constexpr uint64_t bytes = 2 * ((width * sizeof(float) + 2) / 3);
  for (const char *const name : {"encode", "decode"}) {
    for (const CacheInfo &cache : model->findEntry(name)->caches) {
      EXPECT_EQ(cache.rows.text(), cache.state ? "tokens" : "blocks(tokens, 3)") << cache.name;
    }
  }
  const tools::Outcome info = tools::runHeddle({"info", path, "--json"});
  const auto described = nlohmann::json::parse(info.output, nullptr, false);
  EXPECT_EQ(described["caches"]["memory"], bytes);
  EXPECT_EQ(described["entries"][0]["cache_bytes_per_token_appended"], bytes);
  EXPECT_EQ(described["entries"][1]["cache_bytes_per_token_read"], bytes);
}

TEST(MemoryRows, ThatAreNoTokensAreNotDrawn) {
  const TemporaryFolder folder;
  const std::string path = compileBlocks(folder, {});
  folder.write("text.txt", "5 6 7\n");
  const tools::Outcome outcome =
      tools::runHeddle({"analyze", path, "--input", folder / "text.txt", "--tokens"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("the source is remembered as rows of blocks(tokens, 3), expected "
                               "tokens, which attention is shown for"),
            std::string::npos)
      << outcome.error;
}

TEST(MemoryRows, AreNoHistories) {
  const TemporaryFolder folder;
  ModelBuilder model("test");
  Entry encode = model.entry("encode");
  encode.output("x", model.scope().gather("words", encode.input("source"), words, width));
  Entry decode = model.entry("decode");
  const Segments rows = decode.segments(), blocks = rows.blocks(2);
  const Tensor x = model.scope().gather("words", decode.input("target"), words, width);
  decode.cache("c", width).append(x.pool(transformer::Pooling::Mean, rows, blocks), blocks);
  decode.output("logits", model.scope().linear("out", x, words));
  // An unread cache would be removed.
  Entry other = model.entry("other");
  const Tensor y = model.scope().gather("words", other.input("target"), words, width);
  const Segments memory = other.memory("memory");
  const Cache read = other.cache("c", width);
  other.output("y", attend(model.scope(), y, other.segments(), read, read, memory));
  const Result<Model> loaded = Model::load(compileTo(folder / "history.so", model, {}));
  ASSERT_EQ(loaded.status().message(), "");
  const std::string message(PagedDecoder::create(*loaded, {}).status().message());
  EXPECT_NE(message.find("the model does not generate: entry \"decode\" appends rows of "
                         "\"blocks(tokens, 2)\", expected rows of tokens"),
            std::string::npos)
      << message;
}

} // namespace
} // namespace heddle
