// SPDX-License-Identifier: Apache-2.0
///
/// Masks with a finite number are computed as written: fused attention agrees with the same program
/// unfused where hidden keys have weight, over rows and over caches, for random chains of masks,
/// factors and biases.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <fmt/format.h>

namespace heddle {
namespace {

constexpr int heads = 2, size = 8, width = heads * size, distance = 3;

/// The operations on the scores, and the maximum of the scores at the softmax.
struct Chain {
  std::string text;
  double largest;
};

/// Writes a chain of operations on scores, from the product on.
class ChainWriter {
public:
  explicit ChainWriter(double largest) : largest(largest) {}

  void scale(double factor) {
    step(fmt::format("transformer.scale {}, {:e} : {}", current, factor, scores));
    largest *= std::abs(factor);
  }
  void add(const std::string &mask, double hidden, double factor = 1) {
    const std::string bias = fmt::format("%b{}", count);
    text += fmt::format("  {0}m = transformer.mask_bias {1} {{hidden = {2:e} : f32}} : "
                        "tensor<?x?xf32>\n  {0} = transformer.scale {0}m, {3:e} : "
                        "tensor<?x?xf32>\n",
                        bias, mask, hidden, factor);
    step(fmt::format("transformer.add {}, {} : {}, tensor<?x?xf32>", current, bias, scores));
    largest += std::abs(hidden * factor);
  }
  void select(const std::string &mask, double hidden) {
    step(fmt::format("transformer.select {}, {} {{hidden = {:e} : f32}} : {}", mask, current,
                     hidden, scores));
    largest = std::max(largest, std::abs(hidden));
  }
  void addDistances(double most) {
    step(fmt::format("transformer.add {}, %distances : {}, {}", current, scores, scores));
    largest += most;
  }
  Chain finish() const {
    return {text + fmt::format("  %p = transformer.softmax {} in(%keys) : {}\n", current, scores),
            largest};
  }

private:
  void step(const std::string &operation) {
    current = fmt::format("%z{}", ++count);
    text += "  " + current + " = " + operation + "\n";
  }

  const std::string scores = fmt::format("tensor<?x{}x?xf32>", heads);
  std::string current = "%s", text;
  int count = 0;
  double largest;
};

/// Scores are about `deviation` before the chain, and at most 5 times that.
struct Masked {
  Chain chain;
  double deviation;
  double distances = 1;
  bool shared = false;
  /// A token whose values are infinite; -1 for none.
  int infinite = -1;
};

/// Returns masks and factors in any order; a bias by distance only if no factor follows it.
Masked randomMasked(uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  const double deviation = std::pow(10.0, uniform(0, 3.7));
  ChainWriter chain(5 * deviation);
  for (int step = static_cast<int>(random() % 4); step >= 0; --step) {
    const std::string mask = random() % 4 == 0 ? "%all" : "%causal";
    switch (random() % 3) {
    case 0:
      chain.scale(uniform(0.2, 1.5) * (random() % 4 == 0 ? -1 : 1));
      break;
    case 1:
      chain.add(mask, -uniform(1e4, 3e4), random() % 2 == 0 ? 1 : uniform(-0.5, 1));
      break;
    default:
      chain.select(mask, -uniform(1e4, 3e4));
      break;
    }
  }
  // The remaining masks are about as large as the scores.
  chain.scale(uniform(3e-4, 3e-3));
  const bool isBiasLast = random() % 2 == 0;
  if (isBiasLast) {
    chain.addDistances(5);
  }
  if (random() % 2 == 0) {
    chain.add("%causal", -1e4, uniform(-3e-4, 1e-3));
  }
  if (!isBiasLast) {
    chain.addDistances(5);
  }
  return {chain.finish(), deviation, 1, random() % 3 == 0};
}

/// Returns the words' queries, keys and values of two kinds, and biases by distance.
std::vector<Matrix> matricesOf(const Masked &masked, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Matrix> matrices;
  for (const char *name : {"q", "k", "v", "w"}) {
    matrices.push_back(randomMatrix(name, vocabulary, width, random));
  }
  matrices.push_back(randomMatrix("table", heads, 2 * distance + 1, random));
  const auto root = static_cast<float>(std::sqrt(masked.deviation / std::sqrt(size)));
  for (size_t i = 0; i < matrices.size(); ++i) {
    const float factor = i < 2    ? root * std::sqrt(float(width))
                         : i == 4 ? static_cast<float>(masked.distances) * std::sqrt(7.0f)
                                  : std::sqrt(float(width));
    for (float &value : matrices[i].values) {
      value *= factor;
    }
  }
  if (masked.infinite >= 0) {
    std::fill_n(matrices[2].values.begin() + masked.infinite * width, width, INFINITY);
  }
  return matrices;
}

std::string replaced(std::string text, std::string_view part, const std::string &by) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) {
    text.replace(at, part.size(), by);
  }
  return text;
}

