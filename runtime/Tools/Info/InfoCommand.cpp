// SPDX-License-Identifier: Apache-2.0
///
/// Prints the description of a compiled model, as JSON or as text.
#include "runtime/Tools/Commands.h"

#include "base/Utf8.h"
#include "runtime/Tools/Info/ModelDescription.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

/// Formats a summary of caches, which is not null, as lines.
static std::string cachesText(const Json &caches, const std::string &precision) {
  std::string text = fmt::format(
      "caches      {}, {}{} bytes a token: {} of the history, {} of the memory\n",
      caches["list"].size(), precision == "none" ? "" : precision + ", ",
      caches["bytes_per_token"].dump(), caches["history"].dump(), caches["memory"].dump());
  if (caches["state_bytes_per_sequence"] != 0) {
    text += fmt::format("states      {} bytes a sequence, however long\n",
                        caches["state_bytes_per_sequence"].dump());
  }
  for (const Json &cache : caches["list"]) {
    if (cache["layout"] == "state") {
      text += fmt::format("  state  {}: {} bytes a sequence\n", cache["name"].get<std::string>(),
                          cache["bytes_per_sequence"].dump());
      continue;
    }
    if (cache["layout"] == "keyed") {
      text += fmt::format("  state  {}: {} bytes for each token of the source\n",
                          cache["name"].get<std::string>(), cache["bytes_per_token"].dump());
      continue;
    }
    text += fmt::format("  {}  {}: {} bytes a token, as {}\n", cache["of"].get<std::string>(),
                        cache["name"].get<std::string>(), cache["bytes_per_token"].dump(),
                        cache["layout"].get<std::string>());
  }
  return text;
}

/// "f32 [tokens, 384]".
static std::string typeText(const Json &port) {
  std::vector<std::string> dimensions;
  for (const Json &dimension : port["shape"]) {
    dimensions.push_back(dimension.is_string() ? dimension.get<std::string>() : dimension.dump());
  }
  return fmt::format("{} [{}]", port["element"].get<std::string>(), fmt::join(dimensions, ", "));
}

static std::string memoryText(const Json &entry) {
  std::string text =
      fmt::format("  memory  {} bytes a token", entry["arena_bytes_per_token"].dump());
  if (entry["arena_bytes_per_sequence"] != 0) {
    text += fmt::format(", {} a sequence", entry["arena_bytes_per_sequence"].dump());
  }
  if (entry["arena_bytes_per_token_and_longest"] != 0) {
    text += fmt::format(", {} a token and token of the longest sequence",
                        entry["arena_bytes_per_token_and_longest"].dump());
  }
  return text + "\n";
}

static std::string entryText(const Json &entry) {
  std::string text = fmt::format("entry {}\n", entry["name"].get<std::string>());
  for (const Json &port : entry["inputs"]) {
    const std::string range =
        port.contains("limit") ? fmt::format(", values 0 to {}", port["limit"].get<int64_t>() - 1)
                               : "";
    // An optional input of ids that has padding is a mask (Tools/Run/RunRectangle.h).
    const char *const otherwise = !port["optional"].get<bool>() ? ""
                                  : port.contains("pad")        ? ", no padding when left out"
                                                                : ", zeros when left out";
    text += fmt::format("  input   {}: {}{}{}\n", port["name"].get<std::string>(), typeText(port),
                        range, otherwise);
  }
  for (const Json &port : entry["outputs"]) {
    text += fmt::format("  output  {}: {}\n", port["name"].get<std::string>(), typeText(port));
  }
  if (entry.contains("observed")) {
    text += fmt::format("  shows   {} attentions, for those who ask\n", entry["observed"].size());
  }
  if (entry.contains("selects")) {
    text += "  selects the best tokens, on GPUs\n";
  }
  const auto longest = entry["max_length"].get<int64_t>();
  text += fmt::format("  length  {}\n",
                      longest == 0 ? "any" : fmt::format("at most {} tokens a sequence", longest));
  if (entry.contains("image_width")) {
    const Json &width = entry["image_width"];
    text += fmt::format("  pixels  {} in a row\n",
                        width.is_string() ? width.get<std::string>() + " number" : width.dump());
  }
  for (const Json &limit : entry.contains("max_rows") ? entry["max_rows"] : Json::array()) {
    text += fmt::format("  rows    at most {} of {} a sequence\n", limit["most"].dump(),
                        limit["rows"].get<std::string>());
  }
  text += memoryText(entry);
  if (entry.contains("caches")) {
    text += fmt::format("  caches  {}, {} bytes a token appended, {} read\n",
                        entry["caches"].size(), entry["cache_bytes_per_token_appended"].dump(),
                        entry["cache_bytes_per_token_read"].dump());
    if (entry["state_bytes_per_sequence"] != 0) {
      text += fmt::format("  states  {} bytes a sequence, however long\n",
                          entry["state_bytes_per_sequence"].dump());
    }
  }
  text += fmt::format("  work    {} dispatches, {} operations a token, {} a token and key",
                      entry["dispatches"].dump(), entry["flops_per_token"].dump(),
                      entry["flops_per_token_and_key"].dump());
  if (entry.contains("flops_per_token_and_bounded_key")) {
    for (const auto &each : entry["flops_per_token_and_bounded_key"]) {
      text += fmt::format(", {} a token and key of at most {}", each["flops"].dump(),
                          each["keys"].dump());
    }
  }
  text += "\n";
  if (entry.contains("kernels_of_pass")) {
    for (const auto &[target, kernels] : entry["kernels_of_pass"].items()) {
      const std::string least = kernels["least"].dump(), most = kernels["most"].dump();
      text += fmt::format("  launches {}{} kernels for all outputs on {}\n", least,
                          least == most ? "" : " to " + most, target);
    }
  }
  return text;
}

