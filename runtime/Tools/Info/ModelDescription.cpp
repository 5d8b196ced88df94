// SPDX-License-Identifier: Apache-2.0
///
/// Describes a compiled model as JSON, from its manifest and the public interface.
#include "runtime/Tools/Info/ModelDescription.h"

#include "formats/Binary/ImageCheck.h"
#include "formats/Binary/Manifest_generated.h"
#include "formats/Checkpoint/QuantizedTensor.h"
#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Artifact/Artifact.h"
#include "runtime/Device/Device.h"
#include "runtime/Session/Plan.h"

#include <algorithm>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

// --- caches
// -----------------------------------------------------------------------------------------

/// Returns the bytes of a cache for one token, a fraction of a position if several share one; or
/// the bytes of a state, which has no positions or those of the source.
static uint64_t cacheBytes(const CacheInfo &cache) {
  const uint64_t bytes = static_cast<uint64_t>(cache.width) * infoOf(cache.element).bytes();
  return cache.state ? bytes : cache.rows.perToken(bytes);
}

/// Returns whether the cache is quantised to codes with scales.
static bool areCodes(const CacheInfo &cache) { return cache.element == ElementType::I8; }

/// Returns "keyed" or "state", "keys" (transposed in their blocks) or "rows".
static std::string_view cacheLayout(const CacheInfo &cache) {
  return cache.keyed ? "keyed" : cache.state ? "state" : cache.transposed ? "keys" : "rows";
}

/// Returns whether an entry reads a cache that only other entries append to.
static bool isMemory(const std::vector<EntryInfo> &entries, const std::string &name) {
  return std::any_of(entries.begin(), entries.end(), [&](const EntryInfo &entry) {
    return std::any_of(entry.caches.begin(), entry.caches.end(), [&](const CacheInfo &cache) {
      return cache.name == name && !cache.written;
    });
  });
}

/// Returns {"list": [{"name", "of": "history", "memory", "source" or "sequence", "layout",
/// "bytes_per_token" or "bytes_per_sequence"}], "history", "memory", "bytes_per_token",
/// "state_bytes_per_sequence"}. A history grows with the rows of an entry that reads it; a memory
/// is left by another entry; the state of a sequence does not grow, unless it has elements for each
/// token of the source. Entries that name the same cache share it, and it counts once. Null without
/// any.
static Json summariseCaches(const std::vector<EntryInfo> &entries) {
  Json list = Json::array();
  uint64_t history = 0;
  uint64_t memory = 0;
  uint64_t states = 0;
  for (const EntryInfo &entry : entries) {
    for (const CacheInfo &cache : entry.caches) {
      const bool isKnown = std::any_of(
          list.begin(), list.end(), [&](const Json &known) { return known["name"] == cache.name; });
      if (isKnown) {
        continue;
      }
      const uint64_t bytes = cacheBytes(cache);
      if (cache.keyed) {
        list.push_back({{"name", cache.name},
                        {"of", "source"},
                        {"layout", cacheLayout(cache)},
                        {"bytes_per_token", bytes}});
        continue;
      }
      if (cache.state) {
        states += bytes;
        list.push_back({{"name", cache.name},
                        {"of", "sequence"},
                        {"layout", cacheLayout(cache)},
                        {"bytes_per_sequence", bytes}});
        continue;
      }
      const bool ofMemory = isMemory(entries, cache.name);
      (ofMemory ? memory : history) += bytes;
      list.push_back({{"name", cache.name},
                      {"of", ofMemory ? "memory" : "history"},
                      {"layout", cacheLayout(cache)},
                      {"bytes_per_token", bytes}});
    }
  }
  if (list.empty()) {
    return {};
  }
  return {{"list", std::move(list)},
          {"history", history},
          {"memory", memory},
          {"bytes_per_token", history + memory},
          {"state_bytes_per_sequence", states}};
}

// --- ports and entries
// ------------------------------------------------------------------------------