/// Writes attention from rows %q over %kx, %vx and %wx to %out. Keys are those of `keys`; `suffix`
/// is that of the rows attended to.
std::string attentionText(const Masked &masked, const std::string &keys,
                          const std::string &suffix) {
  const std::string rows = rowsType(width), score = fmt::format("tensor<?x{}x?xf32>", heads);
  const std::string split = fmt::format("tensor<?x{}x{}xf32>", heads, size);
  const auto sum = [&](const std::string &name) {
    return fmt::format("  %{0}h = transformer.split_heads %{0}x : {1} -> {2}\n"
                       "  %{0}c = transformer.contract \"thk,khd->thd\" %p, %{0}h in(%rows, "
                       "%keys) : {3}, {2} -> {2}\n  %{0}o = transformer.merge_heads %{0}c : {2} "
                       "-> {1}\n",
                       name, rows, split, score);
  };
  std::string text =
      fmt::format("  %qh = transformer.split_heads %q : {0} -> {1}\n"
                  "  %kh = transformer.split_heads %kx : {0} -> {1}\n"
                  "  %s = transformer.contract \"thd,khd->thk\" %qh, %kh in(%rows, %keys) : {1}, "
                  "{1} -> {2}\n"
                  "  %causal = transformer.mask causal in(%rows, %keys)\n"
                  "  %all = transformer.mask all in(%rows, %keys)\n"
                  "  %distances = transformer.relative_bias @table in(%rows, %keys) : {2}\n",
                  rows, split, score) +
      masked.chain.text + sum("v") +
      (masked.shared
           ? sum("w") + fmt::format("  %out = transformer.add %vo, %wo : {0}, {0}\n", rows)
           : fmt::format("  %out = transformer.scale %vo, 1.0 : {}\n", rows));
  text = replaced(std::move(text), "%keys", keys);
  for (const std::string name : {"%k", "%v", "%w"}) {
    text = replaced(std::move(text), name + "x", name + suffix);
  }
  return text;
}

std::string gathered(const std::string &name) { return gatherText(name, name, width); }

/// Looks up the rows of words.
std::string wordsText(const Masked &masked) {
  return gathered("q") + gathered("k") + gathered("v") + (masked.shared ? gathered("w") : "");
}

std::string encodeText(const Masked &masked) {
  return fmt::format("func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"input_ids\"}}, "
                     "%rows: !transformer.segments) -> ({0} {{transformer.name = \"out\"}}) {{\n",
                     rowsType(width)) +
         wordsText(masked) + attentionText(masked, "%rows", "") +
         fmt::format("  return %out : {}\n}}\n", rowsType(width));
}

std::string decodeText(const Masked &masked) {
  const std::string rows = rowsType(width), cache = fmt::format("!transformer.cache<{}>", width);
  std::string arguments, results, types, appended = "  %seen = transformer.history %rows\n", grown;
  for (const char *name : {"k", "v", "w"}) {
    if (*name == 'w' && !masked.shared) {
      continue;
    }
    arguments += fmt::format(", %{0}cache: {1} {{transformer.name = \"{0}\"}}", name, cache);
    results += fmt::format(", {1} {{transformer.name = \"{0}\"}}", name, cache);
    appended += fmt::format("  %{0}g = transformer.append %{0}cache, %{0} in(%rows) : {1}\n  %{0}s "
                            "= transformer.cached %{0}g in(%seen) : {1} -> {2}\n",
                            name, cache, rows);
    grown += fmt::format(", %{}g", name);
    types += ", " + cache;
  }
  return fmt::format("func.func @decode(%ids: tensor<?xi32> {{transformer.name = \"target\"}}, "
                     "%rows: !transformer.segments{1}) -> ({0} {{transformer.name = \"logits\"}}"
                     "{2}) {{\n",
                     rows, arguments, results) +
         wordsText(masked) + appended + attentionText(masked, "%seen", "s") +
         fmt::format("  return %out{} : {}{}\n}}\n", grown, rows, types);
}

