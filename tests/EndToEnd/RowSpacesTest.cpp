// SPDX-License-Identifier: Apache-2.0
///
/// Rows derived from tokens: attention from tokens to pooled keys (Liu et al. 2018, "Generating
/// Wikipedia by summarizing long sequences"), a causal layer on blocks of tokens, and outputs of
/// tokens, blocks and sentences. Fused and unfused agree with a definition in double precision, and
/// a sentence has the same bits in every batch, chunking and number of threads.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace heddle {
namespace {

constexpr int words = 43;
constexpr int64_t width = 20;
constexpr int64_t heads = 2;
constexpr int64_t headSize = width / heads;
constexpr int64_t blockSize = 3;
constexpr int64_t longest = 40;

using Matrix = std::vector<std::vector<double>>;

struct Weight {
  const char *name;
  int64_t rows;
};
constexpr Weight weights[] = {{"words", words},   {"places", longest}, {"q", width},
                              {"k", width},       {"v", width},        {"block.q", width},
                              {"block.k", width}, {"block.v", width}};

/// Writes attention of %`queries` over %`keys` and %`values`, as primitive mathematics.
std::string attentionText(const std::string &name, const std::string &queries,
                          const std::string &keys, const std::string &values,
                          const std::string &segments, bool isCausal) {
  constexpr const char *text = R"(
  %{0}qh = transformer.split_heads %{1} : tensor<?x20xf32> -> tensor<?x2x10xf32>
  %{0}kh = transformer.split_heads %{2} : tensor<?x20xf32> -> tensor<?x2x10xf32>
  %{0}vh = transformer.split_heads %{3} : tensor<?x20xf32> -> tensor<?x2x10xf32>
  %{0}s0 = transformer.contract "thd,khd->thk" %{0}qh, %{0}kh in({4}) : tensor<?x2x10xf32>, tensor<?x2x10xf32> -> tensor<?x2x?xf32>
  %{0}s1 = transformer.scale %{0}s0, 3.125000e-01 : tensor<?x2x?xf32>
  %{0}m = transformer.mask {5} in({4})
  %{0}s2 = transformer.select %{0}m, %{0}s1 {{hidden = 0xFF800000 : f32}} : tensor<?x2x?xf32>
  %{0}p = transformer.softmax %{0}s2 in({6}) : tensor<?x2x?xf32>
  %{0}c = transformer.contract "thk,khd->thd" %{0}p, %{0}vh in({4}) : tensor<?x2x?xf32>, tensor<?x2x10xf32> -> tensor<?x2x10xf32>
  %{0} = transformer.merge_heads %{0}c : tensor<?x2x10xf32> -> tensor<?x20xf32>
)";
  return fmt::format(fmt::runtime(text), name, queries, keys, values, segments,
                     isCausal ? "causal" : "all", segments.substr(segments.find(' ') + 1));
}

std::string programText() {
  std::string text;
  for (const Weight &weight : weights) {
    text += fmt::format("transformer.parameter @{0} : tensor<{1}x20xf32> from \"{0}\"\n",
                        weight.name, weight.rows);
  }
  text += R"(
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x20xf32> {transformer.name = "tokens"}, tensor<?x20xf32> {transformer.name = "blocks"},
        tensor<?x20xf32> {transformer.name = "sentence"}) {
  %blocks = transformer.blocks %rows, 3
  %x = transformer.gather @words[%ids] : tensor<?x20xf32>
  %q = transformer.linear %x, @q : tensor<?x20xf32> -> tensor<?x20xf32>
  %k = transformer.linear %x, @k : tensor<?x20xf32> -> tensor<?x20xf32>
  %v = transformer.linear %x, @v : tensor<?x20xf32> -> tensor<?x20xf32>
  %kb = transformer.pool mean %k in(%rows) to(%blocks) : tensor<?x20xf32>
  %vb = transformer.pool max %v in(%rows) to(%blocks) : tensor<?x20xf32>
)";
  text += attentionText("compressed", "q", "kb", "vb", "%rows, %blocks", false);
  text += R"(
  %y = transformer.add %compressed, %x : tensor<?x20xf32>, tensor<?x20xf32>
  %first = transformer.pool cls %y in(%rows) to(%blocks) : tensor<?x20xf32>
  %at = transformer.positions %blocks
  %place = transformer.gather @places[%at] : tensor<?x20xf32>
  %z = transformer.add %first, %place : tensor<?x20xf32>, tensor<?x20xf32>
  %bq = transformer.linear %z, @block.q : tensor<?x20xf32> -> tensor<?x20xf32>
  %bk = transformer.linear %z, @block.k : tensor<?x20xf32> -> tensor<?x20xf32>
  %bv = transformer.linear %z, @block.v : tensor<?x20xf32> -> tensor<?x20xf32>
)";
  text += attentionText("causal", "bq", "bk", "bv", "%blocks, %blocks", true);
  return text + R"(
  %u = transformer.add %causal, %z : tensor<?x20xf32>, tensor<?x20xf32>
  %e = transformer.pool mean %u in(%blocks) : tensor<?x20xf32>
  return %y, %u, %e : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32>
}
)";
}

