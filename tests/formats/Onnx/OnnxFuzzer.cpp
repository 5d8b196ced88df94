// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as an ONNX file: an error, or graphs within the limits whose tensors are in the
/// file or are owned, with the size that their shapes require.
#include "formats/Onnx/OnnxFile.h"
#include "tests/Fuzzing/ProtobufMutation.h"

#include <span>

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateProtobuf)

static void checkName(std::string_view name) { require(name.size() <= onnxNameLimit); }

static void checkTensor(const OnnxTensor &tensor, std::span<const std::byte> file) {
  checkName(tensor.name);
  require(tensor.shape.size() <= onnxRankLimit);
  const auto size = byteSize(tensor.dtype, tensor.shape);
  require(size.has_value());
  if (tensor.external) {
    require(tensor.bytes.empty());
    return;
  }
  require(tensor.bytes.size() == *size);
  require(tensor.owned || tensor.bytes.empty() ||
          (tensor.bytes.data() >= file.data() &&
           tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size()));
}

static void checkGraph(const OnnxGraph &graph, std::span<const std::byte> file, size_t depth);

static void checkNodes(const std::vector<OnnxNode> &nodes, std::span<const std::byte> file,
                       size_t depth) {
  require(nodes.size() <= onnxNodeLimit && depth <= onnxNestingLimit);
  for (const OnnxNode &node : nodes) {
    checkName(node.name);
    checkName(node.type);
    for (const OnnxAttribute &attribute : node.attributes) {
      if (attribute.tensor) {
        checkTensor(*attribute.tensor, file);
      }
      if (attribute.graph) {
        checkGraph(*attribute.graph, file, depth + 1);
      }
    }
  }
}

static void checkGraph(const OnnxGraph &graph, std::span<const std::byte> file, size_t depth) {
  for (const OnnxTensor &tensor : graph.initializers) {
    checkTensor(tensor, file);
  }
  checkNodes(graph.nodes, file, depth);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto model = parseOnnx(file, "input");
  if (!model.ok()) {
    require(model.status().message().starts_with("input: "));
    return 0;
  }
  checkGraph(model->graph, file, 1);
  for (const OnnxFunction &function : model->functions) {
    checkNodes(function.nodes, file, 1);
  }
  return 0;
}
