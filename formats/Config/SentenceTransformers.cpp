// SPDX-License-Identifier: Apache-2.0
///
/// Reads sentence-transformers folders.
#include "formats/Config/SentenceTransformers.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <system_error>
#include <vector>

namespace heddle {

namespace fs = std::filesystem;

/// One entry of modules.json.
struct Module {
  /// The last part of the dotted type name.
  std::string type;
  /// The module's path below the model's folder, and the folder itself.
  std::string path;
  std::string folder;
};

/// The supported types. Each folder begins with the first two; the others may follow in any order.
static constexpr std::string_view knownTypes[] = {"Transformer", "Pooling", "Dense", "LayerNorm",
                                                  "Normalize"};

/// PyTorch classes by the last part of their names, and Transformers' names for them in
/// config.json.
static constexpr struct {
  std::string_view type;
  std::string_view activation;
} activations[] = {{"Identity", ""},        {"Tanh", "tanh"}, {"ReLU", "relu"},
                   {"GELU", "gelu"},        {"SiLU", "silu"}, {"Sigmoid", "sigmoid"},
                   {"Softplus", "softplus"}};

/// The three poolings by their keys; all other "pooling_mode_" keys must be false.
static constexpr struct {
  std::string_view key;
  Pooling pooling;
} poolingModes[] = {
    {"pooling_mode_cls_token", Pooling::Cls},
    {"pooling_mode_mean_tokens", Pooling::Mean},
    {"pooling_mode_max_tokens", Pooling::Max},
};

/// Returns whether a path in modules.json stays below the folder: relative and without "..".
static bool staysInside(const std::string &text) {
  const fs::path path(text);
  if (path.is_absolute() || text.find('\0') != std::string::npos ||
      text.find('\\') != std::string::npos) {
    return false;
  }
  for (const fs::path &part : path) {
    if (part == "..") {
      return false;
    }
  }
  return true;
}

static Result<Module> readModule(const Config &entry, const std::string &folder, size_t position) {
  if (entry.has("idx")) {
    HEDDLE_ASSIGN(const int64_t index, entry.integer("idx", 0, 1000));
    if (index != static_cast<int64_t>(position)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: \"idx\" is {}, expected {}, its position in the list",
                                      entry.where(), index, position));
    }
  }
  HEDDLE_ASSIGN(const std::string type, entry.string("type"));
  HEDDLE_ASSIGN(const std::string path, entry.string("path"));
  if (!staysInside(path)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"path\" is {}, expected a path inside the model's folder",
                                    entry.where(), quote(path)));
  }
  Module module;
  module.type = type.substr(type.rfind('.') + 1);
  module.path = path;
  module.folder = path.empty() ? folder : (fs::path(folder) / path).string();
  if (std::find(std::begin(knownTypes), std::end(knownTypes), module.type) ==
      std::end(knownTypes)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"type\" is {}, expected one of {}", entry.where(),
                                    quote(type), fmt::join(knownTypes, ", ")));
  }
  return module;
}

/// Reads the modules in order: Transformer, Pooling, and those that map its row.
static Result<std::vector<Module>> readModules(const std::string &folder, const std::string &path) {
  HEDDLE_ASSIGN(const nlohmann::json list, readJsonFile(path));
  if (!list.is_array()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: is {}, expected a list of modules", path,
                                                     describeJson(list)));
  }
  std::vector<Module> modules;
  std::vector<std::string> types;
  for (const nlohmann::json &item : list) {
    const std::string where = fmt::format("{}: module {}", path, modules.size() + 1);
    HEDDLE_ASSIGN(const Config entry, Config::fromJson(item, where));
    HEDDLE_ASSIGN(Module module, readModule(entry, folder, modules.size()));
    types.push_back(module.type);
    modules.push_back(std::move(module));
  }
  const auto isEarly = [](const std::string &type) {
    return type == knownTypes[0] || type == knownTypes[1];
  };
  const bool inOrder = types.size() >= 2 && types[0] == knownTypes[0] &&
                       types[1] == knownTypes[1] &&
                       std::none_of(types.begin() + 2, types.end(), isEarly);
  if (!inOrder) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the modules are [{}], expected Transformer, Pooling, then "
                                    "any of Dense, LayerNorm and Normalize",
                                    path, fmt::join(types, ", ")));
  }
  return modules;
}

/// Reads the only pooling mode that is enabled.
static Result<Pooling> readPooling(const Config &config) {
  std::vector<std::string> active;
  for (const std::string &key : config.keys()) {
    if (key.starts_with("pooling_mode")) {
      HEDDLE_ASSIGN(const bool isOn, config.booleanOr(key, false));
      if (isOn) {
        active.push_back(key);
      }
    }
  }
  if (active.size() != 1) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the enabled pooling modes are [{}], expected a single one",
                                    config.where(), fmt::join(active, ", ")));
  }
  for (const auto &mode : poolingModes) {
    if (active.front() == mode.key) {
      return mode.pooling;
    }
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: {} is not supported, expected {}, {} or {}", config.where(),
                                  quote(active.front()), poolingModes[0].key, poolingModes[1].key,
                                  poolingModes[2].key));
}