static Json dimensionOf(int64_t dimension) {
  return dimension < 0 ? Json(dimensionText(dimension)) : Json(dimension);
}

static Json describePort(const PortInfo &port, bool input) {
  Json described = {{"name", port.name}, {"element", infoOf(port.element).name}};
  described["shape"] = Json::array();
  for (const int64_t dimension : port.shape) {
    described["shape"].push_back(dimensionOf(dimension));
  }
  if (input) {
    if (port.element == ElementType::I32) {
      described["limit"] = port.limit;
    }
    described["optional"] = port.optional;
    if (port.pad) {
      described["pad"] = *port.pad;
    }
  }
  return described;
}

/// Describes the caches of an entry, and the bytes of a token in caches that it appends to, of a
/// token in caches that it only reads, and of a sequence in its states.
static void describeCaches(const EntryInfo &entry, Json &described) {
  Json list = Json::array();
  uint64_t appended = 0;
  uint64_t read = 0;
  uint64_t states = 0;
  for (const CacheInfo &cache : entry.caches) {
    // The elements of a state for each key of the source grow with neither.
    (cache.state ? states : cache.written ? appended : read) += cache.keyed ? 0 : cacheBytes(cache);
    list.push_back({{"name", cache.name},
                    {areCodes(cache) ? "bytes" : "width", cache.width},
                    {"element", infoOf(cache.element).name},
                    {"written", cache.written},
                    {"layout", cacheLayout(cache)}});
  }
  described["caches"] = std::move(list);
  described["cache_bytes_per_token_appended"] = appended;
  described["cache_bytes_per_token_read"] = read;
  described["state_bytes_per_sequence"] = states;
}

static Json describeEntry(const EntryInfo &entry) {
  Json described = {{"name", entry.name}};
  described["inputs"] = Json::array();
  for (const PortInfo &port : entry.inputs) {
    described["inputs"].push_back(describePort(port, true));
  }
  described["outputs"] = Json::array();
  for (const PortInfo &port : entry.outputs) {
    described["outputs"].push_back(describePort(port, false));
  }
  if (!entry.observed.empty()) {
    described["observed"] = Json::array();
    for (const PortInfo &port : entry.observed) {
      described["observed"].push_back(describePort(port, false));
      described["observed"].back()["observed"] = spellingOf(port.observed)->name;
    }
    described["observed_dispatches"] = entry.observedDispatches;
  }
  if (!entry.caches.empty()) {
    describeCaches(entry, described);
  }
  described["max_length"] = entry.maxLength;
  if (entry.hasWidths) {
    described["image_width"] = "any";
  } else if (entry.lengthMultiple > 1) {
    described["image_width"] = entry.lengthMultiple;
  }
  for (const RowLimit &limit : entry.rowLimits) {
    described["max_rows"].push_back({{"rows", limit.rows.text()}, {"most", limit.most}});
  }
  if (entry.selects) {
    described["selects"] = true;
  }
  described["dispatches"] = entry.dispatches;
  described["arena_bytes_per_token"] = entry.arenaBytesPerToken;
  described["arena_bytes_per_sequence"] = entry.arenaBytesPerSequence;
  described["arena_bytes_per_token_and_longest"] = entry.arenaBytesPerTokenAndLongest;
  described["flops_per_token"] = entry.flopsPerToken;
  described["flops_per_token_and_key"] = entry.flopsPerTokenAndKey;
  for (const EntryInfo::BoundedKeys &each : entry.bounded) {
    described["flops_per_token_and_bounded_key"].push_back(
        {{"keys", each.keys}, {"flops", each.flopsPerTokenAndKey}});
  }
  return described;
}

