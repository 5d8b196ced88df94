// SPDX-License-Identifier: Apache-2.0
///
/// ONNX graphs of several lengths as functions of their tensors: `heddle run` takes the rows of the
/// source and those of earlier runs with each run. A sequence has the same bits in any batch, and a
/// run in steps those of the whole.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/onnx/";

/// A tensor of a file; ids and masks are numbers as well.
struct Tensor {
  ElementType dtype = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

using Tensors = std::map<std::string, Tensor>;

Tensors readTensors(const std::string &path) {
  const auto file = Checkpoint::open(path);
  EXPECT_TRUE(file.ok()) << path;
  Tensors tensors;
  for (const std::string &name : file->names()) {
    const SafetensorsTensor &stored = *file->find(name);
    Tensor &tensor = tensors[name];
    tensor = {stored.dtype, stored.shape, {}};
    size_t count = 1;
    for (const int64_t size : stored.shape) {
      count *= static_cast<size_t>(size);
    }
    tensor.values.resize(count);
    if (stored.dtype == ElementType::F32) {
      EXPECT_TRUE(file->readF32(name, tensor.values).ok());
    } else if (stored.dtype == ElementType::Bool) {
      std::transform(
          stored.bytes.begin(), stored.bytes.end(), tensor.values.begin(),
          [](std::byte value) { return static_cast<float>(std::to_integer<unsigned>(value)); });
    } else {
      std::vector<int32_t> ids(count);
      EXPECT_TRUE(file->readI32(name, ids).ok());
      std::copy(ids.begin(), ids.end(), tensor.values.begin());
      tensor.dtype = ElementType::I32;
    }
  }
  return tensors;
}

/// Returns `count` slices of a tensor along an axis, from `first` on.
Tensor cut(const Tensor &tensor, size_t axis, int64_t first, int64_t count) {
  const auto productOf = [](auto begin, auto end) {
    return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
  };
  const auto at = tensor.shape.begin() + static_cast<int64_t>(axis);
  const int64_t outer = productOf(tensor.shape.begin(), at),
                inner = productOf(at + 1, tensor.shape.end());
  Tensor result{tensor.dtype, tensor.shape, {}};
  result.shape[axis] = count;
  for (int64_t i = 0; i < outer; ++i) {
    const auto begin = tensor.values.begin() + (i * *at + first) * inner;
    result.values.insert(result.values.end(), begin, begin + count * inner);
  }
  return result;
}

/// The results of `heddle run`, or its message.
struct Ran {
  Tensors outputs;
  std::string message;
};

Ran runOn(const std::string &binary, const Tensors &inputs, const std::string &isa = "",
          int threads = 1) {
  const TemporaryFolder folder;
  std::vector<SafetensorsTensor> tensors;
  std::map<std::string, std::vector<int32_t>> ids;
  std::map<std::string, std::vector<std::byte>> truths;
  for (const auto &[name, tensor] : inputs) {
    SafetensorsTensor &stored = tensors.emplace_back();
    stored = {name, tensor.dtype, tensor.shape, std::as_bytes(std::span(tensor.values))};
    if (tensor.dtype == ElementType::I32) {
      ids[name].assign(tensor.values.begin(), tensor.values.end());
      stored.bytes = std::as_bytes(std::span(ids[name]));
    } else if (tensor.dtype == ElementType::Bool) {
      for (const float value : tensor.values) {
        truths[name].push_back(std::byte(value != 0));
      }
      stored.bytes = truths[name];
    }
  }
  EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
  std::vector<std::string> arguments = {"run",       binary,
                                        "--inputs",  folder / "in.safetensors",
                                        "--outputs", folder / "out.safetensors",
                                        "--threads", std::to_string(threads)};
  if (!isa.empty()) {
    arguments.insert(arguments.end(), {"--isa", isa});
  }
  const tools::Outcome outcome = tools::runHeddle(withTestDevice(arguments));
  if (outcome.code != 0) {
    return {{}, outcome.error};
  }
  return {readTensors(folder / "out.safetensors"), outcome.error};
}

/// Cuts every input along the batch.
Tensors sequenceOf(const Tensors &batch, int64_t number) {
  Tensors one;
  for (const auto &[name, tensor] : batch) {
    one[name] = cut(tensor, 0, number, 1);
  }
  return one;
}

class OnnxFunctions : public testing::TestWithParam<const char *> {};

TEST_P(OnnxFunctions, HaveTheSameBitsInAnyBatch) {
  const std::string file = GetParam();
  const std::string binary = compileModel(oracles + file);
  ASSERT_FALSE(binary.empty());
  const Tensors inputs =
      readTensors(oracles + file.substr(0, file.find('/')) + "/padded.inputs.safetensors");
  for (const std::string &isa : runnableTargets(binary)) {
    const Ran whole = runOn(binary, inputs, isa);
    ASSERT_FALSE(whole.outputs.empty()) << whole.message;
    const Ran threaded = testsCpu() ? runOn(binary, inputs, isa, 3) : whole;
    for (const auto &[name, tensor] : whole.outputs) {
      EXPECT_EQ(threaded.outputs.at(name).values, tensor.values) << isa << " " << name;
      for (int64_t i = 0; i < tensor.shape.front(); ++i) {
        const Ran one = runOn(binary, sequenceOf(inputs, i), isa);
        EXPECT_EQ(one.outputs.at(name).values, cut(tensor, 0, i, 1).values) << isa << " " << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OnnxFunctions,
    testing::Values("marian-past/dynamo-sdpa-op18.onnx", "attention-past/hand-op23.onnx",
                    "torch-attention-weights/dynamo-torch-op18.onnx"),
    [](const auto &info) {
      std::string name = info.param;
      std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

/// Keys and values of no earlier rows, of one, and of several.
TEST(OnnxPasts, MayBeEmptyAndGrowStepByStep) {
  const std::string binary = compileModel(oracles + "attention-past/hand-op23.onnx");
  ASSERT_FALSE(binary.empty());
  Tensors inputs = readTensors(oracles + "attention-past/padded.inputs.safetensors");
  const Tensor x = inputs.at("x");
  for (const char *const name : {"past_key", "past_value"}) {
    inputs[name] = cut(inputs.at(name), 2, 0, 0);
  }
  const Ran whole = runOn(binary, inputs);
  ASSERT_FALSE(whole.outputs.empty()) << whole.message;
  EXPECT_EQ(whole.outputs.at("present_key").shape, (std::vector<int64_t>{2, 2, 3, 6}));
  int64_t done = 0;
  for (const int64_t count : {1, 2}) {
    inputs["x"] = cut(x, 1, done, count);
    const Ran step = runOn(binary, inputs);
    ASSERT_FALSE(step.outputs.empty()) << step.message;
    EXPECT_EQ(step.outputs.at("y").values, cut(whole.outputs.at("y"), 1, done, count).values);
    done += count;
    for (const char *const name : {"key", "value"}) {
      const std::string present = std::string("present_") + name;
      EXPECT_EQ(step.outputs.at(present).values, cut(whole.outputs.at(present), 2, 0, done).values);
      inputs[std::string("past_") + name] = step.outputs.at(present);
    }
  }
}

TEST(OnnxSources, GiveWeightsForTheirRowsAlone) {
  const std::string binary = compileModel(oracles + "torch-attention-weights/ts-torch-op14.onnx");
  ASSERT_FALSE(binary.empty());
  Tensors inputs = readTensors(oracles + "torch-attention-weights/padded.inputs.safetensors");
  const Ran whole = runOn(binary, inputs);
  ASSERT_FALSE(whole.outputs.empty()) << whole.message;
  const Tensor &weights = whole.outputs.at("weights"), &padding = inputs.at("padding");
  for (int64_t i = 0; i < weights.shape[0]; ++i) {
    for (int64_t key = 0; key < weights.shape[3]; ++key) {
      const Tensor column = cut(cut(weights, 0, i, 1), 3, key, 1);
      const bool isHidden = padding.values[static_cast<size_t>(i * weights.shape[3] + key)] != 0;
      for (const float weight : column.values) {
        EXPECT_EQ(weight == 0, isHidden) << i << " " << key;
      }
    }
  }
  // Rows of the run do not see each other.
  inputs["query"] = cut(inputs.at("query"), 1, 2, 1);
  const Ran one = runOn(binary, inputs);
  EXPECT_EQ(one.outputs.at("output").values, cut(whole.outputs.at("output"), 1, 2, 1).values);
  EXPECT_EQ(one.outputs.at("weights").values, cut(weights, 2, 2, 1).values);
  inputs["padding"].values.front() = 1;
  EXPECT_NE(runOn(binary, inputs).message.find("expected padding after all tokens"),
            std::string::npos);
}

TEST(OnnxPasts, HaveTheShapesOfTheGraph) {
  const std::string binary = compileModel(oracles + "marian-past/ts-eager-op14.onnx");
  ASSERT_FALSE(binary.empty());
  const Tensors inputs = readTensors(oracles + "marian-past/padded.inputs.safetensors");
  const auto messageFor = [&](const std::string &name,
                              const std::function<void(Tensors &)> &change) {
    Tensors changed = inputs;
    change(changed);
    const std::string message = runOn(binary, changed).message;
    EXPECT_NE(message.find("tensor \"" + name + "\""), std::string::npos) << message;
    return message;
  };
  const auto has = [](const std::string &message, const char *part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(messageFor(
          "input_ids",
          [](Tensors &all) { all["input_ids"] = {ElementType::I32, {3, 2}, {1, 2, 3, 4, 5, 6}}; }),
      "has 2 rows of each sequence, expected 1, as the graph has");
  has(messageFor("past_0_self_key",
                 [](Tensors &all) { all["past_0_self_key"].shape = {3, 6, 4, 4}; }),
      "has shape [3, 6, 4, 4], expected [sequences, 4, rows, 6]");
  has(messageFor(
          "past_1_self_value",
          [](Tensors &all) { all["past_1_self_value"] = cut(all["past_1_self_value"], 2, 0, 3); }),
      "expected [3, 4, 24]");
  has(messageFor("past_1_cross_key", [](Tensors &all) { all.erase("past_1_cross_key"); }),
      "no tensor");
  has(messageFor("input_ids",
                 [](Tensors &all) { all["input_ids"] = cut(all["input_ids"], 0, 0, 2); }),
      "has 2, expected as many");
  Tensors more = inputs;
  more["attention"] = more.at("encoder_hidden_states");
  EXPECT_EQ(runOn(binary, more).message,
            "heddle: note: tensor \"attention\" is no input of any entry: ignored\n");
}

} // namespace
} // namespace heddle
