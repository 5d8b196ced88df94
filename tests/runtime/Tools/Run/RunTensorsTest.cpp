// SPDX-License-Identifier: Apache-2.0
///
/// Padding is removed and restored; tensors are matched with the ports of an entry.
#include "runtime/Tools/Run/RunTensors.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace heddle::tools {

using Integers = std::vector<int32_t>;
using Sizes = std::vector<int64_t>;

template <typename T> static std::string messageOf(const Result<T> &result) {
  return std::string(result.status().message());
}

TEST(PaddedBatch, WithoutPadding) {
  const Result<PaddedBatch> batch = batchWithoutPadding(Sizes{2, 3});
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->lengths, (Integers{3, 3}));
  EXPECT_EQ(batch->gather(Integers{1, 2, 3, 4, 5, 6}), (Integers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch->placeOf(4), "row 2, column 2");
  const Result<PaddedBatch> row = batchWithoutPadding(Sizes{4});
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->lengths, (Integers{4}));
  EXPECT_EQ(row->placeOf(3), "position 4");
}

TEST(PaddedBatch, PaddingOnEitherSide) {
  const Integers mask = {1, 1, 0, 0, /**/ 0, 1, 1, 1, /**/ 0, 1, 0, 0, /**/ 1, 1, 1, 1};
  const Result<PaddedBatch> batch = batchWithMask(Sizes{4, 4}, mask);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->lengths, (Integers{2, 3, 1, 4}));
  Integers ids(16);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_EQ(batch->gather(ids), (Integers{0, 1, 5, 6, 7, 9, 12, 13, 14, 15}));
  EXPECT_EQ(batch->placeOf(5), "row 3, column 2");
  std::vector<float> rows(20);
  std::iota(rows.begin(), rows.end(), 1.0F);
  const std::vector<float> spread = batch->scatter(rows, 2);
  ASSERT_EQ(spread.size(), 32U);
  const std::vector<float> first(spread.begin(), spread.begin() + 16);
  EXPECT_EQ(first, (std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6, 7, 8, 9, 10}));
}

TEST(PaddedBatch, MasksThatMakeNoSense) {
  EXPECT_EQ(
      messageOf(batchWithMask(Sizes{2, 4}, Integers{1, 1, 1, 1, 1, 0, 0, 1})),
      "row 2 has a hole: 0 at column 2 and 1 again at column 4, expected the ones of a row to "
      "stand together");
  EXPECT_EQ(messageOf(batchWithMask(Sizes{2, 2}, Integers{1, 1, 0, 0})),
            "row 2 is all zeros, expected at least one token");
  EXPECT_EQ(messageOf(batchWithMask(Sizes{1, 2}, Integers{1, -7})),
            "row 1, column 2 is -7, expected 0 or 1");
}

TEST(PaddedBatch, PaddingIsWhatRowsEndIn) {
  const Result<PaddedBatch> batch = batchWithPadding(Sizes{2, 3}, Integers{0, 4, 0, 5, 0, 6}, 0);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->lengths, (Integers{2, 3}));
  EXPECT_EQ(batch->positions, (Sizes{0, 1, 3, 4, 5}));
  EXPECT_EQ(messageOf(batchWithPadding(Sizes{2, 1}, Integers{3, 7}, 7)),
            "row 2 is all padding (7), expected at least one token");
}

TEST(PaddedBatch, LengthsAndEmptyShapes) {
  const Result<PaddedBatch> batch = batchWithLengths(Sizes{5}, Integers{2, 3});
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->tokens(), 5);
  EXPECT_EQ(batch->sequences(), 2);
  EXPECT_EQ(messageOf(batchWithLengths(Sizes{5}, Integers{2, 2})),
            "the lengths add up to 4 tokens, expected the 5 that are given");
  EXPECT_EQ(messageOf(batchWithLengths(Sizes{5}, Integers{5, 0})),
            "sequence 2 has length 0, expected at least one token");
  EXPECT_EQ(messageOf(batchWithoutPadding(Sizes{0, 4})),
            "shape [0, 4] has no tokens, expected at least one");
  EXPECT_EQ(messageOf(batchWithoutPadding(Sizes{1, int64_t(1) << 31})),
            "shape [1, 2147483648] has a row of 2147483648 tokens, expected at most 2147483647");
}

