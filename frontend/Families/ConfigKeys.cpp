// SPDX-License-Identifier: Apache-2.0
///
/// The keys that all configurations of Hugging Face Transformers share, and the checks of all keys.
#include "frontend/Families/ConfigKeys.h"

#include "base/NearestName.h"
#include "base/Utf8.h"
#include "formats/Config/Config.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace heddle {

/// Keys of every configuration (PretrainedConfig of Transformers, versions 2 to 5) that concern
/// training, storing or calling a model, not its computation.
static constexpr std::string_view sharedNeutralKeys[] = {
    // Origin and storage. formats/Quantized reads the quantization or rejects it.
    "_commit_hash", "_name_or_path", "_num_labels", "architectures", "auto_map", "dtype",
    "model_type", "name_or_path", "quantization_config", "save_step", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers_version", "use_bfloat16",
    // The form of the result.
    "chunk_size_feed_forward", "gradient_checkpointing", "output_attentions",
    "output_hidden_states", "output_past", "return_dict", "return_dict_in_generate", "use_cache",
    "attn_implementation", "_attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal",
    // Names of classes and tasks.
    "finetuning_task", "id2label", "label2id", "num_labels", "problem_type", "task_specific_params",
    // Training.
    "activation_dropout", "attention_dropout", "attention_probs_dropout_prob", "classif_dropout",
    "classifier_dropout", "classifier_dropout_prob", "decoder_layerdrop", "dropout", "dropout_rate",
    "encoder_layerdrop", "hidden_dropout", "hidden_dropout_prob", "init_std", "initializer_factor",
    "initializer_range", "layerdrop", "label_smoothing",
    // Tokens: the tokenizer and the search read their ids.
    "bos_token_id", "decoder_start_token_id", "eos_token_id", "mask_token_id", "pad_token_id",
    "prefix", "sep_token_id", "unk_token_id",
    // Search: formats/Config/Generation.cpp reads these and notes what it ignores.
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "force_bos_token_to_be_generated", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "min_length", "max_new_tokens", "min_new_tokens",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences",
    "remove_invalid_values", "repetition_penalty", "suppress_tokens", "temperature",
    "tf_legacy_loss", "top_k", "top_p", "typical_p"};

/// Keys for computations that only some families implement, or none. Rejected unless the family
/// reads them.
static const std::vector<FixedKey> &sharedFixedKeys() {
  static const std::vector<FixedKey> keys = {
      {"add_cross_attention", {"false"}},
      {"alibi", {"false"}},
      {"attention_window", {}},
      {"cross_attention_hidden_size", {}},
      {"is_decoder", {"false"}},
      {"num_key_value_heads", {}},
      {"partial_rotary_factor", {}},
      {"position_embedding_type", {"\"absolute\""}},
      {"pruned_heads", {"{}"}},
      {"rope_parameters", {}},
      {"rope_scaling", {}},
      {"rope_theta", {}},
      {"sliding_window", {"false"}},
      {"tie_encoder_decoder", {"false"}},
      {"use_sliding_window", {"false"}},
  };
  return keys;
}

/// Rejects a value that the key must not have.
static Status checkFixedKey(const Config &config, const FixedKey &fixed) {
  const std::string value = config.json(fixed.key);
  if (value == "null" ||
      std::find(fixed.values.begin(), fixed.values.end(), value) != fixed.values.end()) {
    return {};
  }
  const std::string allowed =
      fixed.values.empty() ? "a model without" : fmt::format("{}", fmt::join(fixed.values, " or "));
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: {} is {}, expected {}", config.where(), quote(fixed.key),
                                  config.describe(fixed.key), allowed));
}

