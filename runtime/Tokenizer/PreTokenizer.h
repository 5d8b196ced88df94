// SPDX-License-Identifier: Apache-2.0
///
/// How a normalised text becomes the words that the model works on: the pre-tokenizers of a
/// tokenizer, one inside the other. Words come one at a time, so that no more of a long text is
/// split than is needed.
#ifndef HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// Bytes of the word that a text begins with, as GPT-2 splits: contractions, letters, numbers,
/// others, each with the space before it, and white space.
size_t firstByteLevelWord(std::string_view text);

/// Immutable; may be used by several threads. Refers to the table.
class PreTokenizer {
public:
  /// Takes a word; false: no more are wanted.
  using Sink = std::function<bool(std::string_view word)>;
  /// The most steps of a sequence.
  static constexpr size_t stepLimit = 8;
  /// Memory that split() works in; words lie in it.
  struct Scratch {
    std::array<std::string, stepLimit> texts;
    std::array<std::string, stepLimit> words;
  };

  /// Checks the table's pre-tokenizer; with none every text is a word.
  static Result<PreTokenizer> load(const manifest::Tokenizer &table);

  /// Gives the words of a text. `first`: it begins where the whole text does.
  void split(std::string_view text, bool first, Scratch &scratch, const Sink &sink) const;
  /// Whether a text may be cut after a space, and its parts split apart.
  bool worksByWords() const;

private:
  struct Bert {};
  struct ByteLevel {
    bool addPrefixSpace;
    bool split;
  };
  struct Metaspace {
    std::string_view replacement;
    manifest::PrependScheme prepend;
    bool split;
  };
  struct WhiteSpace {};
  using Step = std::variant<Bert, ByteLevel, Metaspace, WhiteSpace>;
  /// Where a text is in the sequence of steps.
  struct Place {
    size_t step;
    bool first;
    Scratch &scratch;
    const Sink &sink;
  };

  static Result<Step> loadStep(manifest::PreTokenizer kind, const void *table);
  bool run(std::string_view text, const Place &place) const;
  bool pass(std::string_view word, const Place &place, bool first) const;
  bool apply(const Bert &step, std::string_view text, const Place &place) const;
  bool apply(const ByteLevel &step, std::string_view text, const Place &place) const;
  bool apply(const Metaspace &step, std::string_view text, const Place &place) const;
  bool apply(const WhiteSpace &step, std::string_view text, const Place &place) const;

  std::vector<Step> steps;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H