namespace {
/// Tensors as in a file.
class Tensors {
public:
  Tensors &add(const std::string &name, Sizes shape, const std::vector<int64_t> &values) {
    return addBytes(name, ElementType::I64, std::move(shape), values);
  }
  Tensors &add32(const std::string &name, Sizes shape, const Integers &values) {
    return addBytes(name, ElementType::I32, std::move(shape), values);
  }
  Tensors &addFloats(const std::string &name, Sizes shape, const std::vector<float> &values) {
    return addBytes(name, ElementType::F32, std::move(shape), values);
  }

  Result<RunInputs> read(bool withRows = false) const {
    EntryInfo entry;
    entry.name = "encode";
    entry.inputs = {{"input_ids", ElementType::I32, {tokensDimension}, 100, false},
                    {"token_type_ids", ElementType::I32, {tokensDimension}, 2, true}};
    if (withRows) {
      entry.inputs.push_back({"features", ElementType::F32, {tokensDimension, 3}, 0, true});
    }
    return readRunInputs(entry, entry.inputs.front(), tensors, "in.safetensors");
  }
  std::string message() const { return messageOf(read()); }

private:
  template <typename T>
  Tensors &addBytes(const std::string &name, ElementType dtype, Sizes shape,
                    const std::vector<T> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    std::vector<std::byte> &kept = storage[name];
    kept.assign(bytes.begin(), bytes.end());
    tensors.push_back({name, dtype, std::move(shape), kept});
    return *this;
  }

  std::map<std::string, std::vector<std::byte>> storage;
  std::vector<SafetensorsTensor> tensors;
};
} // namespace

TEST(PaddedBatch, GathersRows) {
  const auto batch = batchWithMask(Sizes{2, 2}, Integers{1, 0, 1, 1});
  ASSERT_TRUE(batch.ok());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(batch->gather(values, 2), (std::vector<float>{1, 2, 5, 6, 7, 8}));
}