/// Returns the fewest and the most kernels that a pass through all outputs of an entry launches, by
/// target with images. Null if there is no such target, or if the number depends on more than the
/// sizes of a batch: of a decoder on the searches, of loops on the number of steps.
static Json describeKernels(const manifest::Manifest &model, const manifest::Entry &entry,
                            const EntryInfo &info) {
  const bool isOfSteps = std::any_of(info.caches.begin(), info.caches.end(),
                                     [](const CacheInfo &cache) { return !cache.written; });
  if (isOfSteps || (entry.loops() != nullptr && entry.loops()->size() != 0)) {
    return {};
  }
  std::vector<bool> outputs(entry.outputs()->size(), false);
  std::fill_n(outputs.begin(), info.outputs.size(), true);
  const std::vector<bool> runs = dispatchesFor(entry, {outputs, /*caches=*/true});
  Json described;
  for (uint32_t target = 0; target < model.targets()->size(); ++target) {
    int64_t least = 0, most = 0;
    bool hasShapes = true;
    for (uint32_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]) {
        continue;
      }
      const manifest::Dispatch &dispatch = *entry.dispatches()->Get(i);
      const manifest::LaunchShape &shape =
          *model.kernels()->Get(dispatch.kernel())->launches()->Get(target);
      hasShapes = hasShapes && shape.unit() != manifest::LaunchUnit::None;
      const bool isFinished = dispatch.finish_kernel() >= 0;
      least += isFinished ? 2 : 1;
      // What merges sections takes the place of what finishes rows; what rounds rows comes before.
      most += (isFinished || shape.section_keys() != 0 ? 2 : 1) + (shape.rounded_from() != 0);
    }
    if (hasShapes) {
      described[model.targets()->Get(target)->str()] = {{"least", least}, {"most", most}};
    }
  }
  return described;
}

/// Returns the first of a device's targets that the file has, or null.
static Json chosenTarget(const Model &model, const std::vector<std::string> &ofDevice) {
  for (const std::string &target : ofDevice) {
    const std::vector<std::string> &targets = model.targets();
    if (std::find(targets.begin(), targets.end(), target) != targets.end()) {
      return target;
    }
  }
  return {};
}

/// Describes the devices of this machine, and the target of the file that each would run.
static Json describeDevices(const Model &model, const MachineDevices &devices) {
  Json list = Json::array();
  for (const DeviceInfo &device : devices.found) {
    list.push_back({{"device", device.id},
                    {"description", device.description},
                    {"target", chosenTarget(model, device.targets)}});
  }
  return list;
}

/// Returns the vocabulary of a tokenizer; null for a SentencePiece file with its own vocabulary.
static const manifest::Vocabulary *vocabularyOf(const manifest::Tokenizer &tokenizer) {
  switch (tokenizer.model_type()) {
  case manifest::TokenizerModel::WordPiece:
    return tokenizer.model_as_WordPiece()->vocabulary();
  case manifest::TokenizerModel::Bpe:
    return tokenizer.model_as_Bpe()->vocabulary();
  case manifest::TokenizerModel::Unigram:
    return tokenizer.model_as_Unigram()->vocabulary();
  case manifest::TokenizerModel::WordList:
    return tokenizer.model_as_WordList()->vocabulary();
  case manifest::TokenizerModel::SentencePiece:
    return tokenizer.model_as_SentencePiece()->vocabulary();
  case manifest::TokenizerModel::NONE:
    break;
  }
  return nullptr;
}

/// Describes the integers in the model's files, and the bits that products quantise rows to.
static Json describeCodes(const manifest::Codes &codes) {
  std::vector<std::string_view> kinds;
  for (const flatbuffers::String *const kind : *codes.kinds()) {
    kinds.push_back(kind->string_view());
  }
  return {{"format", nameOf(static_cast<CodeFormat>(codes.format()))},
          {"kinds", kinds},
          {"row_bits", codes.row_bits()}};
}

