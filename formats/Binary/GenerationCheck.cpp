// SPDX-License-Identifier: Apache-2.0
///
/// Checks that involve several entries.
#include "formats/Binary/GenerationCheck.h"

#include "base/Utf8.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Limits.h"
#include "heddle/Problem.h"
#include "heddle/RectangleEntries.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace heddle {

const manifest::Entry *findEntry(const manifest::Manifest &model, std::string_view name) {
  for (const manifest::Entry *const entry : *model.entries()) {
    if (entry->name()->string_view() == name) {
      return entry;
    }
  }
  return nullptr;
}

int32_t findOutput(const manifest::Entry &entry, std::string_view name) {
  for (uint32_t i = 0; i < entry.outputs()->size(); ++i) {
    const manifest::Port &port = *entry.outputs()->Get(i);
    if (port.name()->string_view() == name && port.observed() == manifest::Observed::No) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

const manifest::Port *findIds(const manifest::Entry &entry) {
  for (const manifest::Port *const port : *entry.inputs()) {
    if (!port->optional() && elementOf(*port) == ElementType::I32) {
      return port;
    }
  }
  return nullptr;
}

/// The properties of a cache or a state that entries share by name.
template <typename Port> struct Shared {
  const Port *first;
  int writers = 0;
  /// Whether the entry that gives it to the others is one of the entries.
  bool isGiven = false;
};
template <typename Port> using SharedPorts = std::map<std::string_view, Shared<Port>>;

/// Counts the caches or states of an entry; `giver` is the entry that may give them to another, and
/// `describe` returns the properties that must be the same in all entries.
template <typename Port, typename Describe>
static Status addShared(SharedPorts<Port> &shared, std::string_view kind, std::string_view giver,
                        const manifest::Entry &entry,
                        const flatbuffers::Vector<flatbuffers::Offset<Port>> *ports,
                        const Describe &describe) {
  for (uint32_t i = 0; ports != nullptr && i < ports->size(); ++i) {
    const Port &port = *ports->Get(i);
    Shared<Port> &seen =
        shared.try_emplace(port.name()->string_view(), Shared<Port>{&port}).first->second;
    seen.writers += port.written() ? 1 : 0;
    seen.isGiven |= port.written() && entry.name()->string_view() == giver;
    if (describe(port) != describe(*seen.first)) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{} {} has {} in entry {}, and {} before it", kind,
                                      quote(port.name()->string_view()), describe(port),
                                      quote(entry.name()->string_view()), describe(*seen.first)));
    }
  }
  return {};
}

/// Checks that one entry updates each, or the one that gives it and another.
template <typename Port>
static Status checkWriters(const SharedPorts<Port> &shared, std::string_view does) {
  for (const auto &[name, seen] : shared) {
    if (seen.writers != 1 && !(seen.isGiven && seen.writers == 2)) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("{} entries {} {}, expected one", seen.writers, does, quote(name)));
    }
  }
  return {};
}

Status checkSharedCaches(const manifest::Manifest &model) {
  SharedPorts<manifest::CachePort> caches;
  SharedPorts<manifest::StatePort> states;
  for (const manifest::Entry *const entry : *model.entries()) {
    HEDDLE_TRY(
        addShared(caches, "cache", pastEntry, *entry, entry->caches(), [](const auto &cache) {
          return fmt::format("{} elements of {} and layout {}", cache.width(),
                             infoOf(elementOf(cache)).name, unsigned(cache.layout()));
        }));
    HEDDLE_TRY(
        addShared(states, "state", encodeEntry, *entry, entry->states(), [](const auto &state) {
          return fmt::format("{} elements of {}{}", state.width(), infoOf(elementOf(state)).name,
                             state.keyed() ? " for each key" : "");
        }));
  }
  HEDDLE_TRY(checkWriters(caches, "append to cache"));
  return checkWriters(states, "change state");
}

static const manifest::Port *findInput(const manifest::Entry &entry, std::string_view name) {
  for (const manifest::Port *const port : *entry.inputs()) {
    if (port->name()->string_view() == name) {
      return port;
    }
  }
  return nullptr;
}

/// Describes the rows of a port whose shape has been checked.
static std::string rowsOf(const manifest::Port &port) {
  uint64_t width = 1;
  for (uint32_t axis = 1; axis < port.shape()->size(); ++axis) {
    width *= port.shape()->Get(axis)->constant();
  }
  return fmt::format("{} elements of {}", width, infoOf(elementOf(port)).name);
}