/// The program as a file, with its weights.
struct Program {
  Program() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(-0.5F, 0.5F);
    std::vector<SafetensorsTensor> tensors;
    values.reserve(std::size(weights));
    for (const Weight &weight : weights) {
      auto &own = values.emplace_back(static_cast<size_t>(weight.rows * width));
      std::generate(own.begin(), own.end(), [&] { return number(random); });
      tensors.push_back(
          {weight.name, ElementType::F32, {weight.rows, width}, std::as_bytes(std::span(own))});
    }
    path = folder / "program.mlir";
    EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
    folder.write("program.mlir", programText());
  }

  std::string compile(const std::vector<std::string> &options = {}) const {
    return compileModel(path, options);
  }
  Matrix weight(const std::string &name) const {
    Matrix matrix;
    for (size_t i = 0; i < std::size(weights); ++i) {
      for (int64_t row = 0; weights[i].name == name && row < weights[i].rows; ++row) {
        matrix.emplace_back(values[i].begin() + row * width, values[i].begin() + (row + 1) * width);
      }
    }
    return matrix;
  }

  TemporaryFolder folder;
  std::string path;
  std::vector<std::vector<float>> values;
};

const Program &program() {
  static const Program only;
  return only;
}

// --- The definition --------------------------------------------------------------------------

Matrix linear(const Matrix &x, const std::string &name) {
  const Matrix w = program().weight(name);
  Matrix y(x.size(), std::vector<double>(width));
  for (size_t row = 0; row < x.size(); ++row) {
    for (size_t n = 0; n < w.size(); ++n) {
      for (size_t k = 0; k < x[row].size(); ++k) {
        y[row][n] += x[row][k] * w[n][k];
      }
    }
  }
  return y;
}

Matrix add(Matrix x, const Matrix &y) {
  for (size_t row = 0; row < x.size(); ++row) {
    std::transform(x[row].begin(), x[row].end(), y[row].begin(), x[row].begin(), std::plus<>());
  }
  return x;
}

/// Computes "mean", "max" or "cls" of every `count` rows.
Matrix pool(const Matrix &x, const std::string &method, size_t count) {
  Matrix pooled;
  for (size_t first = 0; first < x.size(); first += count) {
    const size_t end = std::min(first + count, x.size());
    std::vector<double> row = x[first];
    for (size_t each = first + 1; each < end && method != "cls"; ++each) {
      for (size_t c = 0; c < row.size(); ++c) {
        row[c] = method == "max" ? std::max(row[c], x[each][c]) : row[c] + x[each][c];
      }
    }
    for (double &value : row) {
      value /= method == "mean" ? static_cast<double>(end - first) : 1;
    }
    pooled.push_back(row);
  }
  return pooled;
}

Matrix attention(const Matrix &q, const Matrix &k, const Matrix &v, bool isCausal) {
  Matrix result(q.size(), std::vector<double>(width));
  for (size_t row = 0; row < q.size(); ++row) {
    const size_t seen = isCausal ? row + 1 : k.size();
    for (int64_t first = 0; first < width; first += headSize) {
      std::vector<double> scores(seen);
      double sum = 0;
      for (size_t key = 0; key < seen; ++key) {
        for (int64_t c = first; c < first + headSize; ++c) {
          scores[key] += q[row][static_cast<size_t>(c)] * k[key][static_cast<size_t>(c)];
        }
        scores[key] = std::exp(scores[key] * 0.3125);
        sum += scores[key];
      }
      for (size_t key = 0; key < seen; ++key) {
        for (int64_t c = first; c < first + headSize; ++c) {
          result[row][static_cast<size_t>(c)] += scores[key] / sum * v[key][static_cast<size_t>(c)];
        }
      }
    }
  }
  return result;
}