/// Describes the kind, the size of the vocabulary and the truncation of texts; null without a
/// tokenizer.
static Json describeTokenizer(const manifest::Tokenizer *tokenizer) {
  if (tokenizer == nullptr) {
    return {};
  }
  const manifest::Vocabulary *const vocabulary = vocabularyOf(*tokenizer);
  const Json tokens = vocabulary == nullptr ? Json() : Json(vocabulary->ids()->size());
  const size_t added = tokenizer->added_tokens() == nullptr ? 0 : tokenizer->added_tokens()->size();
  return {{"kind", manifest::EnumNameTokenizerModel(tokenizer->model_type())},
          {"vocabulary", tokens},
          {"added_tokens", added},
          {"max_length", tokenizer->max_length()}};
}

/// Describes the chat templates with their sizes, and the tokens that they read.
static Json describeChat(const manifest::Chat &chat) {
  Json templates = Json::array();
  for (const manifest::NamedText *each : *chat.templates()) {
    templates.push_back({{"name", each->name()->str()}, {"bytes", each->text()->size()}});
  }
  Json tokens = Json::object();
  for (const manifest::NamedText *each : *chat.tokens()) {
    tokens[each->name()->str()] = each->text()->str();
  }
  return {{"templates", std::move(templates)}, {"tokens", std::move(tokens)}};
}

/// Describes the ids and defaults of generation; null if the model does not generate.
static Json describeGeneration(const manifest::Generation *generation) {
  if (generation == nullptr) {
    return {};
  }
  const auto tokens = [](const flatbuffers::Vector<int32_t> *list) {
    Json described = Json::array();
    for (uint32_t i = 0; list != nullptr && i < list->size(); ++i) {
      described.push_back(list->Get(i));
    }
    return described;
  };
  const auto token = [](int32_t id) { return id < 0 ? Json() : Json(id); };
  return {{"rules", generation->rules()->str()},
          {"start", tokens(generation->start())},
          {"end", tokens(generation->end())},
          {"pad", token(generation->pad())},
          {"forced_first", token(generation->forced_first())},
          {"forced_last", token(generation->forced_last())},
          {"suppressed", tokens(generation->suppressed())},
          {"max_length", generation->max_length()},
          {"beams", generation->beams()},
          {"length_penalty", generation->length_penalty()},
          {"early_stopping", generation->early_stopping()},
          {"no_repeat_ngram", generation->no_repeat_ngram()},
          {"repetition_penalty", generation->repetition_penalty()},
          {"min_length", generation->min_length()},
          {"never_stop_early", generation->never_stop_early()},
          {"sample", generation->sample()},
          {"temperature", generation->temperature()},
          {"top_k", generation->top_k()},
          {"top_p", generation->top_p()},
          {"min_p", generation->min_p()},
          {"context_length", generation->context_length()}};
}

/// Describes the defaults of every interface, whatever the model.
static Json describeDefaults() {
  const GenerationOptions request;
  const GeneratorOptions batch;
  return {{"seed", request.seed.value_or(0)},
          {"nbest", request.nbest},
          {"batch_tokens", batch.batchTokens},
          {"prompt_tokens", batch.promptTokens},
          {"prompt_tokens_beside", batch.promptTokensBeside},
          {"share_prefixes", batch.session.sharePrefixes},
          {"cache_bytes", batch.session.cacheBytes}};
}

/// Describes the code for devices, one element for each image.
static Json describeImages(const manifest::Manifest &manifest) {
  Json images = Json::array();
  for (uint32_t i = 0; manifest.images() != nullptr && i < manifest.images()->size(); ++i) {
    const manifest::Image &image = *manifest.images()->Get(i);
    images.push_back({{"target", manifest.targets()->GetAsString(image.target())->str()},
                      {"kind", imageKindName(image.kind())},
                      {"bytes", image.size()},
                      {"compiler", image.compiler()->str()}});
  }
  return images;
}