/// Reads the activation of a PyTorch class, by its dotted name.
static Result<std::string> readModuleActivation(const Config &config) {
  HEDDLE_ASSIGN(const std::string type, config.stringOr("activation_function", "Tanh"));
  std::vector<std::string_view> known;
  for (const auto &each : activations) {
    if (type.substr(type.rfind('.') + 1) == each.type) {
      return std::string(each.activation);
    }
    known.push_back(each.type);
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"activation_function\" is {}, expected one of {}",
                                  config.where(), quote(type), fmt::join(known, ", ")));
}

/// Reads a linear layer, which sentence-transformers may apply to other inputs than the embedding.
static Status readDense(const Config &config, SentenceModule &module) {
  constexpr int64_t widest = 1 << 16;
  HEDDLE_ASSIGN(module.inputs, config.integer("in_features", 1, widest));
  HEDDLE_ASSIGN(module.outputs, config.integer("out_features", 1, widest));
  HEDDLE_ASSIGN(module.hasBias, config.booleanOr("bias", true));
  HEDDLE_ASSIGN(module.activation, readModuleActivation(config));
  for (const char *const key : {"module_input_name", "module_output_name"}) {
    HEDDLE_TRY(config.oneOfOr(key, {"sentence_embedding"}, "sentence_embedding").status());
  }
  return {};
}

/// Reads a module after the pooling.
static Status readSentenceModule(const Module &found, SentenceTransformers &result) {
  SentenceModule module;
  if (found.type == "Normalize") {
    result.modules.push_back(module);
    return {};
  }
  module.folder = found.folder;
  module.name = found.path;
  std::replace(module.name.begin(), module.name.end(), '/', '.');
  HEDDLE_ASSIGN(const Config config,
                Config::open((fs::path(found.folder) / "config.json").string()));
  module.where = config.where();
  if (found.path.empty()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: a module {} is in the folder of the model, expected one "
                                    "of its own",
                                    config.where(), found.type));
  }
  if (found.type == "Dense") {
    module.kind = SentenceModule::Kind::Dense;
    HEDDLE_TRY(readDense(config, module));
  } else {
    module.kind = SentenceModule::Kind::LayerNorm;
    HEDDLE_ASSIGN(module.inputs, config.integer("dimension", 1, 1 << 16));
    module.outputs = module.inputs;
  }
  for (const std::string &key : config.unreadKeys()) {
    if (config.json(key) != "null") {
      result.warnings.push_back(fmt::format("{}: unknown key {}, its value {} is ignored",
                                            config.where(), quote(key), config.describe(key)));
    }
  }
  result.modules.push_back(std::move(module));
  return {};
}

/// Reads sentence_bert_config.json next to the encoder; it may be absent.
static Status readLimits(SentenceTransformers &result) {
  const std::string path = (fs::path(result.encoderFolder) / "sentence_bert_config.json").string();
  Result<Config> config = Config::open(path);
  if (!config.ok()) {
    return config.status().code() == StatusCode::NotFound ? Status() : config.status();
  }
  if (config->has("max_seq_length")) {
    HEDDLE_ASSIGN(result.maxSequenceLength, config->integer("max_seq_length", 1, 1 << 30));
  }
  HEDDLE_ASSIGN(result.lowerCase, config->booleanOr("do_lower_case", false));
  return {};
}

Result<std::optional<SentenceTransformers>> readSentenceTransformers(const std::string &folder) {
  const std::string path = (fs::path(folder) / "modules.json").string();
  std::error_code error;
  // Errors other than "does not exist" are reported by the read below.
  if (!fs::exists(path, error) && !error) {
    return std::optional<SentenceTransformers>();
  }
  HEDDLE_ASSIGN(const std::vector<Module> modules, readModules(folder, path));
  SentenceTransformers result;
  result.encoderFolder = modules[0].folder;
  HEDDLE_ASSIGN(const Config pooling,
                Config::open((fs::path(modules[1].folder) / "config.json").string()));
  HEDDLE_ASSIGN(result.pooling, readPooling(pooling));
  if (pooling.has("word_embedding_dimension")) {
    HEDDLE_ASSIGN(result.width, pooling.integer("word_embedding_dimension", 1, 1 << 30));
  }
  for (size_t i = 2; i < modules.size(); ++i) {
    HEDDLE_TRY(readSentenceModule(modules[i], result));
  }
  HEDDLE_TRY(readLimits(result));
  return std::optional(std::move(result));
}

} // namespace heddle
