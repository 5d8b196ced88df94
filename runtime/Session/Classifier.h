// SPDX-License-Identifier: Apache-2.0
///
/// The classifier of a model: encodes texts or pairs of texts for its entry, and computes the
/// scores of its labels. Both interfaces, the Python package and `heddle rerank` use it.
#ifndef HEDDLE_RUNTIME_SESSION_CLASSIFIER_H
#define HEDDLE_RUNTIME_SESSION_CLASSIFIER_H

#include "formats/Binary/GenerationCheck.h"
#include "heddle/Session.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace heddle {

/// Refers to parts of the model, of which a copy must outlive it.
class Classifier {
public:
  /// Creates the classifier; NotFound if the model has none.
  static Result<Classifier> of(const Model &model);

  const EntryInfo &entry() const { return *entryInfo; }
  const PortInfo &ids() const { return *idsPort; }
  /// Return the number of scores for a text or token, and whether each token is scored.
  size_t labels() const { return width; }
  bool isOfTokens() const { return ofTokens; }
  /// Checks that a text has one score, as cross-encoders give to a pair; otherwise Unsupported.
  Status checkCrossEncoder() const;

  /// Encodes a text, or two as one sequence, for the entry.
  Result<TokenPair> read(std::string_view text, std::optional<std::string_view> second = {}) const;
  /// Returns the number of floats of the scores of these texts.
  size_t scoresOf(std::span<const TokenPair> texts) const;
  /// Computes the logits of texts, [texts, labels] or, for a classifier of tokens, [all tokens,
  /// labels].
  Status run(Session &session, std::span<const TokenPair> texts, std::span<float> scores) const;

private:
  explicit Classifier(const Model &model) : model(model) {}

  Model model;
  const EntryInfo *entryInfo = nullptr;
  const PortInfo *idsPort = nullptr;
  /// Null if the model has no token types.
  const PortInfo *typesPort = nullptr;
  size_t width = 0;
  bool ofTokens = false;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CLASSIFIER_H
