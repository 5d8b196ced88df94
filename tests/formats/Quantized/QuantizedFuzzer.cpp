// SPDX-License-Identifier: Apache-2.0
///
/// Any "quantization_config" with any tensors: an error with its place, or matrices whose codes can
/// all be read. An input is a configuration in JSON with "tensors", each of which has a name, a
/// type, a shape and the value of all its bytes.
#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"
#include "formats/Quantized/OpenQuantized.h"
#include "tests/Fuzzing/JsonMutation.h"

#include <deque>

using namespace heddle;
using fuzzing::require;

/// The maximum size of a tensor in bytes.
static constexpr uint64_t mostBytes = uint64_t{1} << 16;

/// Returns the tensor that the input describes, or nullopt if it cannot be made.
static std::optional<SafetensorsTensor> tensorOf(const nlohmann::json &item,
                                                 std::deque<std::vector<std::byte>> &values) {
  if (!item.is_object() || !item.contains("name") || !item["name"].is_string() ||
      !item.contains("shape") || !item["shape"].is_array()) {
    return std::nullopt;
  }
  SafetensorsTensor tensor;
  tensor.name = item["name"].get<std::string>();
  for (const ElementType type : allElementTypes) {
    if (item.contains("type") && item["type"] == infoOf(type).safetensors) {
      tensor.dtype = type;
    }
  }
  for (const nlohmann::json &size : item["shape"]) {
    if (!size.is_number_unsigned()) {
      return std::nullopt;
    }
    tensor.shape.push_back(size.get<int64_t>());
  }
  const std::optional<uint64_t> bytes = byteSize(tensor.dtype, tensor.shape);
  if (!bytes || *bytes > mostBytes) {
    return std::nullopt;
  }
  const bool hasFill = item.contains("fill") && item["fill"].is_number_unsigned();
  const auto fill = static_cast<std::byte>(hasFill ? item["fill"].get<uint64_t>() : 0);
  tensor.bytes = values.emplace_back(*bytes, fill);
  return tensor;
}

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJson)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Result<nlohmann::json> input =
      parseJson({reinterpret_cast<const char *>(data), size}, "input");
  if (!input.ok() || !input->is_object()) {
    return 0;
  }
  std::deque<std::vector<std::byte>> values;
  std::vector<SafetensorsTensor> tensors;
  for (const nlohmann::json &item : input->value("tensors", nlohmann::json::array())) {
    if (const std::optional<SafetensorsTensor> tensor = tensorOf(item, values)) {
      tensors.push_back(*tensor);
    }
  }
  Result<Checkpoint> stored = Checkpoint::ofTensors(tensors, "memory");
  const Result<Config> config = Config::fromJson(*input, "config.json");
  if (!stored.ok() || !config.ok()) {
    return 0;
  }
  const Result<Checkpoint> model = withQuantization(*std::move(stored), *config);
  if (!model.ok()) {
    const std::string_view message = model.status().message();
    require(message.starts_with("memory: ") || message.starts_with("config.json: "));
    return 0;
  }
  for (const std::string &name : model->names()) {
    const StoredTensor &tensor = *model->find(name);
    if (!tensor.codes) {
      continue;
    }
    const CodeLayout &layout = tensor.codes->layout();
    const bool isFull = tensor.codes->hasLeastCode(0, tensor.shape[0]);
    const Result<CodeRows> rows = model->readCodes(name, layout, isFull);
    require(rows.ok() && rows->codes.size() == size_t(tensor.shape[0] * tensor.shape[1]));
    std::vector<float> numbers(rows->codes.size());
    require(model->readF32(name, numbers).ok());
  }
  return 0;
}
