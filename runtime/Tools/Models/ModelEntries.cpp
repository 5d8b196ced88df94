// SPDX-License-Identifier: Apache-2.0
///
/// Chooses entries and inputs, and checks texts against them.
#include "runtime/Tools/Models/ModelEntries.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "runtime/Device/Device.h"
#include "runtime/Generate/Languages.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Lines/LineFormats.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>
#include <vector>

namespace heddle::tools {

/// Not a code of the library: marks failures of this program's command line.
static constexpr auto wrongOption = static_cast<StatusCode>(1000);

Status optionError(std::string message) {
  return {wrongOption, std::move(message), __FILE_NAME__, __LINE__};
}

bool isOptionError(const Status &status) { return status.code() == wrongOption; }

Result<Model> loadModel(const std::string &path, const ExecutionOptions &options) {
  const std::string &isa = options.isa;
  // The devices stay open until the model holds one of them.
  const auto devices = openDevices(options.device);
  if (devices.status().code() == StatusCode::InvalidArgument) {
    return optionError(fmt::format("--device: {}", devices.status().message()));
  }
  HEDDLE_TRY(devices.status());
  Result<Model> model = Model::load(path, {.isa = isa, .device = options.device});
  // The model is valid except for the target.
  if (!model.ok() && !isa.empty() && Model::load(path, {.isa = {}, .describeOnly = true}).ok()) {
    return optionError(fmt::format("--isa {}: {}", quote(isa), model.status().message()));
  }
  return model;
}

std::vector<std::string> keptLayersOf(const Model &model) {
  std::vector<std::string> kept;
  for (const KeptLayersInfo &each : model.keptLayers()) {
    kept.push_back(each.layers + "=" + each.precision);
  }
  return kept;
}

std::string precisionText(std::string_view precision, std::span<const std::string> kept) {
  std::string text(precision);
  for (const std::string &each : kept) {
    text += ", " + each;
  }
  return text;
}

Result<const EntryInfo *> chooseNamedEntry(const Model &model, const std::string &name) {
  Result<const EntryInfo *> entry = chooseEntry(model, name);
  if (name.empty()) {
    return entry;
  }
  if (!entry.ok()) {
    return optionError(fmt::format("--entry {}: {}", quote(name), entry.status().message()));
  }
  const std::vector<CacheInfo> &caches = (*entry)->caches;
  if (std::any_of(caches.begin(), caches.end(), [](const auto &each) { return !each.written; })) {
    return optionError(fmt::format("--entry {}: {}: the entry reads caches, which generation "
                                   "fills, expected one that reads none",
                                   quote(name), model.path()));
  }
  return entry;
}

Status checkLength(std::string_view what, int64_t count, int64_t longest) {
  return longest == 0 || count <= longest
             ? Status()
             : HEDDLE_ERROR(OutOfRange,
                            fmt::format("{} has {} tokens, expected at most {}, the positions of "
                                        "the model: --truncate cuts it",
                                        what, count, longest));
}

Status checkText(const EntryInfo &entry, const PortInfo &input, std::span<const int32_t> ids) {
  const auto count = static_cast<int64_t>(ids.size());
  if (entry.maxLength != 0 && count > entry.maxLength) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("text has {} tokens, expected at most {}, the "
                                                "positions of the model",
                                                count, entry.maxLength));
  }
  return checkTokens("text", ids, input.limit);
}

Result<std::vector<int32_t>> sourceTokens(const Generator &generator, const SourceOptions &options,
                                          std::string_view line) {
  if (!generator.hasSources()) {
    if (options.truncate) {
      return HEDDLE_ERROR(InvalidArgument, "--truncate is given, and the model continues prompts, "
                                           "which are not cut");
    }
    return options.tokens ? parseTokenLine(line) : generator.encodePrompt(line);
  }
  const int64_t longest = generator.longestSource();
  HEDDLE_ASSIGN(std::vector<int32_t> ids, options.tokens
                                              ? parseTokenLine(line, options.truncate ? longest : 0)
                                              : generator.encodeSource(line, options.truncate));
  HEDDLE_TRY(checkLength("source", static_cast<int64_t>(ids.size()), longest));
  return ids;
}

Status checkLanguages(const Model &model, const std::string &source, const std::string &target,
                      bool areTokens) {
  const ModelLanguages &languages = model.languages();
  for (const auto &[option, what, name] :
       {std::tuple("--source-language", "source language", &source),
        std::tuple("--target-language", "target language", &target)}) {
    if (name->empty()) {
      continue;
    }
    const Status status = languageToken(languages, what, *name).status();
    if (!status.ok()) {
      return optionError(fmt::format("{}: {}", option, status.message()));
    }
  }
  if (languages && languages->target.empty() && target.empty() && !areTokens) {
    return optionError(fmt::format("--target-language NAME is missing: the model has {} languages "
                                   "and no default, see 'heddle info'",
                                   languages->names.size()));
  }
  return {};
}