/// Describes how the model processes texts: its tokenizers, search, languages and labels.
static void describeUse(const Model &model, const manifest::Manifest &manifest, Json &described) {
  described["tokenizer"] = describeTokenizer(manifest.tokenizer());
  if (manifest.target_tokenizer() != nullptr) {
    described["target_tokenizer"] = describeTokenizer(manifest.target_tokenizer());
  }
  if (manifest.generation() != nullptr) {
    described["generation"] = describeGeneration(manifest.generation());
    described["defaults"] = describeDefaults();
  }
  if (const std::optional<LanguagesInfo> &languages = model.languages()) {
    const auto nameOrNull = [](const std::string &name) {
      return name.empty() ? Json() : Json(name);
    };
    described["languages"] = {{"source", nameOrNull(languages->source)},
                              {"target", nameOrNull(languages->target)},
                              {"names", languages->names},
                              {"tokens", languages->tokens}};
  }
  if (const std::optional<ClassifierInfo> &classifier = model.classifier()) {
    described["classification"] = {{"problem", infoOf(classifier->problem).label},
                                   {"labels", classifier->labels}};
  }
  if (const manifest::Chat *const chat = manifest.chat()) {
    described["chat"] = describeChat(*chat);
  }
}

static Json describeModel(const Model &model, const manifest::Manifest &manifest) {
  int64_t values = 0;
  for (const ParameterInfo &parameter : model.parameters()) {
    int64_t count = 1;
    for (const int64_t dimension : parameter.shape) {
      count *= dimension;
    }
    values += count;
  }
  Json described = {{"file", model.path()}, {"model_type", model.modelType()}};
  described["precision"] = model.precision();
  for (const KeptLayersInfo &kept : model.keptLayers()) {
    described["kept"].push_back({{"layers", kept.layers},
                                 {"precision", kept.precision},
                                 {"tensors", kept.tensors},
                                 {"bytes", kept.bytes}});
  }
  described["cache_precision"] = model.cachePrecision();
  described["targets"] = model.targets();
  described["this_machine"] = chosenTarget(model, machineTargets());
  // Only if there is code for GPUs, because looking for them takes longer than everything else.
  if (Json images = describeImages(manifest); !images.empty()) {
    const MachineDevices devices = findDevices();
    described["images"] = std::move(images);
    described["devices"] = describeDevices(model, devices);
    if (!devices.missing.empty()) {
      described["no_gpu"] = devices.missing;
    }
  }
  described["file_bytes"] = model.fileSize();
  described["parameters"] = model.parameters().size();
  described["parameter_values"] = values;
  described["weights_bytes"] = model.weightsSize();
  describeUse(model, manifest, described);
  if (const manifest::Codes *const codes = manifest.codes()) {
    described["codes"] = describeCodes(*codes);
  }
  if (manifest.sharing() != nullptr) {
    described["sharing"] = manifest.sharing()->string_view();
  }
  if (const manifest::Calibration *const calibration = manifest.calibration()) {
    described["calibration"] = {{"hash", calibration->hash()->string_view()},
                                {"texts", calibration->texts()},
                                {"matrices", calibration->matrices()}};
  }
  if (const Json caches = summariseCaches(model.entries()); !caches.is_null()) {
    described["caches"] = caches;
  }
  described["source_hash"] = model.sourceHash();
  described["producer"] = model.producer();
  described["entries"] = Json::array();
  for (const EntryInfo &entry : model.entries()) {
    Json &list = described["entries"];
    const auto number = static_cast<uint32_t>(list.size());
    list.push_back(describeEntry(entry));
    const Json kernels = describeKernels(manifest, *manifest.entries()->Get(number), entry);
    if (!kernels.is_null()) {
      list.back()["kernels_of_pass"] = kernels;
    }
  }
  described["report_summary"] = model.reportSummary();
  return described;
}

Result<Json> describeModel(const std::string &path) {
  HEDDLE_ASSIGN(const Model model, Model::load(path, {.isa = {}, .describeOnly = true}));
  // The public interface does not describe tokenizers; the manifest does.
  HEDDLE_ASSIGN(const std::shared_ptr<const Artifact> artifact,
                Artifact::load(path, {.isa = {}, .describeOnly = true}, nullptr));
  return describeModel(model, artifact->manifest());
}

} // namespace heddle::tools
