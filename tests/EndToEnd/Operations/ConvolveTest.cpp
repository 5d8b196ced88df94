// SPDX-License-Identifier: Apache-2.0
///
/// Convolutions over rows, built with the builder, compiled and run at odd sizes on every target:
/// against a plain loop, and with the same bits in any batch, with any number of threads and for
/// any division of a decoder's rows into pieces.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

constexpr int vocabulary = 61;

struct Case {
  int64_t width, kernel;
  Convolution options;
};

/// The tensors of a model whose rows are looked up in a table.
struct Weights {
  explicit Weights(const Case &c) {
    std::mt19937 random(static_cast<unsigned>(c.width * 100 + c.kernel));
    std::normal_distribution<float> normal(0, 1);
    auto fill = [&](std::vector<float> &values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    };
    fill(table, vocabulary * c.width);
    fill(weight, c.width * c.kernel);
    fill(bias, c.width);
  }

  std::vector<TensorValues> tensors(const Case &c) const {
    std::vector<TensorValues> all = {{"table.weight", {vocabulary, c.width}, table},
                                     {"left.weight", {c.width, c.kernel}, weight}};
    if (c.options.bias == Bias::Yes) {
      all.emplace_back("left.bias", std::vector<int64_t>{c.width}, bias);
    }
    return all;
  }

  std::vector<float> table, weight, bias;
};

/// Computes the convolution of one sequence, element by element.
std::vector<double> convolve(const Case &c, const Weights &weights, std::span<const int32_t> ids) {
  const auto rows = static_cast<int64_t>(ids.size());
  const int64_t center = c.options.causal ? c.kernel - 1 : (c.kernel - 1) / 2;
  std::vector<double> result;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < c.width; ++column) {
      double sum = c.options.bias == Bias::Yes ? weights.bias[size_t(column)] : 0;
      for (int64_t j = 0; j < c.kernel; ++j) {
        const int64_t other = row + (j - center) * c.options.dilation;
        if (other >= 0 && other < rows) {
          sum += double(weights.weight[size_t(column * c.kernel + j)]) *
                 double(weights.table[size_t(ids[size_t(other)] * c.width + column)]);
        }
      }
      result.push_back(sum);
    }
  }
  return result;
}

void expectNear(std::span<const float> found, std::span<const double> expected, const Case &c) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-6 * (4 + double(c.kernel)))
        << "row " << i / size_t(c.width) << " column " << i % size_t(c.width);
  }
}

/// Runs sequences with a common prefix and different continuations, in one run per step: copies of
/// the state, as a beam search makes them.
void expectSideBySide(PagedDecoder &decoder, const Case &c, const Tokens &target,
                      const std::vector<float> &whole) {
  const SourceId source = encodeOne(decoder, {1});
  const auto width = static_cast<size_t>(c.width);
  const HypothesisId first = *decoder.start(source);
  const size_t shared = 5;
  Recorder recorder;
  const Extension prefix{first, std::span(target).first(shared)};
  ASSERT_EQ(decoder.decode({&prefix, 1}, recorder).message(), "");
  Tokens other(target);
  std::reverse(other.begin() + shared, other.end());
  const std::vector<float> wanted = logitsOf(decoder, {1}, other, {other.size()});
  const HypothesisId second = *decoder.fork(first);
  for (size_t done = shared; done < target.size(); ++done) {
    const Extension both[] = {{first, std::span(target).subspan(done, 1)},
                              {second, std::span(other).subspan(done, 1)}};
    ASSERT_EQ(decoder.decode(both, recorder).message(), "");
    const auto rowOf = [&](const std::vector<float> &rows) {
      return std::vector<float>(rows.begin() + std::ptrdiff_t(done * width),
                                rows.begin() + std::ptrdiff_t((done + 1) * width));
    };
    ASSERT_EQ(recorder.rows(0, 1), rowOf(whole)) << done;
    ASSERT_EQ(recorder.rows(1, 1), rowOf(wanted)) << done;
  }
  decoder.release(first);
  decoder.release(second);
  decoder.release(source);
}

class Convolve : public testing::TestWithParam<Case> {};