GenerationRequest requestFor(const Generator &generator, std::vector<int32_t> ids,
                             const GenerationOptions &options) {
  GenerationRequest request;
  request.options = options;
  (generator.hasSources() ? request.source : request.prefix) = std::move(ids);
  return request;
}

Result<std::string> readSchema(const std::string &path) {
  if (path.empty()) {
    return std::string();
  }
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return std::string(file.text());
}

Status checkSchema(const Generator &generator, const GenerationRequest &request,
                   const std::string &path) {
  GenerationRequest any = request;
  any.options.jsonSchema.clear();
  return request.options.jsonSchema.empty() || !generator.check(any).ok()
             ? Status()
             : generator.check(request).annotate(path);
}

Status checkSampling(const Generator &generator, const GenerationOptions &options) {
  if (generator.filledIn(options).sample.value_or(false)) {
    return {};
  }
  const std::pair<const char *, bool> given[] = {{"--temperature", options.temperature.has_value()},
                                                 {"--top-k", options.topK.has_value()},
                                                 {"--top-p", options.topP.has_value()},
                                                 {"--min-p", options.minP.has_value()},
                                                 {"--seed", options.seed.has_value()}};
  for (const auto &[name, isGiven] : given) {
    if (isGiven && options.sample) {
      return optionError(
          fmt::format("{} and --no-sample are both given, expected one of them", name));
    }
    if (isGiven) {
      return optionError(fmt::format("{} is given without --sample, expected both", name));
    }
  }
  return {};
}

Status checkChat(const Model &model, std::string_view chatTemplate) {
  if (!PagedDecoder::supports(model) || PagedDecoder::hasSources(model)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the model does not continue prompts, expected "
                                    "one that does for conversations",
                                    model.path()));
  }
  const std::vector<std::string> &names = model.chatTemplates();
  if (names.empty()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the model has no chat template, expected one for "
                                    "conversations",
                                    model.path()));
  }
  if (!chatTemplate.empty() && std::find(names.begin(), names.end(), chatTemplate) == names.end()) {
    return optionError(fmt::format("--chat-template is {}, expected one of {}", quote(chatTemplate),
                                   fmt::join(names, ", ")));
  }
  return {};
}

Result<std::vector<int32_t>> textTokens(const Model &model, const EntryInfo &entry,
                                        const SourceOptions &options, std::string_view line) {
  const int64_t most = options.truncate ? entry.maxLength : 0;
  HEDDLE_ASSIGN(std::vector<int32_t> ids,
                options.tokens ? parseTokenLine(line, most) : model.tokenize(line, most));
  HEDDLE_TRY(checkLength("text", static_cast<int64_t>(ids.size()), entry.maxLength));
  return ids;
}

Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name) {
  const std::vector<EntryInfo> &entries = model.entries();
  if (name.empty() && !entries.empty()) {
    return &entries.front();
  }
  if (const EntryInfo *entry = model.findEntry(name)) {
    return entry;
  }
  std::vector<std::string_view> names;
  for (const EntryInfo &entry : entries) {
    names.push_back(entry.name);
  }
  return HEDDLE_ERROR(NotFound, fmt::format("{}: no entry {}, expected one of {}", model.path(),
                                            quote(name), fmt::join(names, ", ")));
}

Result<const EntryInfo *> requireEntry(const Model &model, std::string_view name,
                                       std::string_view does, std::string_view expected) {
  if (const EntryInfo *entry = model.findEntry(name)) {
    return entry;
  }
  const std::string other =
      PagedDecoder::supports(model)
          ? std::string("heddle generate runs this one")
          : fmt::format("heddle run --entry {} runs this one", model.entries().front().name);
  return HEDDLE_ERROR(Unsupported, fmt::format("{}: the model does not {}: it has no entry {}, "
                                               "expected {}; {}",
                                               model.path(), does, quote(name), expected, other));
}

Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry) {
  const auto first = std::find_if(entry.inputs.begin(), entry.inputs.end(),
                                  [](const PortInfo &input) { return !input.optional; });
  if (first == entry.inputs.end()) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{}: entry {} needs no input, expected one that gives the batch "
                                 "its shape",
                                 model.path(), quote(entry.name)));
  }
  return &*first;
}

Result<const PortInfo *> chooseIds(const Model &model, const EntryInfo &entry) {
  HEDDLE_ASSIGN(const PortInfo *input, chooseInput(model, entry));
  if (input->element != ElementType::I32) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: entry {} reads rows of {}, the input {}, expected ids: "
                                    "heddle run and heddle generate --inputs take such rows",
                                    model.path(), quote(entry.name), infoOf(input->element).name,
                                    quote(input->name)));
  }
  return input;
}

Status checkTokenizer(const Model &model, std::string_view expected) {
  return model.hasTokenizer()
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: the model has no tokenizer, expected {}", model.path(),
                                        expected));
}

int64_t rowWidth(const PortInfo &output) {
  int64_t width = 1;
  for (const int64_t dimension : output.shape) {
    width *= dimension > 0 ? dimension : 1;
  }
  return width;
}

} // namespace heddle::tools
