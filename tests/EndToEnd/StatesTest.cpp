// SPDX-License-Identifier: Apache-2.0
///
/// Running means by compiled kernels, at odd widths and on every target: bit by bit those of a
/// plain loop, however the rows are divided into runs, with any number of threads and sequences,
/// and with one kernel for means and sums or two.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <fmt/format.h>

namespace heddle {
namespace {

constexpr int vocabulary = 61;

/// Compiles a model that only has states: its logits are the means of the means of its rows.
std::string compileMeans(const std::vector<float> &table, int64_t width, bool isFused) {
  const std::string entries = fmt::format(
      R"(transformer.parameter @table : tensor<{1}x{0}xf32> from "table"
func.func @encode(%ids: tensor<?xi32> {{transformer.name = "source"}}, %rows: !transformer.segments)
    -> (tensor<?x{0}xf32> {{transformer.name = "encoder"}}) {{
  %x = transformer.gather @table[%ids] : tensor<?x{0}xf32>
  return %x : tensor<?x{0}xf32>
}}
func.func @decode(%ids: tensor<?xi32> {{transformer.name = "target"}}, %rows: !transformer.segments,
                  %s: !transformer.state<{0}> {{transformer.name = "sum"}},
                  %t: !transformer.state<{0}> {{transformer.name = "sum of means"}})
    -> (tensor<?x{0}xf32> {{transformer.name = "logits"}},
        !transformer.state<{0}> {{transformer.name = "sum"}},
        !transformer.state<{0}> {{transformer.name = "sum of means"}}) {{
  %x = transformer.gather @table[%ids] : tensor<?x{0}xf32>
  %s1 = transformer.accumulate %s, %x in(%rows) : !transformer.state<{0}>
  %g = transformer.prefix_mean %x, %s in(%rows) : !transformer.state<{0}>
  %h = transformer.prefix_mean %g, %t in(%rows) : !transformer.state<{0}>
  %t1 = transformer.accumulate %t, %g in(%rows) : !transformer.state<{0}>
  return %h, %s1, %t1 : tensor<?x{0}xf32>, !transformer.state<{0}>, !transformer.state<{0}>
}}
)",
      width, vocabulary);
  TemporaryFolder folder;
  const std::string program = folder.write("program.mlir", entries);
  const std::vector<SafetensorsTensor> tensors = {
      {"table", ElementType::F32, {vocabulary, width}, std::as_bytes(std::span(table))}};
  EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
  return isFused ? compileModel(program) : compileModel(program, {"--disable-pass=fuse-states"});
}

/// Returns the number of dispatches of the binary's entry "decode".
int64_t dispatchesOf(const std::string &binary) {
  Result<Model> model = Model::load(binary);
  const EntryInfo *const entry = model.ok() ? model->findEntry("decode") : nullptr;
  return entry == nullptr ? 0 : entry->dispatches;
}

/// Returns the mean of each row and those before it.
std::vector<float> meansOf(const std::vector<float> &rows, size_t width) {
  std::vector<float> means(rows.size());
  for (size_t column = 0; column < width; ++column) {
    float sum = 0;
    for (size_t row = 0; row < rows.size() / width; ++row) {
      sum += rows[row * width + column];
      means[row * width + column] = sum / static_cast<float>(row + 1);
    }
  }
  return means;
}

class Means : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(Means, AreThoseOfAPlainLoop) {
  const auto [columns, isFused] = GetParam();
  const auto width = static_cast<size_t>(columns);
  std::mt19937 random(columns);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> table(vocabulary * width);
  std::generate(table.begin(), table.end(), [&] { return normal(random); });
  const std::string binary = compileMeans(table, columns, isFused);
  ASSERT_FALSE(binary.empty());
  // The look-up, then two means and two sums.
  EXPECT_EQ(dispatchesOf(binary), isFused ? 3 : 5);
  for (const std::string &isa : runnableTargets(binary)) {
    Result<Model> model = Model::load(binary, {.isa = isa});
    ASSERT_EQ(model.status().message(), "");
    for (const int threads : {1, 2, 3}) {
      Result<std::unique_ptr<PagedDecoder>> decoder =
          PagedDecoder::create(*model, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(decoder.status().message(), "");
      EXPECT_EQ((*decoder)->stateBytes(), 2 * width * sizeof(float));
      const SourceId source = encodeOne(**decoder, {1});
      // Several sequences in a batch, each in its own pieces.
      std::vector<Tokens> targets;
      std::vector<std::vector<float>> expected;
      std::vector<HypothesisId> hypotheses;
      for (const size_t length : {1, 40, 7, 100}) {
        targets.push_back(randomTokens(random, length, vocabulary));
        std::vector<float> rows;
        for (const int32_t token : targets.back()) {
          const auto first = table.begin() + token * static_cast<int64_t>(width);
          rows.insert(rows.end(), first, first + static_cast<int64_t>(width));
        }
        expected.push_back(meansOf(meansOf(rows, width), width));
        hypotheses.push_back(*(*decoder)->start(source));
      }
      for (size_t left = 1 + 40 + 7 + 100; left > 0;) {
        std::vector<Extension> extensions;
        std::vector<float> wanted;
        for (size_t i = 0; i < targets.size(); ++i) {
          const auto done = static_cast<size_t>((*decoder)->length(hypotheses[i]));
          const size_t count = std::min<size_t>(targets[i].size() - done, random() % 9);
          if (count > 0) {
            extensions.push_back({hypotheses[i], std::span(targets[i]).subspan(done, count)});
            const auto first = expected[i].begin() + static_cast<int64_t>(done * width);
            wanted.insert(wanted.end(), first, first + static_cast<int64_t>(count * width));
            left -= count;
          }
        }
        Recorder recorder;
        ASSERT_EQ((*decoder)->decode(extensions, recorder).message(), "");
        ASSERT_EQ(recorder.logits, wanted) << isa << ' ' << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OddWidths, Means,
                         testing::Combine(testing::Values(1, 7, 16, 47, 48, 49, 100, 144),
                                          testing::Bool()));

} // namespace
} // namespace heddle