static std::string tokenizerText(const Json &tokenizer) {
  if (tokenizer.is_null()) {
    return "none";
  }
  const auto longest = tokenizer["max_length"].get<int64_t>();
  const Json &tokens = tokenizer["vocabulary"];
  return fmt::format("{}, {} tokens, {} added{}", tokenizer["kind"].get<std::string>(),
                     tokens.is_null() ? "its file's" : tokens.dump(),
                     tokenizer["added_tokens"].dump(),
                     longest == 0 ? "" : fmt::format(", texts cut at {}", longest));
}

/// Formats all languages of a model.
static std::string languagesText(const Json &languages) {
  constexpr size_t widest = 100, indent = 12;
  const auto nameOf = [&](const char *key) {
    return languages[key].is_null() ? "none" : languages[key].get<std::string>();
  };
  std::string text =
      fmt::format("languages   {}, by default from {} to {}:", languages["names"].size(),
                  nameOf("source"), nameOf("target"));
  size_t width = widest;
  for (const Json &name : languages["names"]) {
    const auto &word = name.get_ref<const std::string &>();
    if (width + 1 + word.size() > widest) {
      text += "\n" + std::string(indent, ' ') + word;
      width = indent + word.size();
    } else {
      text += " " + word;
      width += 1 + word.size();
    }
  }
  return text + "\n";
}

/// Formats the labels of a classifier, only the first if there are many.
static std::string labelsText(const Json &classification) {
  constexpr size_t shown = 8;
  const Json &labels = classification["labels"];
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(shown, labels.size()); ++i) {
    names.push_back(quote(labels[i].get<std::string>()));
  }
  if (labels.size() > shown) {
    names.push_back(fmt::format("{} more", labels.size() - shown));
  }
  return fmt::format("{}, {}", classification["problem"].get<std::string>(),
                     fmt::join(names, ", "));
}

/// Formats the chat templates, in one line.
static std::string chatText(const Json &chat) {
  std::string text;
  for (const Json &each : chat["templates"]) {
    text += fmt::format("{}{} ({} bytes)", text.empty() ? "" : ", ",
                        each["name"].get<std::string>(), each["bytes"].dump());
  }
  return (chat["templates"].size() == 1 ? "template " : "templates ") + text;
}

/// Formats the model's defaults for generation, in one line; others are those of the rules.
static std::string generationText(const Json &generation) {
  // The values that mean unset. The sampling method is always printed.
  static const Json unset = {{"max_length", 0},      {"early_stopping", false},
                             {"no_repeat_ngram", 0}, {"repetition_penalty", 1.0},
                             {"min_length", 0},      {"never_stop_early", false},
                             {"context_length", 0}};
  static const std::string_view tokens[] = {"start",        "end",         "pad",
                                            "forced_first", "forced_last", "suppressed"};
  std::string text = fmt::format("rules {}", generation["rules"].get<std::string>());
  for (const auto &[key, value] : generation.items()) {
    const bool none = value.is_null() || (value.is_array() && value.empty());
    if (key == "rules" || none || (unset.contains(key) && unset[key] == value)) {
      continue;
    }
    const bool isToken = std::find(std::begin(tokens), std::end(tokens), key) != std::end(tokens);
    const char *const what = !isToken ? "" : value.is_array() ? " tokens" : " token";
    // The file stores them in f32.
    text +=
        fmt::format(", {}{} {}", key, what,
                    value.is_number_float() ? fmt::format("{}", value.get<float>()) : value.dump());
  }
  return text;
}

