// SPDX-License-Identifier: Apache-2.0
///
/// Finds variables by name and checks their shape and range.
#include "formats/CTranslate2/CTranslate2Variables.h"

#include "base/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

namespace {

/// A part of a variable's name and the feature it stands for.
struct Option {
  std::string_view name;
  std::string_view meaning;
};

/// A variable with such a part exists only if the model uses the feature.
constexpr Option unsupportedParts[] = {
    {"embeddings_1", "source features"},
    {"external_post_encoder_attention_layer_norm", "norms outside attention"},
    {"external_pre_encoder_attention_layer_norm", "norms outside attention"},
    {"final_logit_softcapping", "logit soft-capping"},
    {"head_dim", "a head size of its own"},
    {"input_layer_norm", "parallel residuals"},
    {"k_norm", "key norms"},
    {"layer_norm_use_residual", "RMS norms"},
    {"layer_scalar", "layer scaling"},
    {"linear_0_noact", "gated feed-forward layers"},
    {"memory_kv", "merged attention"},
    {"merged_encoder_attention", "merged attention"},
    {"num_heads_kv", "grouped or multi-query attention"},
    {"post_attention_layer_norm", "norms around sub-layers"},
    {"post_feedforward_layer_norm", "norms around sub-layers"},
    {"pre_feedforward_layer_norm", "norms around sub-layers"},
    {"project_in", "embedding projections"},
    {"project_out", "embedding projections"},
    {"q_norm", "query norms"},
    {"queries_scale", "query scaling"},
    {"relative_asymmetric_position_keys", "relative positions"},
    {"relative_attention_bias", "relative position bias"},
    {"relative_position_keys", "relative positions"},
    {"relative_position_values", "relative positions"},
    {"rotary_dim", "rotary embeddings"},
    {"scale_outputs", "logit scaling"},
    {"shared_layer_norm", "parallel residuals"},
    {"sliding_window", "sliding-window attention"},
    {"v_norm", "value norms"},
    {"weight_zero", "AWQ quantization"},
};

/// If the name of a variable ends in such a part, its value determines whether the model uses the
/// feature.
constexpr Option unsupportedFlags[] = {
    {"alibi", "ALiBi"},
    {"multi_query_attention", "grouped or multi-query attention"},
    {"with_relative_position", "relative positions"},
};

/// Options without effect when the options above are off, or that another option overrides.
constexpr std::string_view unneeded[] = {"alibi_use_positive_positions", "embeddings_merge",
                                         "multiply_by_sqrt_depth", "scale_alibi"};

} // namespace

static bool hasPart(std::string_view name, std::string_view part) {
  return fmt::format("/{}/", name).find(fmt::format("/{}/", part)) != std::string::npos;
}

static bool endsInPart(std::string_view name, std::string_view part) {
  return name == part || name.ends_with(fmt::format("/{}", part));
}

Result<const StoredTensor *> CTranslate2Variables::tensor(const std::string &name,
                                                          const std::vector<int64_t> &shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) {
    sizes.push_back(size < 0 ? "any" : fmt::to_string(size));
  }
  const std::string expected = fmt::format("[{}]", fmt::join(sizes, ", "));
  const StoredTensor *const found = file.find(name);
  if (found == nullptr) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: variable {} is missing, expected one of shape "
                                              "{}",
                                              path(), quote(name), expected));
  }
  const bool fits =
      std::equal(found->shape.begin(), found->shape.end(), shape.begin(), shape.end(),
                 [](int64_t seen, int64_t size) { return size < 0 ? seen > 0 : seen == size; });
  if (!fits) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: variable {} has shape {}, expected {}", path(),
                                    quote(name), formatShape(found->shape), expected));
  }
  if (!found->isReal()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: variable {} has type {}, expected real numbers", path(),
                                    quote(name), infoOf(found->dtype).safetensors));
  }
  taken.insert(name);
  // The scales belong to the tensor.
  taken.insert(name + "_scale");
  return found;
}

Result<int64_t> CTranslate2Variables::integer(const std::string &scope, const std::string &name,
                                              int64_t min, int64_t max, int64_t absent) {
  std::string full = fmt::format("{}/{}", scope, name);
  if (!has(full) && file.revision() < 5) {
    full = name;
  }
  HEDDLE_ASSIGN(const std::optional<double> value, number(full));
  if (!value) {
    return absent;
  }
  // NaN fails every range check.
  const bool fits = *value >= static_cast<double>(min) && *value <= static_cast<double>(max) &&
                    std::trunc(*value) == *value;
  if (!fits) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: variable {} is {}, expected an integer from {} to {}",
                                    path(), quote(full), *value, min, max));
  }
  return static_cast<int64_t>(*value);
}

Result<bool> CTranslate2Variables::flag(const std::string &scope, const std::string &name,
                                        bool absent) {
  HEDDLE_ASSIGN(const int64_t value, integer(scope, name, 0, 1, absent ? 1 : 0));
  return value == 1;
}

Result<std::optional<double>> CTranslate2Variables::number(const std::string &name) {
  if (!has(name)) {
    return std::optional<double>();
  }
  HEDDLE_ASSIGN(const double value, file.number(name));
  taken.insert(name);
  return std::optional(value);
}

Result<std::string> CTranslate2Variables::text(const std::string &name, std::string_view absent) {
  if (!has(name)) {
    return std::string(absent);
  }
  taken.insert(name);
  return file.text(name);
}

Status CTranslate2Variables::checkSupported() {
  for (const StoredTensor &variable : file.variables()) {
    for (const Option &option : unsupportedParts) {
      if (hasPart(variable.name, option.name)) {
        return HEDDLE_ERROR(Unsupported,
                            fmt::format("{}: variable {}: the option \"{}\" ({}) is not supported",
                                        path(), quote(variable.name), option.name, option.meaning));
      }
    }
    for (const Option &option : unsupportedFlags) {
      if (!endsInPart(variable.name, option.name)) {
        continue;
      }
      HEDDLE_ASSIGN(const std::optional<double> value, number(variable.name));
      if (*value != 0) {
        return HEDDLE_ERROR(Unsupported,
                            fmt::format("{}: variable {} is {}: the option \"{}\" ({}) is not "
                                        "supported",
                                        path(), quote(variable.name), *value, option.name,
                                        option.meaning));
      }
    }
    if (variable.name.ends_with("/gamma") &&
        !has(variable.name.substr(0, variable.name.size() - 5) + "beta")) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: variable {} has no \"beta\" beside it: the option "
                                      "\"rms_norm\" (RMS norms) is not supported",
                                      path(), quote(variable.name)));
    }
  }
  return {};
}

Status CTranslate2Variables::checkAllTaken() const {
  for (const StoredTensor &variable : file.variables()) {
    const bool isUnneeded =
        std::any_of(std::begin(unneeded), std::end(unneeded),
                    [&](std::string_view part) { return endsInPart(variable.name, part); });
    if (!isUnneeded && !taken.contains(variable.name)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: variable {} is unused, expected only those of a "
                                      "Transformer",
                                      path(), quote(variable.name)));
    }
  }
  return {};
}

} // namespace heddle