TEST_P(Convolve, IsThatOfAPlainLoopInAnyBatch) {
  const Case c = GetParam();
  const Weights weights(c);
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("table", entry.input("input_ids"), vocabulary, c.width);
  entry.output("y", model.scope().convolve("left", x, c.kernel, entry.segments(), c.options));
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileText(path, model.text(), weights.tensors(c));
  // Shorter than the kernel, and longer.
  Ragged batch = randomSentences(6, 40, vocabulary, 3);
  const Ragged longer = randomSentences(1, 200, vocabulary, 4);
  batch.append(longer.ids);
  batch.append(std::vector<int32_t>{5});
  for (const std::string &isa : runnableTargets(path)) {
    std::vector<float> all = runBinary(path, batch, isa)["y"];
    EXPECT_EQ(runBinary(path, batch, isa, 2)["y"], all);
    size_t first = 0;
    for (const int32_t length : batch.lengths) {
      const auto ids = std::span(batch.ids).subspan(first, size_t(length));
      const auto part =
          std::span(all).subspan(first * size_t(c.width), ids.size() * size_t(c.width));
      expectNear(part, convolve(c, weights, ids), c);
      Ragged alone;
      alone.append(ids);
      EXPECT_EQ(runBinary(path, alone, isa)["y"], std::vector<float>(part.begin(), part.end()))
          << isa << ", a sequence of " << length;
      first += ids.size();
    }
  }
}

TEST_P(Convolve, HasTheRowsBeforeARunInAState) {
  Case c = GetParam();
  c.options.causal = true;
  c.kernel = std::max<int64_t>(2, c.kernel);
  const Weights weights(c);
  ModelBuilder model("test");
  Entry encode = model.entry("encode"), decode = model.entry("decode");
  const auto lookUp = [&](Entry &entry, std::string_view input) {
    return model.scope().gather("table", entry.input(input), vocabulary, c.width);
  };
  encode.output("encoder", lookUp(encode, "source"));
  const Tensor x = lookUp(decode, "target");
  const Segments rows = decode.segments();
  const int64_t reach = (c.kernel - 1) * c.options.dilation;
  const State before = decode.state("kept", reach * c.width);
  decode.output("logits", model.scope().convolve("left", x, c.kernel, rows, before, c.options));
  before.keep(x, rows);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileText(path, model.text(), weights.tensors(c));
  std::mt19937 random(5);
  for (const std::string &isa : runnableTargets(path)) {
    const Result<Model> loaded = Model::load(path, {.isa = isa});
    ASSERT_EQ(loaded.status().message(), "");
    for (const int threads : {1, 2}) {
      const auto decoder =
          PagedDecoder::create(*loaded, {.threads = threads, .schedule = Schedule::Cooperative});
      ASSERT_EQ(decoder.status().message(), "");
      // Independent of the number of positions.
      EXPECT_EQ((*decoder)->stateBytes(), uint64_t(reach * c.width) * sizeof(float));
      const Tokens target = randomTokens(random, 75, vocabulary);
      const std::vector<float> whole = logitsOf(**decoder, {1}, target, {target.size()});
      expectNear(whole, convolve(c, weights, target), c);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, std::vector<size_t>(target.size(), 1)), whole);
      EXPECT_EQ(logitsOf(**decoder, {1}, target, {1, 16, 2, 31, 9, 16}), whole);
      expectSideBySide(**decoder, c, target, whole);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OddSizes, Convolve,
    testing::Values(Case{1, 3, {}}, Case{7, 1, {.bias = Bias::Yes}},
                    Case{16, 3, {.dilation = 2, .causal = true}}, Case{47, 2, {}},
                    Case{48, 4, {.dilation = 3, .bias = Bias::Yes}},
                    Case{49, 5, {.dilation = 4, .causal = true, .bias = Bias::Yes}},
                    Case{100, 31, {.causal = true}}, Case{33, 256, {}},
                    Case{272, 5, {.dilation = 90, .causal = true}},
                    Case{517, 7, {.bias = Bias::Yes}}, Case{1024, 15, {.causal = true}}));

} // namespace
} // namespace heddle
