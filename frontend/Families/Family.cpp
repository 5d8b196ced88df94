// SPDX-License-Identifier: Apache-2.0
///
/// Looks up families in the table of Families.def; reads activations by name and checks that sizes
/// are consistent.
#include "frontend/Families/Family.h"

#include "base/Utf8.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

#define HEDDLE_FAMILY(modelType, build)                                                            \
  Result<FamilyModel> build(mlir::MLIRContext &context, const ModelSource &source);
#include "frontend/Families.def"

using BuildFunction = Result<FamilyModel> (*)(mlir::MLIRContext &, const ModelSource &);

static constexpr struct {
  std::string_view modelType;
  BuildFunction build;
} families[] = {
#define HEDDLE_FAMILY(modelType, build) {modelType, build},
#include "frontend/Families.def"
};

static Result<BuildFunction> findFamily(const Config &config) {
  HEDDLE_ASSIGN(const std::string modelType, config.string("model_type"));
  std::vector<std::string_view> known;
  for (const auto &family : families) {
    if (family.modelType == modelType) {
      return family.build;
    }
    known.push_back(family.modelType);
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"model_type\" is {}, expected one of {}", config.where(),
                                  quote(modelType), fmt::join(known, ", ")));
}

Status checkFamily(const Config &config) { return findFamily(config).status(); }

Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const BuildFunction build, findFamily(source.config));
  return build(context, source);
}

// --- settings that several families share
// ----------------------------------------------------------

using transformer::Activation;

/// Names of Hugging Face Transformers that are not the dialect's.
static constexpr std::pair<std::string_view, Activation> otherNames[] = {
    {"gelu_pytorch_tanh", Activation::GeluNew}, {"swish", Activation::Silu}};

std::vector<std::string> activationNames() {
  std::vector<std::string> names;
  for (unsigned i = 0; i <= transformer::getMaxEnumValForActivation(); ++i) {
    names.push_back(transformer::stringifyActivation(Activation(i)).str());
  }
  for (const auto &[name, activation] : otherNames) {
    names.emplace_back(name);
  }
  return names;
}

std::optional<Activation> parseActivation(std::string_view name) {
  for (const auto &[other, activation] : otherNames) {
    if (name == other) {
      return activation;
    }
  }
  return transformer::symbolizeActivation(name);
}

Result<Activation> readActivation(const Config &config, std::string_view key,
                                  std::string_view absent) {
  if (!config.has(key)) {
    return *parseActivation(absent);
  }
  HEDDLE_ASSIGN(const std::string name, config.oneOf(key, activationNames()));
  return *parseActivation(name);
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

Result<Generation> readOwnTokens(const Config &config, int64_t vocabulary) {
  Generation generation;
  HEDDLE_ASSIGN(const int64_t start, config.integer("bos_token_id", 0, vocabulary - 1));
  HEDDLE_ASSIGN(const int64_t end, config.integer("eos_token_id", 0, vocabulary - 1));
  HEDDLE_ASSIGN(const int64_t pad, config.integerOr("pad_token_id", 0, tableLimit, 0));
  generation.start = {static_cast<int32_t>(start)};
  generation.end = {static_cast<int32_t>(end)};
  generation.pad = static_cast<int32_t>(pad);
  generation.rules = "paper";
  return generation;
}

Status refuseOption(const Config &config, std::string_view key) {
  if (config.has(key)) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: {} is set, expected a model without",
                                                 config.where(), quote(key)));
  }
  return {};
}

} // namespace heddle