TEST(RunTensors, RowsBesideIds) {
  Tensors tensors;
  tensors.add("input_ids", {2, 2}, {5, 6, 7, 8}).add("attention_mask", {2, 2}, {1, 0, 1, 1});
  tensors.addFloats("features", {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Result<RunInputs> inputs = tensors.read(/*withRows=*/true);
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  ASSERT_EQ(inputs->inputs.size(), 2u);
  EXPECT_EQ(inputs->inputs[0].ids, (Integers{5, 7, 8}));
  EXPECT_EQ(inputs->inputs[1].rows, (std::vector<float>{1, 2, 3, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(inputs->inputs[1].values().element, ElementType::F32);
  Tensors narrow;
  narrow.add("input_ids", {2}, {5, 6}).addFloats("features", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(messageOf(narrow.read(true)), "in.safetensors: tensor \"features\" has shape [2, 2], "
                                          "expected [2, 3] as \"input_ids\" has");
  Tensors ofIds;
  ofIds.add("input_ids", {2}, {5, 6}).add("features", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(messageOf(ofIds.read(true)),
            "in.safetensors: tensor \"features\": has type I64, expected F32, F16 or BF16");
}

TEST(RunTensors, PaddedForm) {
  const Result<RunInputs> inputs = Tensors()
                                       .add("input_ids", {2, 3}, {5, 6, -1, 7, 8, 9})
                                       .add32("attention_mask", {2, 3}, {1, 1, 0, 1, 1, 1})
                                       .add("token_type_ids", {2, 3}, {0, 1, 9, 0, 0, 0})
                                       .read();
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  ASSERT_EQ(inputs->inputs.size(), 2u);
  EXPECT_EQ(inputs->inputs[0].name, "input_ids");
  EXPECT_EQ(inputs->inputs[1].name, "token_type_ids");
  EXPECT_EQ(inputs->inputs[0].ids, (Integers{5, 6, 7, 8, 9}));
  EXPECT_EQ(inputs->inputs[1].ids, (Integers{0, 1, 0, 0, 0}));
  EXPECT_EQ(inputs->batch.lengths, (Integers{2, 3}));
  const PortInfo states{"h", ElementType::F32, {tokensDimension, 8}, 0, false};
  const PortInfo pooled{"p", ElementType::F32, {sequencesDimension, 8}, 0, false};
  EXPECT_EQ(outputShape(states, inputs->batch), (Sizes{2, 3, 8}));
  EXPECT_EQ(outputShape(pooled, inputs->batch), (Sizes{2, 8}));
}

TEST(RunTensors, RaggedForm) {
  const Result<RunInputs> inputs =
      Tensors().add("input_ids", {4}, {5, 6, 7, 8}).add32("lengths", {2}, {1, 3}).read();
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  EXPECT_EQ(inputs->batch.lengths, (Integers{1, 3}));
  const PortInfo states{"h", ElementType::F32, {tokensDimension, 8}, 0, false};
  EXPECT_EQ(outputShape(states, inputs->batch), (Sizes{4, 8}));
  const Result<RunInputs> one = Tensors().add("input_ids", {2}, {5, 6}).read();
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->batch.lengths, (Integers{2}));
}

/// Returns a port of two floats per row, for blocks of two tokens.
static PortInfo blocksPort() {
  const int64_t rows = RowDimension{*RowSpace::tokens().blocks(2)}.number();
  return {"b", ElementType::F32, {rows, 2}, 0, false};
}

TEST(RunTensors, RowsOfBlocksBeginTheLineOfTheirSequence) {
  const Result<RunInputs> inputs = Tensors()
                                       .add("input_ids", {2, 3}, {-1, 5, 6, 7, 8, 9})
                                       .add32("attention_mask", {2, 3}, {0, 1, 1, 1, 1, 1})
                                       .read();
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  EXPECT_EQ(outputShape(blocksPort(), inputs->batch), (Sizes{2, 2, 2}));
  EXPECT_EQ(derivedLengths(blocksPort(), inputs->batch), (Integers{1, 2}));
  EXPECT_EQ(spreadRows(blocksPort(), inputs->batch, {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{1, 2, 0, 0, 3, 4, 5, 6}));
}

TEST(RunTensors, NoOutputHasTheNameOfAnothersLengths) {
  const PortInfo lengths{"b.lengths", ElementType::F32, {tokensDimension, 2}, 0, false};
  EXPECT_EQ(checkLengthsNames(std::vector{blocksPort(), lengths}).message(),
            "output \"b.lengths\" has the name that the rows of each sequence of output \"b\" get "
            "in a file: use C or C++");
  const PortInfo tokens{"t", ElementType::F32, {tokensDimension, 2}, 0, false};
  const PortInfo other{"t.lengths", ElementType::F32, {tokensDimension, 2}, 0, false};
  EXPECT_TRUE(checkLengthsNames(std::vector{blocksPort(), tokens, other}).ok());
}

TEST(RunTensors, RowsOfBlocksOfRaggedSequencesFollowEachOther) {
  const Result<RunInputs> inputs =
      Tensors().add("input_ids", {4}, {5, 6, 7, 8}).add32("lengths", {2}, {1, 3}).read();
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  EXPECT_EQ(outputShape(blocksPort(), inputs->batch), (Sizes{3, 2}));
  EXPECT_EQ(derivedLengths(blocksPort(), inputs->batch), (Integers{1, 2}));
  EXPECT_EQ(spreadRows(blocksPort(), inputs->batch, {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const PortInfo states{"h", ElementType::F32, {tokensDimension, 2}, 0, false};
  EXPECT_TRUE(derivedLengths(states, inputs->batch).empty());
}

TEST(RunTensors, OtherTensorsAreIgnored) {
  const Result<RunInputs> inputs = Tensors()
                                       .addFloats("last_hidden_state", {1, 2, 2}, {1, 2, 3, 4})
                                       .add("input_ids", {1, 2}, {5, 6})
                                       .add("attention_mask", {1, 2}, {1, 1})
                                       .add("mask", {7}, {1, 2, 3, 4, 5, 6, 7})
                                       .read();
  ASSERT_TRUE(inputs.ok()) << messageOf(inputs);
  ASSERT_EQ(inputs->inputs.size(), 1u);
  EXPECT_EQ(inputs->inputs[0].name, "input_ids");
  EXPECT_EQ(inputs->ignored, (std::vector<std::string>{"last_hidden_state", "mask"}));
}

TEST(RunTensors, NamesAndShapes) {
  EXPECT_EQ(Tensors().add("token_type_ids", {1, 2}, {0, 0}).message(),
            "in.safetensors: no tensor \"input_ids\", which entry \"encode\" needs");
  EXPECT_EQ(
      Tensors().add("input_ids", {1, 1, 1}, {5}).message(),
      "in.safetensors: tensor \"input_ids\" has shape [1, 1, 1], expected [sequences, length] "
      "or [tokens]");
  EXPECT_EQ(Tensors().add("input_ids", {}, {5}).message(),
            "in.safetensors: tensor \"input_ids\" has shape [], expected [sequences, length] or "
            "[tokens]");
  EXPECT_EQ(Tensors().add("input_ids", {1, 2}, {5, 6}).add("attention_mask", {2}, {1, 1}).message(),
            "in.safetensors: tensor \"attention_mask\" has shape [2], expected [1, 2] as "
            "\"input_ids\" has");
  EXPECT_EQ(
      Tensors().add("input_ids", {1, 2}, {5, 6}).add("token_type_ids", {2, 1}, {1, 1}).message(),
      "in.safetensors: tensor \"token_type_ids\" has shape [2, 1], expected [1, 2] as "
      "\"input_ids\" has");
  EXPECT_EQ(Tensors().add("input_ids", {2}, {5, 6}).add("attention_mask", {2}, {1, 1}).message(),
            "in.safetensors: tensor \"attention_mask\" is given and \"input_ids\" has shape [2], "
            "expected [sequences, length] with a mask");
  EXPECT_EQ(Tensors().add("input_ids", {1, 2}, {5, 6}).add("lengths", {1}, {2}).message(),
            "in.safetensors: tensor \"lengths\" is given and \"input_ids\" has shape [1, 2], "
            "expected [tokens] with lengths");
  EXPECT_EQ(Tensors().add("input_ids", {2}, {5, 6}).add("lengths", {1, 1}, {2}).message(),
            "in.safetensors: tensor \"lengths\" has shape [1, 1], expected [sequences]");
}

namespace {
/// Tensors read as the input of an entry of images, three columns of two numbers, or of spectra of
/// three bins.
class Pixels {
public:
  Pixels(const std::string &name, int64_t width) {
    entry.name = "encode";
    entry.inputs = {{name, ElementType::F32, {tokensDimension, width}, 0, false}};
    entry.inputs[0].pad = width == 1 ? std::optional<int32_t>(0) : std::nullopt;
    entry.lengthMultiple = 3;
  }
  /// The same with images of any width.
  static Pixels ofAnyWidth(int64_t channels) {
    Pixels pixels("image", channels);
    pixels.entry.lengthMultiple = 1;
    pixels.entry.hasWidths = true;
    pixels.entry.inputs[0].pad = std::nullopt;
    return pixels;
  }
  /// 0, 1, 2, ...
  Pixels &floats(const std::string &name, const Sizes &shape) {
    const int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.0F);
    rows.push_back({name, shape, values});
    return *this;
  }
  Pixels &integers(const std::string &name, const Integers &values) {
    counts.emplace_back(name, values);
    return *this;
  }
  Result<RunInputs> read() const {
    std::vector<SafetensorsTensor> tensors;
    for (const auto &[name, shape, values] : rows) {
      tensors.push_back({name, ElementType::F32, shape, std::as_bytes(std::span(values))});
    }
    for (const auto &[name, values] : counts) {
      tensors.push_back({name,
                         ElementType::I32,
                         {static_cast<int64_t>(values.size())},
                         std::as_bytes(std::span(values))});
    }
    return readRunInputs(entry, entry.inputs.front(), tensors, "in");
  }
  std::string message() const { return messageOf(read()); }

private:
  struct Rows {
    std::string name;
    Sizes shape;
    std::vector<float> values;
  };
  EntryInfo entry;
  std::vector<Rows> rows;
  std::vector<std::pair<std::string, Integers>> counts;
};
} // namespace

TEST(RunTensors, ImagesMayHaveWidthsOfTheirOwn) {
  // Two of four rows of three pixels, of which the first has two rows of one.
  const Result<RunInputs> images = Pixels::ofAnyWidth(2)
                                       .floats("image", {2, 4, 3, 2})
                                       .integers("image.length", {2, 4})
                                       .integers("image.width", {1, 3})
                                       .read();
  ASSERT_TRUE(images.ok()) << messageOf(images);
  EXPECT_EQ(images->batch.lengths, (Integers{2, 12}));
  EXPECT_EQ(images->batch.widths, (Integers{1, 3}));
  EXPECT_TRUE(images->ignored.empty());
  ASSERT_EQ(images->inputs[0].rows.size(), 28U);
  EXPECT_EQ(images->inputs[0].rows[1], 1);
  EXPECT_EQ(images->inputs[0].rows[2], 6);
  EXPECT_EQ(images->inputs[0].rows[4], 24);
  // A whole tensor without sizes, one channel without a dimension, and concatenated pixels.
  EXPECT_EQ(Pixels::ofAnyWidth(2).floats("image", {2, 4, 3, 2}).read()->batch.widths,
            (Integers{3, 3}));
  const Result<RunInputs> grey = Pixels::ofAnyWidth(1).floats("image", {1, 2, 5}).read();
  ASSERT_TRUE(grey.ok()) << messageOf(grey);
  EXPECT_EQ(grey->batch.lengths, Integers{10});
  EXPECT_EQ(grey->batch.widths, Integers{5});
  const Result<RunInputs> flat = Pixels::ofAnyWidth(2)
                                     .floats("image", {10, 2})
                                     .integers("lengths", {4, 6})
                                     .integers("image.width", {4, 2})
                                     .read();
  ASSERT_TRUE(flat.ok()) << messageOf(flat);
  EXPECT_EQ(flat->batch.lengths, (Integers{4, 6}));
  EXPECT_EQ(flat->batch.widths, (Integers{4, 2}));
  EXPECT_TRUE(flat->ignored.empty());
}

TEST(RunTensors, ImagesOfAnyWidthThatDoNotFit) {
  const auto ofAny = [] { return Pixels::ofAnyWidth(2).floats("image", {2, 4, 3, 2}); };
  EXPECT_EQ(ofAny().integers("image.width", {1, 4}).message(),
            "in: tensor \"image.width\": sequence 2 has 4, expected 1 to 3");
  EXPECT_EQ(ofAny().integers("image.width", {0, 3}).message(),
            "in: tensor \"image.width\": sequence 1 has 0, expected 1 to 3");
  EXPECT_EQ(ofAny().integers("image.length", {5, 1}).message(),
            "in: tensor \"image.length\": sequence 1 has 5, expected 1 to 4");
  EXPECT_EQ(ofAny().integers("image.width", {3}).message(),
            "in: tensor \"image.width\" has shape [1], expected [2], one for each sequence");
  EXPECT_EQ(ofAny().integers("attention_mask", {1, 1}).message(),
            "in: tensor \"attention_mask\" is given beside images, expected \"image.length\" and "
            "\"image.width\"");
  EXPECT_EQ(Pixels::ofAnyWidth(2).floats("image", {2, 4, 3}).message(),
            "in: tensor \"image\" has shape [2, 4, 3], expected [sequences, height, width, 2], or "
            "[tokens, 2] beside \"lengths\" and \"image.width\"");
  EXPECT_EQ(Pixels::ofAnyWidth(2).floats("image", {2, 4, 0, 2}).message(),
            "in: tensor \"image\" has shape [2, 4, 0, 2], expected at least one pixel in at least "
            "one example");
  EXPECT_EQ(
      Pixels::ofAnyWidth(1).floats("image", {1, 1, 65536, 1}).message(),
      "in: tensor \"image\" has shape [1, 1, 65536, 1], expected rows of at most 65535 pixels "
      "and fewer than 2^31 in all");
  EXPECT_EQ(Pixels::ofAnyWidth(2).floats("image", {6, 2}).integers("lengths", {6}).message(),
            "in: tensor \"image\" has shape [6, 2], expected tensors \"lengths\" and "
            "\"image.width\" [sequences] beside it");
  // If all images have one width, a file may specify it, and must then agree.
  EXPECT_EQ(
      Pixels("image", 2).floats("image", {2, 4, 3, 2}).integers("image.width", {3, 3}).message(),
      "");
  EXPECT_EQ(
      Pixels("image", 2).floats("image", {2, 4, 3, 2}).integers("image.width", {3, 2}).message(),
      "in: tensor \"image.width\": sequence 2 has 2, the model expects 3");
  EXPECT_EQ(Pixels("image", 2).floats("image", {2, 4, 3, 2}).integers("image.width", {3}).message(),
            "in: tensor \"image.width\" has shape [1], expected [2], one for each sequence");
  // Redundant specifications are rejected, because they may contradict.
  EXPECT_EQ(Pixels::ofAnyWidth(2)
                .floats("image", {1, 2, 3, 2})
                .integers("image.width", {3})
                .integers("lengths", {6})
                .message(),
            "in: tensor \"lengths\" is given beside \"image\" of shape [1, 2, 3, 2], expected "
            "\"image.length\"");
  EXPECT_EQ(Pixels::ofAnyWidth(2)
                .floats("image", {6, 2})
                .integers("image.width", {3})
                .integers("lengths", {6})
                .integers("image.length", {2})
                .message(),
            "in: tensor \"image.length\" is given beside \"image\" of shape [6, 2], expected "
            "\"lengths\"");
}

TEST(RunTensors, PixelsAreRows) {
  const Result<RunInputs> images = Pixels("image", 2).floats("image", {2, 4, 3, 2}).read();
  ASSERT_TRUE(images.ok()) << messageOf(images);
  EXPECT_EQ(images->batch.lengths, (Integers{12, 12}));
  EXPECT_EQ(images->inputs[0].rows.size(), 48U);
  const Result<RunInputs> shorter =
      Pixels("image", 2).floats("image", {2, 4, 3, 2}).integers("image.length", {1, 4}).read();
  ASSERT_TRUE(shorter.ok()) << messageOf(shorter);
  EXPECT_EQ(shorter->batch.lengths, (Integers{3, 12}));
  EXPECT_EQ(shorter->inputs[0].rows[6], 24);
  EXPECT_TRUE(shorter->ignored.empty());
  const Result<RunInputs> spectra =
      Pixels("audio", 1).floats("audio", {2, 4, 3}).integers("audio.length", {3, 2}).read();
  ASSERT_TRUE(spectra.ok()) << messageOf(spectra);
  EXPECT_EQ(spectra->batch.lengths, (Integers{9, 6}));
  EXPECT_EQ(spectra->inputs[0].rows[9], 12);
  EXPECT_TRUE(Pixels("audio", 1).floats("audio", {1, 4, 3}).read().ok());
  EXPECT_TRUE(Pixels("image", 2).floats("image", {12, 2}).read().ok());
}

TEST(RunTensors, PixelsThatAreNone) {
  EXPECT_EQ(
      Pixels("image", 2).floats("image", {2, 0, 3, 2}).message(),
      "in: tensor \"image\" has shape [2, 0, 3, 2], expected at least one row of pixels in at "
      "least one example");
  EXPECT_EQ(Pixels("audio", 1).floats("audio", {0, 4, 3}).message(),
            "in: tensor \"audio\" has shape [0, 4, 3], expected at least one row of pixels in at "
            "least one example");
  EXPECT_EQ(Pixels("image", 2).floats("image", {2, 4, 3, 3}).message(),
            "in: tensor \"image\" has shape [2, 4, 3, 3], expected [sequences, height, 3, 2], "
            "[sequences, length, 2] or [tokens, 2]");
  EXPECT_EQ(Pixels("image", 2).floats("image", {2, 4, 4, 2}).message(),
            "in: tensor \"image\" has shape [2, 4, 4, 2], expected [sequences, height, 3, 2], "
            "[sequences, length, 2] or [tokens, 2]");
  EXPECT_EQ(Pixels("audio", 1).floats("audio", {2, 4, 5}).message(),
            "in: tensor \"audio\" has shape [2, 4, 5], expected [sequences, frames, 3], "
            "[sequences, length, 1] or [tokens, 1]");
}

TEST(RunTensors, LengthsBesideAnInput) {
  const auto spectra = [] { return Pixels("audio", 1).floats("audio", {2, 4, 3}); };
  EXPECT_EQ(spectra().message(),
            "in: no tensor \"audio.length\" [2], expected one beside \"audio\", "
            "whose shorter sequences end in zeros");
  EXPECT_EQ(spectra().integers("audio.length", {4, 5}).message(),
            "in: tensor \"audio.length\": sequence 2 has 5, expected 1 to 4");
  EXPECT_EQ(spectra().integers("audio.length", {0, 4}).message(),
            "in: tensor \"audio.length\": sequence 1 has 0, expected 1 to 4");
  EXPECT_EQ(spectra().integers("audio.length", {4}).message(),
            "in: tensor \"audio.length\" has shape [1], expected [2] as \"audio\" has");
  EXPECT_EQ(Pixels("audio", 1).floats("audio", {12, 1}).integers("audio.length", {4}).message(),
            "in: tensor \"audio.length\" is given beside \"audio\", expected it only for sequences "
            "of one size, without a mask or lengths");
  EXPECT_EQ(Tensors()
                .add("input_ids", {1, 2}, {5, 6})
                .add("attention_mask", {1, 2}, {1, 1})
                .add("input_ids.length", {1}, {2})
                .message(),
            "in.safetensors: tensor \"input_ids.length\" is given beside \"attention_mask\", "
            "expected it only for sequences of one size, without a mask or lengths");
  EXPECT_EQ(Tensors()
                .add("input_ids", {1, 2}, {5, 6})
                .add("lengths", {1}, {1})
                .add("input_ids.length", {1}, {2})
                .message(),
            "in.safetensors: tensor \"input_ids.length\" is given beside \"lengths\", "
            "expected it only for sequences of one size, without a mask or lengths");
  const Result<RunInputs> ids = Tensors()
                                    .add("input_ids", {2, 3}, {5, 6, -1, 7, 8, 9})
                                    .add32("input_ids.length", {2}, {2, 3})
                                    .read();
  ASSERT_TRUE(ids.ok()) << messageOf(ids);
  EXPECT_EQ(ids->batch.lengths, (Integers{2, 3}));
}

TEST(RunTensors, Commands) {
  EntryInfo decode;
  decode.inputs = {{"target", ElementType::I32, {tokensDimension}, 12, false}};
  decode.outputs = {{"logits", ElementType::F32, {tokensDimension, 10}, 0, false}};
  EXPECT_EQ(commandsOf(decode), 2);
  const auto read = [&](Sizes shape, const std::vector<int32_t> &values, size_t sequences) {
    const std::vector<SafetensorsTensor> tensors = {
        {"command", ElementType::I32, shape, std::as_bytes(std::span(values))}};
    return readCommands(decode, sequences, tensors, "in");
  };
  EXPECT_EQ(*read({3}, {1, 0, 1}, 3), (Integers{1, 0, 1}));
  EXPECT_EQ(messageOf(read({3}, {1, 0, 2}, 3)),
            "in: tensor \"command\": sequence 3 has 2, expected 0 to 1");
  EXPECT_EQ(messageOf(read({3}, {1, -1, 0}, 3)),
            "in: tensor \"command\": sequence 2 has -1, expected 0 to 1");
  EXPECT_EQ(messageOf(read({1, 3}, {1, 1, 0}, 3)),
            "in: tensor \"command\" has shape [1, 3], expected [3], one for each sequence");
  EXPECT_EQ(messageOf(read({3}, {1, 1, 0}, 4)),
            "in: tensor \"command\" has shape [3], expected [4], one for each sequence");
  decode.inputs[0].limit = 10;
  EXPECT_TRUE(read({3}, {7, 7, 7}, 3)->empty());
}

TEST(RunTensors, Values) {
  EXPECT_EQ(Tensors().add("input_ids", {2, 2}, {5, 6, 7, 100}).message(),
            "in.safetensors: tensor \"input_ids\": row 2, column 2 is 100, expected 0 to 99");
  EXPECT_EQ(Tensors().add("input_ids", {2}, {5, -6}).message(),
            "in.safetensors: tensor \"input_ids\": position 2 is -6, expected 0 to 99");
  EXPECT_EQ(Tensors().add("input_ids", {2}, {5, 6}).add("lengths", {1}, {3}).message(),
            "in.safetensors: tensor \"lengths\": the lengths add up to 3 tokens, expected the 2 "
            "that are given");
  EXPECT_EQ(Tensors().add("input_ids", {1, 1}, {5}).add("attention_mask", {1, 1}, {0}).message(),
            "in.safetensors: tensor \"attention_mask\": row 1 is all zeros, expected at least one "
            "token");
  EXPECT_EQ(Tensors().add("input_ids", {0, 3}, {}).message(),
            "in.safetensors: tensor \"input_ids\": shape [0, 3] has no tokens, expected at least "
            "one");
  EXPECT_EQ(Tensors().addFloats("input_ids", {1}, {5}).message(),
            "in.safetensors: tensor \"input_ids\": has type F32, expected I32 or I64");
  EXPECT_EQ(Tensors().add("input_ids", {1}, {int64_t(1) << 40}).message(),
            "in.safetensors: tensor \"input_ids\": value 1 is 1099511627776, expected one from "
            "-2147483648 to 2147483647");
}

} // namespace heddle::tools
