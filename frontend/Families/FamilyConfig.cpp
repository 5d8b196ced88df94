// SPDX-License-Identifier: Apache-2.0
///
/// Reads activations by name and checks sizes that must fit together.
#include "frontend/Families/FamilyConfig.h"

#include "base/Utf8.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

Result<Activation> readActivation(const Config &config, std::string_view key,
                                  std::string_view absent) {
  HEDDLE_ASSIGN(const std::string name,
                config.oneOfOr(key,
                               {"gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu",
                                "sigmoid", "silu", "swish", "tanh"},
                               absent));
  if (name == "gelu") {
    return Activation::Gelu;
  }
  if (name == "silu" || name == "swish") {
    return Activation::Silu;
  }
  if (name == "relu") {
    return Activation::Relu;
  }
  if (name == "tanh") {
    return Activation::Tanh;
  }
  if (name == "quick_gelu") {
    return Activation::QuickGelu;
  }
  return name == "sigmoid" ? Activation::Sigmoid : Activation::GeluNew;
}

Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width) {
  if (width % heads != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" is {}, expected a divisor of \"{}\", {}",
                                    config.where(), headsKey, heads, widthKey, width));
  }
  return {};
}

Status refuseOption(const Config &config, std::string_view key) {
  if (config.has(key)) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: {} is set, expected a model without",
                                                 config.where(), quote(key)));
  }
  return {};
}

} // namespace heddle