/// Computes the outputs of one sentence.
std::map<std::string, Matrix> define(std::span<const int32_t> ids) {
  const Matrix table = program().weight("words"), places = program().weight("places");
  Matrix x;
  for (int32_t id : ids) {
    x.push_back(table[static_cast<size_t>(id)]);
  }
  const Matrix keys = pool(linear(x, "k"), "mean", blockSize);
  const Matrix values = pool(linear(x, "v"), "max", blockSize);
  const Matrix y = add(attention(linear(x, "q"), keys, values, false), x);
  Matrix z = pool(y, "cls", blockSize);
  z = add(z, {places.begin(), places.begin() + static_cast<std::ptrdiff_t>(z.size())});
  const Matrix u =
      add(attention(linear(z, "block.q"), linear(z, "block.k"), linear(z, "block.v"), true), z);
  return {{"tokens", y}, {"blocks", u}, {"sentence", pool(u, "mean", u.size())}};
}

/// Computes the outputs of a batch in the runtime's layout.
std::map<std::string, std::vector<float>> define(const Ragged &batch) {
  std::map<std::string, std::vector<float>> outputs;
  std::span<const int32_t> rest = batch.ids;
  for (int32_t length : batch.lengths) {
    for (const auto &[name, rows] : define(rest.first(static_cast<size_t>(length)))) {
      for (const std::vector<double> &row : rows) {
        outputs[name].insert(outputs[name].end(), row.begin(), row.end());
      }
    }
    rest = rest.subspan(static_cast<size_t>(length));
  }
  return outputs;
}

// --- Tests -----------------------------------------------------------------------------------

void expectDefined(const std::string &path, const Ragged &batch) {
  const auto expected = define(batch);
  for (const std::string &isa : runnableTargets(path)) {
    for (int threads : {1, 2}) {
      const auto found = runBinary(path, batch, isa, threads);
      ASSERT_EQ(found.size(), 3u) << isa;
      for (const auto &[name, values] : found) {
        EXPECT_LT(largestDifference(values, expected.at(name)), 2e-5F)
            << name << " on " << isa << ", " << threads << " threads";
      }
    }
  }
}

TEST(RowSpaces, FusedIsTheDefinition) {
  const std::string path = program().compile();
  ASSERT_FALSE(path.empty());
  expectDefined(path, randomSentences(9, longest, words, 3));
  // Every length of the last block, and a single token.
  for (int length = 1; length <= 7; ++length) {
    Ragged one;
    one.append(std::vector<int32_t>(static_cast<size_t>(length), length));
    expectDefined(path, one);
  }
}

TEST(RowSpaces, UnfusedIsTheDefinition) {
  const std::string path = program().compile(withoutPasses());
  ASSERT_FALSE(path.empty());
  expectDefined(path, randomSentences(9, longest, words, 4));
}

TEST(RowSpaces, BothAttentionsAreFused) {
  std::string text;
  ASSERT_EQ(runCommand(HEDDLE_BINARY_DIR "/bin/heddlec " + program().path + " --emit=fused", text),
            0)
      << text;
  EXPECT_EQ(text.find("transformer.softmax"), std::string::npos) << text;
  EXPECT_NE(text.find("transformer.attention"), std::string::npos);
  EXPECT_NE(text.find("visibility = #transformer.visibility<causal>"), std::string::npos);
}

/// Returns the rows of sentence `index` in an output of a batch.
std::vector<float> rowsOf(const PortInfo &port, const Ragged &batch, size_t index,
                          const std::vector<float> &values) {
  const std::span<const int32_t> lengths = batch.lengths;
  const int64_t first = port.rowsOf(lengths.first(index)) * width;
  const int64_t end = port.rowsOf(lengths.first(index + 1)) * width;
  return {values.begin() + first, values.begin() + end};
}