/// Compiles entries `encode` and `decode`, the same attention over rows and over caches.
std::string compile(const Masked &masked, uint32_t seed, const std::vector<std::string> &options) {
  const std::vector<Matrix> matrices = matricesOf(masked, seed);
  std::string text;
  std::vector<SafetensorsTensor> tensors;
  for (const Matrix &matrix : matrices) {
    text += fmt::format("transformer.parameter @{0} : tensor<{1}x{2}xf32> from \"{0}\"\n",
                        matrix.name, matrix.rows, matrix.columns);
    tensors.push_back({matrix.name,
                       ElementType::F32,
                       {matrix.rows, matrix.columns},
                       std::as_bytes(std::span(matrix.values))});
  }
  text += encodeText(masked) + decodeText(masked);
  TemporaryFolder folder;
  const std::string program = folder.write("program.mlir", text);
  EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
  if (options.empty()) {
    std::string printed;
    EXPECT_EQ(runCommand(HEDDLE_BINARY_DIR "/bin/heddlec " + program + " --emit=fused", printed), 0)
        << printed << text;
    EXPECT_EQ(printed.find("transformer.softmax"), std::string::npos) << printed;
  }
  return compileModel(program, options);
}

/// Returns the tolerance: two roundings of each score in each program, and the values, which are at
/// most 5.
float toleranceOf(const Masked &masked) {
  return static_cast<float>(1e-5 + 4 * 6e-8 * masked.chain.largest * 5);
}

const std::vector<std::string> unfusedOptions = {"--disable-pass=fuse-attention",
                                                 "--disable-pass=normalize-heads"};

void compareRows(const Masked &masked, const std::string &fused, const std::string &unfused) {
  Ragged batch = randomSentences(6, 40, vocabulary, 3);
  // Beyond a block of keys.
  std::mt19937 random(4);
  const Tokens last = randomTokens(random, 270, vocabulary);
  batch.append(last);
  Ragged alone;
  alone.append(last);
  for (const std::string &isa : runnableTargets(fused)) {
    const std::vector<float> expected = runBinary(unfused, batch, isa)["out"];
    const std::vector<float> one = runBinary(fused, batch, isa)["out"];
    EXPECT_LE(largestDifference(one, expected), toleranceOf(masked)) << isa << masked.chain.text;
    EXPECT_EQ(runBinary(fused, batch, isa, 2)["out"], one) << isa;
    const std::vector<float> lastRows(one.end() - 270 * width, one.end());
    EXPECT_EQ(runBinary(fused, alone, isa)["out"], lastRows) << isa;
  }
}

std::vector<float> decode(const std::string &binary, const std::string &isa, const Tokens &target,
                          const std::vector<size_t> &pieces) {
  Result<Model> model = Model::load(binary, {.isa = isa});
  EXPECT_EQ(model.status().message(), "");
  Result<std::unique_ptr<PagedDecoder>> decoder = PagedDecoder::create(*model, {.threads = 1});
  EXPECT_EQ(decoder.status().message(), "");
  return logitsOf(**decoder, {1}, target, pieces);
}

void compareCaches(const Masked &masked, const std::string &fused, const std::string &unfused) {
  std::mt19937 random(5);
  const Tokens target = randomTokens(random, 60, vocabulary);
  for (const std::string &isa : runnableTargets(fused)) {
    for (const std::vector<size_t> &pieces :
         {std::vector<size_t>{60}, {1, 2, 4, 16, 37}, {20, 20, 20}}) {
      EXPECT_LE(largestDifference(decode(fused, isa, target, pieces),
                                  decode(unfused, isa, target, pieces)),
                toleranceOf(masked))
          << isa << masked.chain.text;
    }
  }
}

void compareProgram(const Masked &masked, uint32_t seed) {
  const std::string fused = compile(masked, seed, {});
  const std::string unfused = compile(masked, seed, unfusedOptions);
  ASSERT_FALSE(fused.empty() || unfused.empty());
  compareRows(masked, fused, unfused);
  compareCaches(masked, fused, unfused);
}

class FiniteMask : public testing::TestWithParam<int> {};

TEST_P(FiniteMask, FusedAgreesWithUnfused) {
  const auto seed = static_cast<uint32_t>(GetParam());
  compareProgram(randomMasked(seed), seed);
}

INSTANTIATE_TEST_SUITE_P(Random, FiniteMask, testing::Range(0, 12));

// Every score is as low as the mask's number: a bias of about -1e4 at all distances.
TEST(FiniteMasks, HideNothingAmongScoresAsLow) {
  for (const bool isWritten : {true, false}) {
    ChainWriter chain(5);
    chain.addDistances(3e4);
    isWritten ? chain.select("%causal", -1e4) : chain.add("%causal", -1e4, 1e-3);
    compareProgram({chain.finish(), 1, 1e4, true}, 77);
  }
}

