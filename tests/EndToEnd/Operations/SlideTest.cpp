// SPDX-License-Identifier: Apache-2.0
///
/// Windows over positions in a line and over images of any height, with strides, built with the
/// builder, compiled and run on every target: against plain loops over pixels, alone and in a
/// batch, with the pass that multiplies windows in the cache and without.
#include "compiler/Compile.h"
#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecodedLogits.h"

#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace heddle {
namespace {

constexpr int vocabulary = 61;

struct Case {
  int64_t width, made, groups;
  Window window;
};

/// The tensors of a model whose pixels are looked up in a table.
struct Weights {
  explicit Weights(const Case &c) {
    std::mt19937 random(static_cast<unsigned>(c.width * 100 + c.window.height));
    std::normal_distribution<float> normal(0, 1);
    auto fill = [&](std::vector<float> &values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    };
    const int64_t elements = c.window.height * c.window.width;
    fill(table, vocabulary * c.width);
    fill(depthwise, c.width * elements);
    fill(pointwise, c.made * c.width);
    fill(full, c.made * (c.width / c.groups) * elements);
  }

  std::vector<TensorValues> tensors(const Case &c) const {
    return {{"table.weight", {vocabulary, c.width}, table},
            {"depthwise.weight", {c.width, c.window.height * c.window.width}, depthwise},
            {"pointwise.weight", {c.made, c.width}, pointwise},
            {"full.weight", {c.made, c.width / c.groups, c.window.height, c.window.width}, full}};
  }