TEST(RowSpaces, ASentenceHasTheSameBitsInEveryBatch) {
  for (const std::string &path : {program().compile(), program().compile(withoutPasses())}) {
    ASSERT_FALSE(path.empty());
    auto model = Model::load(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const std::vector<PortInfo> &ports = model->findEntry("encode")->outputs;
    const Ragged batch = randomSentences(23, longest, words, 5);
    auto alone = Session::create(*model);
    ASSERT_TRUE(alone.ok());
    std::vector<std::map<std::string, std::vector<float>>> expected;
    std::span<const int32_t> rest = batch.ids;
    for (int32_t length : batch.lengths) {
      Ragged one;
      one.append(rest.first(static_cast<size_t>(length)));
      expected.push_back(runModel(*alone, "encode", one));
      rest = rest.subspan(static_cast<size_t>(length));
    }
    for (int threads : {1, 2}) {
      for (int64_t chunk : {0, 1, 50}) {
        for (Schedule schedule : {Schedule::Automatic, Schedule::Chunked, Schedule::Cooperative}) {
          auto session = Session::create(
              *model, {.threads = threads, .chunkTokens = chunk, .schedule = schedule});
          ASSERT_TRUE(session.ok());
          const auto found = runModel(*session, "encode", batch);
          for (const PortInfo &port : ports) {
            for (size_t i = 0; i < batch.lengths.size(); ++i) {
              ASSERT_EQ(rowsOf(port, batch, i, found.at(port.name)), expected[i].at(port.name))
                  << port.name << " of sentence " << i << ", " << threads << " threads, chunks of "
                  << chunk;
            }
          }
        }
      }
    }
  }
}

TEST(RowSpaces, PortsSayHowManyRowsASentenceHas) {
  auto model = Model::load(program().compile(), {.describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const EntryInfo &entry = *model->findEntry("encode");
  EXPECT_EQ(dimensionText(entry.outputs[1].shape[0]), "blocks(tokens, 3)");
  const std::vector<int32_t> lengths = {1, 3, 4, 7};
  EXPECT_EQ(entry.outputs[0].rowsOf(lengths), 15);
  EXPECT_EQ(entry.outputs[1].rowsOf(lengths), 1 + 1 + 2 + 3);
  EXPECT_EQ(entry.outputs[2].rowsOf(lengths), 4);
  // A table of 40 positions is for 40 blocks.
  EXPECT_EQ(entry.maxLength, longest * blockSize);
}

TEST(RowSpaces, AProfileCountsTheRowsThatThereAre) {
  auto model = Model::load(program().compile());
  ASSERT_TRUE(model.ok()) << model.status().message();
  Ragged batch; // 15 tokens, 1 + 1 + 2 + 3 blocks
  for (size_t length : {1, 3, 4, 7}) {
    batch.append(std::vector<int32_t>(length, 5));
  }
  for (int64_t chunk : {0, 4}) {
    auto session = Session::create(*model, {.threads = 2, .chunkTokens = chunk, .profile = true});
    ASSERT_TRUE(session.ok());
    runModel(*session, "encode", batch);
    std::map<std::string, double> flops, lookedUp;
    for (const DispatchProfile &dispatch : session->profile()) {
      const std::string kind = dispatch.kernel.substr(0, dispatch.kernel.find('_'));
      flops[kind] += dispatch.flops;
      lookedUp[kind] += kind == "gather" ? dispatch.weightBytes : 0;
    }
    // Queries, keys and values of tokens, then of blocks.
    EXPECT_EQ(flops["contract"], 3 * 2 * width * width * (15 + 7));
    // Each token with the blocks of its sentence, then each block with them.
    EXPECT_EQ(flops["attention"], 4 * width * ((1 + 3 + 4 * 2 + 7 * 3) + (1 + 1 + 2 * 2 + 3 * 3)));
    EXPECT_EQ(lookedUp["gather"], width * 4 * (15 + 7));
  }
}

TEST(RowSpaces, InfoSpreadsBlocksOverTokens) {
  auto model = Model::load(program().compile(), {.describeOnly = true});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const EntryInfo &entry = *model->findEntry("encode");
  EXPECT_EQ(entry.flopsPerToken, 2400U + 800U);
  EXPECT_EQ(entry.flopsPerTokenAndKey, 27U + 9U);
}

TEST(RowSpaces, RoomForTheWrongNumberOfRowsIsRefused) {
  auto model = Model::load(program().compile());
  ASSERT_TRUE(model.ok());
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok());
  const std::vector<int32_t> lengths = {4, 5}, ids(9, 1);
  std::vector<float> values(9 * width);
  const Input input{"input_ids", ids};
  const Output output{"blocks", values};
  const Status status = session->run("encode", lengths, {&input, 1}, {&output, 1});
  EXPECT_NE(status.message().find("has room for 180 floats, expected 4 rows of 20"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace heddle
