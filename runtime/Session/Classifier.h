// SPDX-License-Identifier: Apache-2.0
///
/// The classifier of a model: texts or pairs of texts to what its entry reads, and to the scores of
/// its labels. Both interfaces, the package for Python and `heddle rerank` use it.
#ifndef HEDDLE_RUNTIME_SESSION_CLASSIFIER_H
#define HEDDLE_RUNTIME_SESSION_CLASSIFIER_H

#include "heddle/Session.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace heddle {

/// The name of the entry that scores labels.
inline constexpr std::string_view classifyEntry = "classify";

/// Refers to parts of the model, of which it needs a copy to live.
class Classifier {
public:
  /// NotFound for a model without a classifier.
  static Result<Classifier> of(const Model &model);

  const EntryInfo &entry() const { return *entryInfo; }
  const PortInfo &ids() const { return *idsPort; }
  /// The scores for a text, or for each of its tokens.
  size_t labels() const { return width; }
  bool isOfTokens() const { return ofTokens; }
  /// Unsupported unless a text has one score, as cross-encoders give it to a pair.
  Status checkCrossEncoder() const;

  /// What the entry reads of a text, or of two as one sequence.
  Result<TokenPair> read(std::string_view text, std::optional<std::string_view> second = {}) const;
  /// How many floats scores of these are.
  size_t scoresOf(std::span<const TokenPair> texts) const;
  /// The logits of texts, [texts, labels] or, of a classifier of tokens, [all tokens, labels].
  Status run(Session &session, std::span<const TokenPair> texts, std::span<float> scores) const;

private:
  explicit Classifier(const Model &model) : model(model) {}

  Model model;
  const EntryInfo *entryInfo = nullptr;
  const PortInfo *idsPort = nullptr;
  /// Null: the model has no token types.
  const PortInfo *typesPort = nullptr;
  size_t width = 0;
  bool ofTokens = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CLASSIFIER_H
