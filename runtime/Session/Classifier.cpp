// SPDX-License-Identifier: Apache-2.0
///
/// Finds the ports of the entry, and runs it over concatenated texts.
#include "runtime/Session/Classifier.h"

#include <fmt/format.h>

namespace heddle {

static constexpr std::string_view idsInput = "input_ids";
static constexpr std::string_view typesInput = "token_type_ids";

static const PortInfo *portNamed(const std::vector<PortInfo> &ports, std::string_view name) {
  for (const PortInfo &port : ports) {
    if (port.name == name) {
      return &port;
    }
  }
  return nullptr;
}

Result<Classifier> Classifier::of(const Model &model) {
  Classifier classifier(model);
  const EntryInfo *const entry = classifier.model.findEntry(classifyEntry);
  const PortInfo *const logits =
      entry == nullptr ? nullptr : portNamed(entry->outputs, logitsOutput);
  if (logits == nullptr || logits->shape.size() != 2 || logits->shape[1] < 1) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: the model has no classifier, expected an entry "
                                              "\"classify\" with the output \"logits\"",
                                              model.path()));
  }
  classifier.entryInfo = entry;
  classifier.idsPort = portNamed(entry->inputs, idsInput);
  classifier.typesPort = portNamed(entry->inputs, typesInput);
  classifier.width = static_cast<size_t>(logits->shape[1]);
  classifier.ofTokens = logits->shape[0] == tokensDimension;
  if (classifier.idsPort == nullptr || classifier.idsPort->element != ElementType::I32) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: entry \"classify\" has no input \"input_ids\" "
                                    "of ids, expected one that reads texts",
                                    model.path()));
  }
  return classifier;
}

Status Classifier::checkCrossEncoder() const {
  if (!ofTokens && width == 1) {
    return {};
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: the classifier has {} scores for a {}, expected one for a "
                                  "sequence",
                                  model.path(), width, ofTokens ? "token" : "sequence"));
}

Result<TokenPair> Classifier::read(std::string_view text,
                                   std::optional<std::string_view> second) const {
  if (second) {
    return model.tokenizePair(text, *second);
  }
  HEDDLE_ASSIGN(std::vector<int32_t> ids, model.tokenize(text));
  std::vector<int32_t> types(ids.size());
  return TokenPair{std::move(ids), std::move(types)};
}

size_t Classifier::scoresOf(std::span<const TokenPair> texts) const {
  size_t rows = ofTokens ? 0 : texts.size();
  for (const TokenPair &text : texts) {
    rows += ofTokens ? text.ids.size() : 0;
  }
  return rows * width;
}

Status Classifier::run(Session &session, std::span<const TokenPair> texts,
                       std::span<float> scores) const {
  std::vector<int32_t> lengths, ids, types;
  for (const TokenPair &text : texts) {
    lengths.push_back(static_cast<int32_t>(text.ids.size()));
    ids.insert(ids.end(), text.ids.begin(), text.ids.end());
    types.insert(types.end(), text.typeIds.begin(), text.typeIds.end());
  }
  std::vector<Input> inputs = {{idsPort->name, std::span<const int32_t>(ids)}};
  if (typesPort != nullptr) {
    inputs.emplace_back(typesPort->name, std::span<const int32_t>(types));
  }
  const Output output{logitsOutput, scores};
  return session.run(entryInfo->name, lengths, inputs, {&output, 1});
}

} // namespace heddle