Status checkPrecedingRows(const manifest::Manifest &model) {
  const manifest::Entry *const past = findEntry(model, pastEntry);
  if (past == nullptr) {
    return {};
  }
  for (const manifest::Entry *const entry : *model.entries()) {
    for (const manifest::Port *const output : *entry->outputs()) {
      const manifest::Port *const before =
          output->after() == nullptr ? nullptr : findInput(*past, output->after()->string_view());
      if (before != nullptr && rowsOf(*output) != rowsOf(*before)) {
        return HEDDLE_ERROR(
            DataLoss,
            fmt::format("output {} of entry {} has rows of {}, and those of {} before them "
                        "in files have {}",
                        quote(output->name()->string_view()), quote(entry->name()->string_view()),
                        rowsOf(*output), quote(before->name()->string_view()), rowsOf(*before)));
      }
    }
  }
  return {};
}

static Status checkToken(std::string_view what, int32_t token, uint64_t limit, int32_t least = 0) {
  if (token < least || (token >= 0 && static_cast<uint64_t>(token) >= limit)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} token {}, expected {} to {}", what, token, least,
                                              static_cast<int64_t>(limit) - 1));
  }
  return {};
}

static Status checkTokens(std::string_view what, const flatbuffers::Vector<int32_t> *tokens,
                          uint64_t limit) {
  for (uint32_t i = 0; tokens != nullptr && i < tokens->size(); ++i) {
    HEDDLE_TRY(checkToken(what, tokens->Get(i), limit));
  }
  return {};
}

static Status checkDefaults(const manifest::Generation &generation) {
  const std::string_view rules = generation.rules()->string_view();
  if (std::find(std::begin(ruleNames), std::end(ruleNames), rules) == std::end(ruleNames)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("rules {}, expected {}", quote(rules), ruleNamesListed));
  }
  if (generation.max_length() < 0 || generation.min_length() < 0 ||
      generation.no_repeat_ngram() < 0 || generation.beams() < 1 ||
      generation.beams() > mostBeams) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("max_length {}, min_length {}, no_repeat_ngram {} and beams {}, "
                              "expected at least 0, 0, 0 and 1 to {}",
                              generation.max_length(), generation.min_length(),
                              generation.no_repeat_ngram(), generation.beams(), mostBeams));
  }
  const float exponent = generation.length_penalty();
  const float penalty = generation.repetition_penalty();
  if (!(exponent >= -largestLengthPenalty && exponent <= largestLengthPenalty) ||
      !(penalty >= leastRepetitionPenalty && penalty <= largestRepetitionPenalty)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("length_penalty {} and repetition_penalty {}, expected {} to {} and "
                              "{} to {}",
                              exponent, penalty, -largestLengthPenalty, largestLengthPenalty,
                              leastRepetitionPenalty, largestRepetitionPenalty));
  }
  if (generation.early_stopping() && generation.never_stop_early()) {
    return HEDDLE_ERROR(DataLoss, "early_stopping and never_stop_early, expected one of them");
  }
  const float temperature = generation.temperature();
  if (!(temperature > 0 && std::isfinite(temperature)) || generation.top_k() < 0 ||
      !(generation.top_p() > 0 && generation.top_p() <= 1) ||
      !(generation.min_p() >= 0 && generation.min_p() <= 1)) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("temperature {}, top_k {}, top_p {} and min_p {}, expected a finite "
                    "number above 0, at least 0, above 0 to 1 and 0 to 1",
                    temperature, generation.top_k(), generation.top_p(), generation.min_p()));
  }
  if (generation.context_length() < 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("context_length {}, expected at least 0",
                                              generation.context_length()));
  }
  return {};
}

Status checkGeneration(const manifest::Manifest &model) {
  if (model.generation() == nullptr) {
    return {};
  }
  const manifest::Generation &generation = *model.generation();
  const manifest::Entry *const decode = findEntry(model, decodeEntry);
  const int32_t logits = decode == nullptr ? -1 : findOutput(*decode, logitsOutput);
  const manifest::Port *const ids = decode == nullptr ? nullptr : findIds(*decode);
  if (logits < 0 || ids == nullptr) {
    return HEDDLE_ERROR(DataLoss, "no entry \"decode\" with an input and an output \"logits\"");
  }
  const auto &shape = *decode->outputs()->Get(static_cast<uint32_t>(logits))->shape();
  const uint64_t generated = shape.size() == 2 ? shape.Get(1)->constant() : 0;
  const uint64_t read = ids->limit();
  if (generated > read) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} tokens can be generated, only {} of them can be fed back",
                                    generated, read));
  }
  // A model without sources continues a prompt, and may have no end token.
  const bool hasSources = findEntry(model, encodeEntry) != nullptr;
  if (hasSources && (generation.start()->size() == 0 || generation.end()->size() == 0)) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} start tokens and {} end tokens, expected at "
                                    "least one of each",
                                    generation.start()->size(), generation.end()->size()));
  }
  HEDDLE_TRY(checkTokens("start", generation.start(), read));
  HEDDLE_TRY(checkTokens("end", generation.end(), generated));
  HEDDLE_TRY(checkTokens("suppressed", generation.suppressed(), generated));
  HEDDLE_TRY(checkToken("pad", generation.pad(), std::max(read, generated), -1));
  HEDDLE_TRY(checkToken("forced first", generation.forced_first(), generated, -1));
  HEDDLE_TRY(checkToken("forced last", generation.forced_last(), generated, -1));
  return checkDefaults(generation);
}