/// Rejects the architecture `name` if its head changes the purpose of the model.
static Status checkArchitecture(const Config &config, std::string_view name,
                                const Architectures &known, ConfigRemarks &remarks) {
  const auto contains = [](const std::vector<std::string_view> &list, std::string_view rest) {
    return std::find(list.begin(), list.end(), rest) != list.end();
  };
  const std::string plain = fmt::format("{}{}", known.family, known.whole.front());
  const bool isKin = name.starts_with(known.family);
  // In other class names, too, the head begins with "For".
  const size_t head = std::min(name.find("For"), name.size());
  const std::string_view rest = name.substr(isKin ? known.family.size() : head);
  if (isKin && contains(known.whole, rest)) {
    return {};
  }
  if (!isKin &&
      (rest.empty() || contains(known.whole, rest) || contains(known.withoutHead, rest))) {
    remarks.warnings.push_back(fmt::format("{}: unknown architecture {}, compiled as {}",
                                           config.where(), quote(name), quote(plain)));
    return {};
  }
  if (contains(known.withoutHead, rest)) {
    remarks.notes.push_back(
        fmt::format("{}: the head of {} is left out", config.where(), quote(name)));
    return {};
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"architectures\" has {}, whose head is not supported, "
                                  "expected {}; with [{}] in its place the model is compiled "
                                  "without the head",
                                  config.where(), quote(name), quote(plain), quote(plain)));
}

static Status checkArchitectures(const Config &config, const Architectures &known,
                                 ConfigRemarks &remarks) {
  if (!config.has("architectures")) {
    return {};
  }
  HEDDLE_ASSIGN(const std::vector<std::string> names, config.strings("architectures"));
  for (const std::string &name : names) {
    HEDDLE_TRY(checkArchitecture(config, name, known, remarks));
  }
  return {};
}

Result<std::string> nearestOf(const Config &config, std::string_view key,
                              const std::vector<std::string> &choices,
                              std::string_view alternative) {
  Result<std::string> given = config.string(key);
  if (given.ok() && std::find(choices.begin(), choices.end(), *given) != choices.end()) {
    return given;
  }
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}: {} is {}, expected one of {}{}{}", config.where(),
                                  quote(key), config.describe(key), fmt::join(choices, ", "),
                                  alternative,
                                  given.ok() ? didYouMean(*given, choices) : std::string()));
}

Status refuseUnreadKeys(const Config &config, std::string_view formatPage) {
  const std::vector<std::string> unread = config.unreadKeys();
  if (unread.empty()) {
    return {};
  }
  const std::optional<std::string> nearest = nearestName(unread.front(), config.readKeys());
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}: unknown key {}, {}", config.where(), quote(unread.front()),
                                  nearest ? fmt::format("did you mean {}?", quote(*nearest))
                                          : fmt::format("expected one of {}", formatPage)));
}

/// Returns the rule for a key: the family's own or, if the family does not read it, the shared one.
static const FixedKey *findFixedKey(std::string_view key, const ConfigKeys &keys, bool isUnread) {
  for (const std::vector<FixedKey> *list : {&keys.fixed, &sharedFixedKeys()}) {
    for (const FixedKey &fixed : *list) {
      if (fixed.key == key && (isUnread || list == &keys.fixed)) {
        return &fixed;
      }
    }
  }
  return nullptr;
}

static bool isNeutral(std::string_view key, const ConfigKeys &keys) {
  const auto isListed = [key](const auto &list) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
  };
  return isListed(sharedNeutralKeys) || isListed(keys.neutral);
}

Result<ConfigRemarks> checkConfigKeys(const Config &config, const ConfigKeys &keys,
                                      bool isSentenceEncoder) {
  ConfigRemarks remarks;
  if (!keys.formatPage.empty()) {
    HEDDLE_TRY(refuseUnreadKeys(config, keys.formatPage));
    return remarks;
  }
  if (!isSentenceEncoder) {
    HEDDLE_TRY(checkArchitectures(config, keys.architectures, remarks));
  }
  const std::vector<std::string> unread = config.unreadKeys();
  for (const std::string &key : config.keys()) {
    const bool isUnread = std::binary_search(unread.begin(), unread.end(), key);
    if (const FixedKey *const fixed = findFixedKey(key, keys, isUnread)) {
      HEDDLE_TRY(checkFixedKey(config, *fixed));
    } else if (isUnread && config.json(key) != "null" && !isNeutral(key, keys)) {
      remarks.warnings.push_back(fmt::format("{}: unknown key {}, its value {} is ignored",
                                             config.where(), quote(key), config.describe(key)));
    }
  }
  return remarks;
}

} // namespace heddle
