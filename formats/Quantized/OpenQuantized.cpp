// SPDX-License-Identifier: Apache-2.0
///
/// Finds the reader of a "quantization_config".
#include "formats/Quantized/OpenQuantized.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Quantized/QuantizedParts.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

static constexpr std::string_view quantizationKey = "quantization_config";

/// Returns the kinds of tensors, without duplicates.
static std::vector<std::string> kindsOf(const std::vector<CodedTensor> &tensors) {
  std::vector<std::string> kinds;
  std::set<std::string> known;
  for (const CodedTensor &tensor : tensors) {
    if (known.insert(tensor.codes->kind()).second) {
      kinds.push_back(tensor.codes->kind());
    }
  }
  return kinds;
}

Result<Checkpoint> withQuantization(Checkpoint checkpoint, const Config &config) {
  if (!config.has(quantizationKey)) {
    return checkpoint;
  }
  HEDDLE_ASSIGN(const Config quantization, config.object(quantizationKey));
  HEDDLE_ASSIGN(const std::string method,
                quantization.oneOf("quant_method", {"compressed-tensors", "gptq", "awq"}));
  Result<CodedTensors> coded = method == "gptq"  ? readGptq(quantization, checkpoint)
                               : method == "awq" ? readAwq(quantization, checkpoint)
                                                 : readCompressedTensors(quantization, checkpoint);
  HEDDLE_TRY(coded.status());
  if (coded->tensors.empty()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: has no quantised tensors, expected some, since {} is of "
                                    "{}",
                                    checkpoint.path(), quote(quantizationKey), quote(method)));
  }
  coded->quantization.kinds = kindsOf(coded->tensors);
  return std::move(checkpoint).withCodes(std::move(coded->tensors), std::move(coded->quantization));
}

Result<Checkpoint> openFolderWeights(const std::string &folder) {
  HEDDLE_ASSIGN(Checkpoint checkpoint, Checkpoint::open(folder));
  std::error_code ignored;
  const std::string path = (fs::path(folder) / "config.json").string();
  if (checkpoint.files().empty() || !fs::exists(path, ignored)) {
    return checkpoint;
  }
  HEDDLE_ASSIGN(const Config config, Config::open(path));
  return withQuantization(std::move(checkpoint), config);
}

} // namespace heddle