  std::vector<float> table, depthwise, pointwise, full;
};

/// The outputs "largest" of x, and "separable" and "full" of max(x, 0).
struct Outputs {
  Tensor largest, separable, full;
};

Outputs convolve(ModelBuilder &model, Entry &entry, const Case &c, const Tensor &given,
                 const Segments &rows, const Segments &to, const State &before = {}) {
  const Scope scope = model.scope();
  const Tensor x = given.activate(transformer::Activation::Relu);
  const int64_t elements = c.window.height * c.window.width;
  Outputs outputs;
  Window near = c.window;
  near.dilationDown = near.dilationRight = 1;
  outputs.largest = before.valid() ? Tensor() : given.largest(near, rows, to);
  const Tensor deep = scope.convolve(x, scope.parameter("depthwise.weight", {c.width, elements}),
                                     c.window, rows, to, before);
  outputs.separable = scope.linear(deep, scope.parameter("pointwise.weight", {c.made, c.width}));
  const Parameter matrix = scope.patchMatrix(
      "matrix", scope.parameter("full.weight",
                                {c.made, c.width / c.groups, c.window.height, c.window.width}));
  const Tensor patches = x.patches(c.window, rows, to, c.groups, before);
  if (c.groups == 1) {
    outputs.full = scope.linear(patches, matrix);
  } else {
    const Parameter heads = scope.reshape(
        "groups", matrix, {c.groups, c.made / c.groups, elements * c.width / c.groups});
    const Tensor each =
        scope.contract("tgd,gnd->tgn", patches.splitHeads(c.groups), entry.weight(heads));
    outputs.full = each.mergeHeads();
  }
  return outputs;
}

/// The results of plain loops for one sequence.
struct Expected {
  std::vector<double> largest, separable, full;
};

/// Returns the position of an element of a window; nullopt outside.
std::optional<int64_t> placeOf(int64_t place, int64_t element, int64_t places, int64_t elements,
                               int64_t stride, int64_t dilation, bool causal) {
  const int64_t after = (places + stride - 1) / stride, reach = (elements - 1) * dilation;
  const int64_t margins = std::max<int64_t>((after - 1) * stride + reach + 1 - places, 0);
  const int64_t found = place * stride - (causal ? reach : margins / 2) + element * dilation;
  return found >= 0 && found < places ? std::optional(found) : std::nullopt;
}

/// Returns the maximum of every column in a window without dilation; a causal window sees zeros
/// outside.
std::vector<double> largestOf(const Case &c, const Weights &w, std::span<const int32_t> ids,
                              int64_t row) {
  const Window &k = c.window;
  const int64_t lines = static_cast<int64_t>(ids.size()) / k.across;
  const int64_t right = (k.across + k.strideRight - 1) / k.strideRight;
  std::vector<double> largest(size_t(c.width), -INFINITY);
  for (int64_t j = 0; j < k.height * k.width; ++j) {
    const auto line = placeOf(row / right, j / k.width, lines, k.height, k.strideDown, 1, k.causal);
    const auto place =
        placeOf(row % right, j % k.width, k.across, k.width, k.strideRight, 1, false);
    const bool isInside = line && place;
    const int64_t id = isInside ? ids[size_t(*line * k.across + *place)] : 0;
    for (int64_t m = 0; (isInside || k.causal) && m < c.width; ++m) {
      const double x = isInside ? double(w.table[size_t(id * c.width + m)]) : 0.0;
      largest[size_t(m)] = std::max(largest[size_t(m)], x);
    }
  }
  return largest;
}

Expected loops(const Case &c, const Weights &w, std::span<const int32_t> ids) {
  const Window &k = c.window;
  const auto pixels = static_cast<int64_t>(ids.size());
  const int64_t lines = pixels / k.across, elements = k.height * k.width;
  const int64_t down = (lines + k.strideDown - 1) / k.strideDown;
  const int64_t right = (k.across + k.strideRight - 1) / k.strideRight;
  Expected result;
  for (int64_t row = 0; row < down * right; ++row) {
    std::vector<std::vector<double>> seen;
    for (int64_t j = 0; j < elements; ++j) {
      const auto line = placeOf(row / right, j / k.width, lines, k.height, k.strideDown,
                                k.dilationDown, k.causal);
      const auto place = placeOf(row % right, j % k.width, k.across, k.width, k.strideRight,
                                 k.dilationRight, false);
      std::vector<double> &x = seen.emplace_back(size_t(c.width), 0.0);
      for (int64_t m = 0; line && place && m < c.width; ++m) {
        const int64_t id = ids[size_t(*line * k.across + *place)];
        x[size_t(m)] = std::max(0.0F, w.table[size_t(id * c.width + m)]);
      }
    }
    std::vector<double> deep;
    for (int64_t m = 0; m < c.width; ++m) {
      double sum = 0;
      for (int64_t j = 0; j < elements; ++j) {
        sum += double(w.depthwise[size_t(m * elements + j)]) * seen[size_t(j)][size_t(m)];
      }
      deep.push_back(sum);
    }
    for (const double each : largestOf(c, w, ids, row)) {
      result.largest.push_back(each);
    }
    const int64_t summed = c.width / c.groups;
    for (int64_t n = 0; n < c.made; ++n) {
      double separable = 0, full = 0;
      for (int64_t m = 0; m < c.width; ++m) {
        separable += double(w.pointwise[size_t(n * c.width + m)]) * deep[size_t(m)];
      }
      const int64_t group = n / (c.made / c.groups);
      for (int64_t m = 0; m < summed; ++m) {
        for (int64_t j = 0; j < elements; ++j) {
          full += double(w.full[size_t((n * summed + m) * elements + j)]) *
                  seen[size_t(j)][size_t(group * summed + m)];
        }
      }
      result.separable.push_back(separable);
      result.full.push_back(full);
    }
  }
  return result;
}

void expectNear(std::span<const float> found, std::span<const double> expected, double tolerance,
                const std::string &what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance) << what << ", element " << i;
  }
}

class Slide : public testing::TestWithParam<Case> {};

/// Returns sequences of whole rows of pixels: one row, few, and many.
std::vector<std::vector<int32_t>> images(int64_t across) {
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> all;
  for (const int64_t lines : {3, 1, 2, 17, 40, 5}) {
    std::vector<int32_t> &each = all.emplace_back();
    for (int64_t i = 0; i < lines * across; ++i) {
      each.push_back(static_cast<int32_t>(random() % vocabulary));
    }
  }
  return all;
}

