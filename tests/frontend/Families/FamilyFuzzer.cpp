// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as config.json and, after a NUL, generation_config.json of a folder with the
/// weights of a tiny model: an error, or a program that verifies.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "frontend/Families/Family.h"
#include "tests/Fuzzing/FreshContext.h"
#include "tests/Fuzzing/JsonMutation.h"

#include "mlir/IR/Verifier.h"

#include <map>

using namespace heddle;
using fuzzing::freshContext;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJsonDocuments)

/// Returns the weights of the tiny model of a family.
static const Checkpoint &weightsOf(const std::string &modelType) {
  static std::map<std::string, Checkpoint> opened;
  static const std::map<std::string, std::string> folders = {
      {"albert", "albert-tiny"},
      {"bart", "bart-tiny"},
      {"bert", "bert-tiny"},
      {"camembert", "roberta-tiny"},
      {"distilbert", "distilbert-tiny"},
      {"gemma2", "gemma2-tiny"},
      {"gemma3_text", "gemma3-tiny"},
      {"gpt2", "gpt2-tiny"},
      {"gpt_neox", "gpt-neox-tiny"},
      {"llama", "llama-tiny"},
      {"m2m_100", "m2m100-tiny"},
      {"marian", "marian-tiny"},
      {"mbart", "mbart-tiny"},
      {"mistral", "mistral-tiny"},
      {"mixtral", "mixtral-tiny"},
      {"modernbert", "modernbert-tiny"},
      {"mpnet", "mpnet-tiny"},
      {"pegasus", "pegasus-tiny"},
      {"phi3", "phi3-tiny"},
      {"qwen2", "qwen2-tiny"},
      {"qwen3", "qwen3-tiny"},
      {"qwen3_moe", "qwen3-moe-tiny"},
      {"roberta", "roberta-tiny"},
      {"t5", "t5-tiny"},
      {"transformer", "weighted"},
      {"xlm-roberta", "xlm-roberta-labels"},
  };
  const auto folder = folders.find(modelType);
  const std::string name = folder == folders.end() ? "bert-tiny" : folder->second;
  if (const auto known = opened.find(name); known != opened.end()) {
    return known->second;
  }
  Result<Checkpoint> checkpoint = Checkpoint::open(HEDDLE_ORACLES "/" + name);
  require(checkpoint.ok());
  return opened.emplace(name, *std::move(checkpoint)).first->second;
}

/// Models with many layers are slow and cover nothing that models with a few layers do not.
static bool isLarge(const Config &config) {
  constexpr int64_t most = 1 << 20;
  for (const std::string &key : config.keys()) {
    if (key.find("layers") == std::string::npos && key != "inner_group_num") {
      continue;
    }
    const Result<int64_t> layers = config.integer(key, 0, most);
    if (layers.ok() && *layers > 4 && *layers < 1100) {
      return true;
    }
  }
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(text.find('\0'), size);
  const Result<Config> config = Config::parse(text.substr(0, end), "config");
  if (!config.ok() || isLarge(*config)) {
    return -1;
  }
  std::optional<Config> generation;
  if (end < size) {
    if (Result<Config> parsed = Config::parse(text.substr(end + 1), "generation"); parsed.ok()) {
      generation = *std::move(parsed);
    }
  }
  const Result<std::string> type = config->string("model_type");
  std::optional<SentenceTransformers> sentence;
  if (size % 2 == 0) {
    sentence.emplace();
    sentence->pooling = Pooling::Cls;
    sentence->modules = {SentenceModule()};
  }
  const Result<FamilyModel> model = buildFamily(
      freshContext(), {*config, weightsOf(type.ok() ? *type : ""), sentence, generation});
  if (!model.ok()) {
    require(!model.status().message().empty());
    return 0;
  }
  require(mlir::succeeded(mlir::verify(*model->module)));
  const Result<ConfigRemarks> remarks = checkConfigKeys(*config, model->keys, sentence.has_value());
  require(remarks.ok() || !remarks.status().message().empty());
  return 0;
}