// If hidden keys have no weight, a row has the same bits with keys after it and without.
TEST(FiniteMasks, HideAmongUsualScores) {
  for (const bool isWritten : {true, false}) {
    ChainWriter chain(50);
    isWritten ? chain.select("%causal", -1e4) : chain.add("%causal", -1e4);
    const std::string binary = compile({chain.finish(), 10}, 7, {});
    ASSERT_FALSE(binary.empty());
    std::mt19937 random(6);
    const Tokens target = randomTokens(random, 60, vocabulary);
    for (const std::string &isa : runnableTargets(binary)) {
      const std::vector<float> whole = decode(binary, isa, target, {60});
      EXPECT_EQ(decode(binary, isa, target, {1, 2, 4, 16, 37}), whole) << isa;
      EXPECT_EQ(decode(binary, isa, target, std::vector<size_t>(60, 1)), whole) << isa;
    }
  }
}

// Whatever the values of a key are, it does not affect a row that gives it no weight: tiles of rows
// that are cut at other places have the same bits.
TEST(FiniteMasks, HideInfiniteValues) {
  constexpr int infinite = 60, place = 267, length = 300;
  for (const bool isWritten : {true, false}) {
    ChainWriter chain(50);
    isWritten ? chain.select("%causal", -1e4) : chain.add("%causal", -1e4);
    const std::string binary = compile({chain.finish(), 10, 1, false, infinite}, 8, {});
    ASSERT_FALSE(binary.empty());
    std::mt19937 random(9);
    Tokens sentence = randomTokens(random, length, infinite);
    sentence[place] = infinite;
    Ragged batch;
    batch.append(sentence);
    for (const std::string &isa : runnableTargets(binary)) {
      for (const int threads : {1, 2, 3}) {
        const std::vector<float> out = runBinary(binary, batch, isa, threads)["out"];
        ASSERT_EQ(out.size(), size_t(length * width));
        for (int row = 0; row < length; ++row) {
          ASSERT_EQ(std::isfinite(out[row * width]), row < place) << isa << " row " << row;
        }
      }
    }
  }
}

/// Compiles rows [10, 0] and [1100, 0] that attend to themselves, with scores changed by `chain`.
std::string compilePair(const std::string &chain, const std::vector<std::string> &options) {
  const std::vector<float> table = {10, 0, 1100, 0};
  const std::string text = R"(transformer.parameter @table : tensor<2x2xf32> from "table"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x2xf32> {transformer.name = "out"}) {
  %x = transformer.gather @table[%ids] : tensor<?x2xf32>
  %h = transformer.split_heads %x : tensor<?x2xf32> -> tensor<?x1x2xf32>
  %s = transformer.contract "thd,khd->thk" %h, %h in(%rows, %rows) : tensor<?x1x2xf32>, tensor<?x1x2xf32> -> tensor<?x1x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
)" + chain + R"(  %p = transformer.softmax %z in(%rows) : tensor<?x1x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %h in(%rows, %rows) : tensor<?x1x?xf32>, tensor<?x1x2xf32> -> tensor<?x1x2xf32>
  %o = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>
  return %o : tensor<?x2xf32>
}
)";
  TemporaryFolder folder;
  const std::string program = folder.write("program.mlir", text);
  const std::vector<SafetensorsTensor> tensors = {
      {"table", ElementType::F32, {2, 2}, std::as_bytes(std::span(table))}};
  EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
  return compileModel(program, options);
}

/// The operations on scores, ids of the table's rows, and the expected rows.
struct PairCase {
  std::string chain;
  std::vector<int32_t> ids;
  std::vector<float> rows;
};

// The score of 11000 of a hidden key is larger than the 100 of the first row with itself, even with
// the mask added; -1e4 in place of a score is larger than the -1210000 of a row with itself.
TEST(FiniteMasks, DoNotHideLargerScores) {
  const PairCase added = {
      R"(  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %y = transformer.add %s, %b : tensor<?x1x?xf32>, tensor<?x?xf32>
  %z = transformer.scale %y, 0.03 : tensor<?x1x?xf32>
)",
      {0, 1},
      {1100, 0, 1100, 0}};
  const PairCase written = {R"(  %n = transformer.scale %s, -1.0 : tensor<?x1x?xf32>
  %y = transformer.select %m, %n {hidden = -1.0e4 : f32} : tensor<?x1x?xf32>
  %z = transformer.scale %y, 0.03 : tensor<?x1x?xf32>
)",
                            {1, 0},
                            {10, 0, 10, 0}};
  for (const PairCase &each : {added, written}) {
    for (const std::vector<std::string> &options : {{}, unfusedOptions}) {
      const std::string binary = compilePair(each.chain, options);
      ASSERT_FALSE(binary.empty());
      Ragged batch;
      batch.append(each.ids);
      for (const std::string &isa : runnableTargets(binary)) {
        EXPECT_EQ(runBinary(binary, batch, isa)["out"], each.rows) << isa << each.chain;
      }
    }
  }
}

} // namespace
} // namespace heddle