TEST_P(Slide, IsThatOfPlainLoopsInAnyBatch) {
  const Case c = GetParam();
  const Weights weights(c);
  const double tolerance =
      1e-5 * std::sqrt(double(c.width * c.window.height * c.window.width)) + 2e-5;
  std::map<std::string, std::map<std::string, std::vector<float>>> byTarget;
  for (const bool isFused : {true, false}) {
    ModelBuilder model("test");
    Entry entry = model.entry("encode");
    const Segments rows = entry.segments();
    const Tensor x = model.scope().gather("table", entry.input("input_ids"), vocabulary, c.width);
    const bool derives = c.window.strideDown * c.window.strideRight > 1 || c.window.across > 1;
    const Segments to =
        derives ? rows.strided(c.window.strideDown, c.window.strideRight, c.window.across)
                : Segments();
    const Outputs outputs = convolve(model, entry, c, x, rows, to);
    entry.output("largest", outputs.largest);
    entry.output("separable", outputs.separable);
    entry.output("full", outputs.full);
    const TemporaryFolder folder;
    const std::string path = folder / "model.so";
    std::vector<std::string> disabled;
    if (!isFused) {
      disabled = {"fuse-windows"};
    }
    compileText(path, model.text(), weights.tensors(c), disabled);
    Ragged batch;
    for (const auto &ids : images(c.window.across)) {
      batch.append(ids);
    }
    for (const std::string &isa : runnableTargets(path)) {
      auto all = runBinary(path, batch, isa);
      EXPECT_EQ(runBinary(path, batch, isa, 2), all);
      // The same sums in the same order.
      const auto [known, isNew] = byTarget.try_emplace(isa, all);
      EXPECT_TRUE(known->second == all) << isa;
      std::map<std::string, size_t> first;
      for (const auto &ids : images(c.window.across)) {
        const Expected wanted = loops(c, weights, ids);
        Ragged one;
        one.append(ids);
        const auto alone = runBinary(path, one, isa);
        for (const auto &[name, values] :
             {std::pair("largest", &wanted.largest), std::pair("separable", &wanted.separable),
              std::pair("full", &wanted.full)}) {
          const auto part = std::span(all[name]).subspan(first[name], values->size());
          first[name] += values->size();
          expectNear(part, *values, tolerance, isa + ", " + name);
          EXPECT_EQ(alone.at(name), std::vector<float>(part.begin(), part.end())) << isa << name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OddSizes, Slide,
    testing::Values(
        Case{1, 3, 1, {.height = 3}}, Case{8, 6, 2, {.height = 4, .dilationDown = 3}},
        Case{48, 20, 4, {.height = 3, .causal = true}},
        Case{17, 50, 1, {.height = 5, .strideDown = 4, .causal = true}},
        Case{33, 8, 1, {.height = 5, .strideDown = 2, .dilationDown = 2}},
        Case{130, 100, 2, {.height = 15, .causal = true}},
        Case{3, 10, 1, {.height = 3, .width = 3, .strideDown = 2, .strideRight = 2, .across = 29}},
        Case{20, 36, 4, {.height = 3, .width = 3, .across = 5}},
        Case{6, 9, 1, {.height = 3, .width = 3, .strideDown = 2, .across = 5}},
        Case{12,
             7,
             1,
             {.height = 4,
              .width = 2,
              .strideDown = 3,
              .strideRight = 2,
              .dilationDown = 2,
              .dilationRight = 3,
              .across = 4}},
        Case{9, 12, 3, {.height = 5, .strideDown = 4, .across = 6, .causal = true}},
        Case{18, 8, 1, {.height = 3, .width = 3, .strideRight = 2, .across = 5, .causal = true}},
        Case{70, 64, 1, {.strideDown = 2, .strideRight = 2, .across = 3}}));

/// Returns the outputs of images of different widths, on a target.
std::map<std::string, std::vector<float>> runImages(const Model &model,
                                                    const std::vector<std::vector<int32_t>> &images,
                                                    const std::vector<int32_t> &widths,
                                                    int threads) {
  const EntryInfo &entry = *model.findEntry("encode");
  std::vector<int32_t> lengths, ids;
  for (const std::vector<int32_t> &image : images) {
    lengths.push_back(static_cast<int32_t>(image.size()));
    ids.insert(ids.end(), image.begin(), image.end());
  }
  std::map<std::string, std::vector<float>> values;
  std::vector<Output> outputs;
  for (const PortInfo &port : entry.outputs) {
    std::vector<float> &mine = values[port.name];
    mine.resize(static_cast<size_t>(port.rowsOf(lengths, widths) * port.shape.back()));
    outputs.push_back({port.name, mine});
  }
  Result<Session> session = Session::create(model, {.threads = threads});
  EXPECT_EQ(session.status().message(), "");
  const std::vector<Input> inputs = {{"input_ids", ids}};
  EXPECT_EQ(session->run("encode", lengths, inputs, outputs, widths).message(), "");
  return values;
}

/// Compiles a model of images of any width that looks pixels up in a table.
void compileImages(const std::string &path, const Case &c, const Weights &weights,
                   const std::vector<std::string> &disabled) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("table", entry.input("input_ids"), vocabulary, c.width);
  const Segments to = rows.strided(c.window.strideDown, c.window.strideRight, c.window.across);
  const Outputs outputs = convolve(model, entry, c, x, rows, to);
  entry.output("largest", outputs.largest);
  entry.output("separable", outputs.separable);
  entry.output("full", outputs.full);
  // Strides over the result of strides.
  const Segments fewer = to.strided(2, 3, GridSize::anyWidth);
  const Window next{
      .height = 3, .width = 3, .strideDown = 2, .strideRight = 3, .across = GridSize::anyWidth};
  entry.output("twice", outputs.largest.largest(next, to, fewer));
  compileText(path, model.text(), weights.tensors(c), disabled);
}

class SlideOverImages : public testing::TestWithParam<Case> {};

TEST_P(SlideOverImages, EachHasAWidthOfItsOwn) {
  const Case c = GetParam();
  const Weights weights(c);
  const double tolerance =
      1e-5 * std::sqrt(double(c.width * c.window.height * c.window.width)) + 2e-5;
  const std::vector<std::pair<int32_t, int32_t>> sizes = {{3, 7},  {1, 1},  {1, 19}, {12, 1},
                                                          {9, 40}, {17, 2}, {2, 3}};
  std::mt19937 random(11);
  std::vector<std::vector<int32_t>> images;
  std::vector<int32_t> widths;
  for (const auto &[height, width] : sizes) {
    images.push_back(randomTokens(random, size_t(height * width), vocabulary));
    widths.push_back(width);
  }
  std::map<std::string, std::map<std::string, std::vector<float>>> byTarget;
  for (const bool isFused : {true, false}) {
    const TemporaryFolder folder;
    const std::string path = folder / "model.so";
    std::vector<std::string> disabled;
    if (!isFused) {
      disabled = {"fuse-windows"};
    }
    compileImages(path, c, weights, disabled);
    for (const std::string &isa : runnableTargets(path)) {
      const Result<Model> model = Model::load(path, {.isa = isa});
      ASSERT_EQ(model.status().message(), "");
      const auto all = runImages(*model, images, widths, 1);
      EXPECT_EQ(runImages(*model, images, widths, 2), all);
      const auto [known, isNew] = byTarget.try_emplace(isa, all);
      EXPECT_TRUE(known->second == all) << isa;
      std::map<std::string, size_t> first;
      for (size_t i = 0; i < images.size(); ++i) {
        Case own = c;
        own.window.across = widths[i];
        const Expected wanted = loops(own, weights, images[i]);
        const auto alone = runImages(*model, {images[i]}, {widths[i]}, 1);
        for (const auto &[name, values] :
             {std::pair("largest", &wanted.largest), std::pair("separable", &wanted.separable),
              std::pair("full", &wanted.full)}) {
          const auto part = std::span(all.at(name)).subspan(first[name], values->size());
          expectNear(part, *values, tolerance, isa + ", " + name);
        }
        for (const auto &[name, values] : alone) {
          const auto part = std::span(all.at(name)).subspan(first[name], values.size());
          first[name] += values.size();
          EXPECT_EQ(values, std::vector<float>(part.begin(), part.end())) << isa << name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OddSizes, SlideOverImages,
    testing::Values(
        Case{3,
             10,
             1,
             {.height = 3,
              .width = 3,
              .strideDown = 2,
              .strideRight = 2,
              .across = GridSize::anyWidth}},
        Case{20, 36, 4, {.height = 3, .width = 3, .across = GridSize::anyWidth}},
        Case{12,
             7,
             1,
             {.height = 4,
              .width = 2,
              .strideDown = 3,
              .strideRight = 2,
              .dilationDown = 2,
              .dilationRight = 3,
              .across = GridSize::anyWidth}},
        Case{17,
             8,
             1,
             {.height = 5,
              .width = 2,
              .strideDown = 4,
              .across = GridSize::anyWidth,
              .causal = true}},
        Case{33, 16, 1, {.strideDown = 2, .strideRight = 2, .across = GridSize::anyWidth}}));

TEST(SlideState, RefusesWidthsThatDoNotFit) {
  const Case c{3, 5, 1, {.height = 3, .width = 3, .across = GridSize::anyWidth}};
  const Weights weights(c);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileImages(path, c, weights, {});
  const Result<Model> model = Model::load(path, {});
  ASSERT_EQ(model.status().message(), "");
  EXPECT_TRUE(model->findEntry("encode")->hasWidths);
  Result<Session> session = Session::create(*model);
  ASSERT_EQ(session.status().message(), "");
  const std::vector<int32_t> ids(20, 1), lengths = {14, 6};
  std::vector<float> full(20 * 5);
  const std::vector<Input> inputs = {{"input_ids", ids}};
  const std::vector<Output> wanted = {{"full", full}};
  const auto messageOf = [&](const std::vector<int32_t> &widths) -> std::string {
    return std::string(session->run("encode", lengths, inputs, wanted, widths).message());
  };
  EXPECT_EQ(messageOf({7, 3}), "");
  EXPECT_EQ(messageOf({}), "entry \"encode\": 0 widths for 2 sequences, expected one for each, the "
                           "pixels in a row of its image");
  EXPECT_EQ(messageOf({7}),
            "entry \"encode\": 1 widths for 2 sequences, expected one for each, the "
            "pixels in a row of its image");
  EXPECT_EQ(messageOf({7, 0}),
            "entry \"encode\": sequence 2 has a width of 0, expected 1 to 65535");
  EXPECT_EQ(messageOf({-7, 3}),
            "entry \"encode\": sequence 1 has a width of -7, expected 1 to 65535");
  EXPECT_EQ(messageOf({7, 65536}),
            "entry \"encode\": sequence 2 has a width of 65536, expected 1 to 65535");
  EXPECT_EQ(messageOf({7, 4}),
            "entry \"encode\": sequence 2 has 6 tokens, expected whole rows of 4 pixels");
}

TEST(SlideState, HasTheRowsBeforeARunInAState) {
  for (const Case &c : {Case{48, 20, 4, {.height = 3, .causal = true}},
                        Case{17, 50, 1, {.height = 5, .dilationDown = 4, .causal = true}}}) {
    const Weights weights(c);
    for (const bool isFused : {true, false}) {
      ModelBuilder model("test");
      Entry encode = model.entry("encode"), decode = model.entry("decode");
      const auto lookUp = [&](Entry &entry, std::string_view input) {
        return model.scope().gather("table", entry.input(input), vocabulary, c.width);
      };
      encode.output("encoder", lookUp(encode, "source"));
      const Tensor x = lookUp(decode, "target");
      const Segments rows = decode.segments();
      const int64_t reach = (c.window.height - 1) * c.window.dilationDown;
      const State before = decode.state("kept", reach * c.width);
      const Outputs outputs = convolve(model, decode, c, x, rows, {}, before);
      decode.output("logits", outputs.full + outputs.separable);
      before.keep(x.activate(transformer::Activation::Relu), rows);
      const TemporaryFolder folder;
      const std::string path = folder / "model.so";
      std::vector<std::string> disabled;
      if (!isFused) {
        disabled = {"fuse-windows"};
      }
      compileText(path, model.text(), weights.tensors(c), disabled);
      std::mt19937 random(5);
      const Tokens target = randomTokens(random, 50, vocabulary);
      Expected wanted = loops(c, weights, target);
      for (size_t i = 0; i < wanted.full.size(); ++i) {
        wanted.full[i] += wanted.separable[i];
      }
      for (const std::string &isa : runnableTargets(path)) {
        const Result<Model> loaded = Model::load(path, {.isa = isa});
        ASSERT_EQ(loaded.status().message(), "");
        const auto decoder =
            PagedDecoder::create(*loaded, {.threads = 2, .schedule = Schedule::Cooperative});
        ASSERT_EQ(decoder.status().message(), "");
        const std::vector<float> whole = logitsOf(**decoder, {1}, target, {target.size()});
        expectNear(whole, wanted.full, 1e-3, isa);
        EXPECT_EQ(logitsOf(**decoder, {1}, target, std::vector<size_t>(target.size(), 1)), whole);
        EXPECT_EQ(logitsOf(**decoder, {1}, target, {1, 16, 2, 31}), whole);
      }
    }
  }
}

TEST(SlideState, RefusesImagesThatAreNotWholeRowsOfPixels) {
  const Case c{3, 5, 1, {.height = 3, .width = 3, .across = 7}};
  const Weights weights(c);
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Segments rows = entry.segments();
  const Tensor x = model.scope().gather("table", entry.input("input_ids"), vocabulary, c.width);
  const Outputs outputs = convolve(model, entry, c, x, rows, rows.strided(1, 1, 7));
  entry.output("full", outputs.full);
  entry.output("separable", outputs.separable);
  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
  compileText(path, model.text(), weights.tensors(c));
  const Result<Model> loaded = Model::load(path, {});
  ASSERT_EQ(loaded.status().message(), "");
  Result<Session> session = Session::create(*loaded);
  ASSERT_EQ(session.status().message(), "");
  const std::vector<int32_t> ids(20, 1), lengths = {14, 6};
  std::vector<float> full(20 * 5);
  const std::vector<Input> inputs = {{"input_ids", ids}};
  const std::vector<Output> wanted = {{"full", full}};
  EXPECT_EQ(session->run("encode", lengths, inputs, wanted).message(),
            "entry \"encode\": sequence 2 has 6 tokens, expected whole rows of 7 pixels");
  // All images have one width, which a caller may specify.
  const std::vector<int32_t> whole = {14, 7}, widths = {7, 14}, narrow = {7, 1};
  const std::vector<Input> more = {{"input_ids", std::span(std::as_const(ids)).first(20)}};
  EXPECT_EQ(session->run("encode", whole, more, wanted, widths).message(),
            "entry \"encode\": sequence 2 has rows of 14 pixels, the model expects 7");
  EXPECT_EQ(
      session->run("encode", whole, more, wanted, std::span(narrow).first(1)).message(),
      "entry \"encode\": 1 widths for 2 sequences, expected one for each, the pixels in a row "
      "of its image");
}

} // namespace
} // namespace heddle