/// Formats the defaults of requests, in one line.
static std::string defaultsText(const Json &defaults) {
  std::string text;
  for (const auto &[key, value] : defaults.items()) {
    const std::string said =
        value.is_number_float() ? fmt::format("{}", value.get<float>()) : value.dump();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, said);
  }
  return text;
}

/// Formats the code for devices, and the devices, one per line.
static std::string devicesText(const Json &model) {
  if (!model.contains("images")) {
    return "";
  }
  std::string out;
  for (const Json &image : model["images"]) {
    out += fmt::format("image       {}: {}, {} bytes, by {}\n", image["target"].get<std::string>(),
                       image["kind"].get<std::string>(), image["bytes"].dump(),
                       image["compiler"].get<std::string>());
  }
  for (const Json &device : model["devices"]) {
    out += fmt::format("device      {}: {}; takes {}\n", device["device"].get<std::string>(),
                       device["description"].get<std::string>(),
                       device["target"].is_null() ? "none of the targets"
                                                  : device["target"].get<std::string>());
  }
  if (model.contains("no_gpu")) {
    out += fmt::format("no GPU      {}\n", model["no_gpu"].get<std::string>());
  }
  return out;
}

static std::string modelText(const Json &model) {
  const auto text = [&](const char *key) { return model[key].get<std::string>(); };
  const std::string machine = model["this_machine"].is_null()
                                  ? "this machine can run none of them"
                                  : fmt::format("this machine takes {}", text("this_machine"));
  std::string out = fmt::format("model       {}, {}\n", text("model_type"), text("precision"));
  for (const Json &kept : model.value("kept", Json::array())) {
    out += fmt::format("kept        {} in {}: {} {}, {} bytes\n", kept["layers"].get<std::string>(),
                       kept["precision"].get<std::string>(), kept["tensors"].dump(),
                       kept["tensors"] == 1 ? "tensor" : "tensors", kept["bytes"].dump());
  }
  out += fmt::format("targets     {}; {}\n",
                     fmt::join(model["targets"].get<std::vector<std::string>>(), ", "), machine);
  out += devicesText(model);
  out += fmt::format("parameters  {} tensors, {} values, {} bytes\n", model["parameters"].dump(),
                     model["parameter_values"].dump(), model["weights_bytes"].dump());
  out += fmt::format("file        {} bytes\n", model["file_bytes"].dump());
  out += fmt::format("tokenizer   {}\n", tokenizerText(model["tokenizer"]));
  if (model.contains("target_tokenizer")) {
    out += fmt::format("output      {}\n", tokenizerText(model["target_tokenizer"]));
  }
  if (model.contains("generation")) {
    out += fmt::format("generation  {}\n", generationText(model["generation"]));
    out += fmt::format("defaults    {}\n", defaultsText(model["defaults"]));
  }
  if (model.contains("languages")) {
    out += languagesText(model["languages"]);
  }
  if (model.contains("classification")) {
    out += fmt::format("labels      {}\n", labelsText(model["classification"]));
  }
  if (model.contains("chat")) {
    out += fmt::format("chat        {}\n", chatText(model["chat"]));
  }
  if (model.contains("sharing")) {
    out += fmt::format("sharing     {}, as asked for when it was compiled\n", text("sharing"));
  }
  if (model.contains("caches")) {
    out += cachesText(model["caches"], text("cache_precision"));
  }
  if (model.contains("calibration")) {
    const Json &calibration = model["calibration"];
    out += fmt::format("calibration {} matrices by {} texts, {}\n", calibration["matrices"].dump(),
                       calibration["texts"].dump(), calibration["hash"].get<std::string>());
  }
  out += fmt::format("source      {}\n", text("source_hash"));
  out += fmt::format("producer    {}\n", text("producer"));
  for (const Json &entry : model["entries"]) {
    out += entryText(entry);
  }
  if (!model["report_summary"].empty()) {
    out += "passes\n";
  }
  for (const Json &line : model["report_summary"]) {
    out += fmt::format("  {}\n", line.get<std::string>());
  }
  return out;
}

void declare(OptionList &list, InfoOptions &options) { declareModel(list, options); }

Status execute(const InfoOptions &options) {
  HEDDLE_ASSIGN(const Json described, describeModel(options.model));
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(options.json ? jsonText(described) + "\n" : modelText(described)));
  return output.finish();
}

} // namespace heddle::tools