static Status checkLanguageNames(const manifest::Languages &languages) {
  const auto &names = *languages.names();
  if (names.size() == 0 || names.size() != languages.tokens()->size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} names and {} tokens, expected as many of both, "
                                              "at least one",
                                              names.size(), languages.tokens()->size()));
  }
  for (uint32_t i = 1; i < names.size(); ++i) {
    if (names.Get(i - 1)->string_view() >= names.Get(i)->string_view()) {
      return HEDDLE_ERROR(DataLoss, fmt::format("name {} after {}, expected them ascending",
                                                quote(names.Get(i)->string_view()),
                                                quote(names.Get(i - 1)->string_view())));
    }
  }
  for (const int32_t number : {languages.source(), languages.target()}) {
    if (number < -1 || number >= static_cast<int64_t>(names.size())) {
      return HEDDLE_ERROR(DataLoss, fmt::format("language {}, expected -1 to {}", number,
                                                static_cast<int64_t>(names.size()) - 1));
    }
  }
  return {};
}

Status checkLanguages(const manifest::Manifest &model) {
  if (model.languages() == nullptr) {
    return {};
  }
  const manifest::Languages &languages = *model.languages();
  HEDDLE_TRY(checkLanguageNames(languages));
  const manifest::Entry *const encode = findEntry(model, encodeEntry);
  const manifest::Port *const source = encode == nullptr ? nullptr : findIds(*encode);
  if (model.generation() == nullptr || source == nullptr) {
    return HEDDLE_ERROR(DataLoss, "the model has no generation from sources of tokens");
  }
  // checkGeneration() has found these; generated tokens can be fed back.
  const manifest::Entry &decode = *findEntry(model, decodeEntry);
  const auto &shape =
      *decode.outputs()->Get(static_cast<uint32_t>(findOutput(decode, logitsOutput)))->shape();
  const uint64_t generated = shape.size() == 2 ? shape.Get(1)->constant() : 0;
  HEDDLE_TRY(checkTokens("language", languages.tokens(), source->limit()));
  HEDDLE_TRY(checkTokens("language", languages.tokens(), generated));
  const manifest::Tokenizer *const tokenizer = model.tokenizer();
  if (tokenizer != nullptr) {
    // Its pieces are checked with the tokenizer.
    const auto &pieces = *tokenizer->template_();
    const manifest::TemplatePiece *const piece =
        pieces.size() == 0 ? nullptr : pieces.Get(languages.ends_source() ? pieces.size() - 1 : 0);
    if (piece == nullptr || piece->kind() != manifest::TemplatePieceKind::Token) {
      return HEDDLE_ERROR(DataLoss, fmt::format("the tokenizer puts no token at the {} of a source",
                                                languages.ends_source() ? "end" : "beginning"));
    }
  }
  return {};
}

// The schema lists the problems in the order of the table.
#define HEDDLE_PROBLEM(Name, name, label, published)                                               \
  static_assert(int(Problem::Name) == int(manifest::Problem::Name));
#include "heddle/Problems.def"
static_assert(std::size(problemTable) == size_t(manifest::Problem::MAX) + 1);

Status checkClassification(const manifest::Manifest &model) {
  if (model.classification() == nullptr) {
    return {};
  }
  const manifest::Classification &classification = *model.classification();
  const manifest::Entry *const classify = findEntry(model, classifyEntry);
  const int32_t logits = classify == nullptr ? -1 : findOutput(*classify, logitsOutput);
  if (logits < 0) {
    return HEDDLE_ERROR(DataLoss, "no entry \"classify\" with an output \"logits\"");
  }
  const auto &shape = *classify->outputs()->Get(static_cast<uint32_t>(logits))->shape();
  const uint64_t scores = shape.size() == 2 ? shape.Get(1)->constant() : 0;
  if (scores != classification.labels()->size() || scores == 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} labels for {} scores, expected one for each",
                                              classification.labels()->size(), scores));
  }
  if (classification.problem() > manifest::Problem::MAX) {
    return HEDDLE_ERROR(Unsupported, fmt::format("a problem of kind {}, expected at most {}",
                                                 static_cast<int>(classification.problem()),
                                                 static_cast<int>(manifest::Problem::MAX)));
  }
  return {};
}

} // namespace heddle
