// SPDX-License-Identifier: Apache-2.0
///
/// Splits a normalised text into the words that the model works on, with nested pre-tokenizers.
/// Words are produced one at a time, so that a long text is split only as far as needed.
#ifndef HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/PreTokenizerLimits.h"
#include "formats/Tokenizer/SplitPattern.h"
#include "heddle/Status.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// Returns the length of the first word of a text in GPT-2's splitting: contractions, letters,
/// numbers or other characters, each with the space before it, or white space.
size_t firstByteLevelWord(std::string_view text);

/// Immutable; may be used by several threads. Refers to the table.
class PreTokenizer {
public:
  /// Receives a word. Returns false to stop.
  using Sink = std::function<bool(std::string_view word)>;
  /// Scratch memory of split(); words point into it.
  struct Scratch {
    std::array<std::string, preTokenizerSteps> texts;
    std::array<std::string, preTokenizerSteps> words;
  };

  /// Checks the table's pre-tokenizer. Without one, every text is a single word.
  static Result<PreTokenizer> load(const manifest::Tokenizer &table);

  /// Passes the words of a text to `sink`. `first` means that this part is the beginning of the
  /// whole text.
  void split(std::string_view text, bool first, Scratch &scratch, const Sink &sink) const;
  /// Returns whether a text may be cut after a space and its parts split separately.
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
  struct Split {
    SplitPattern pattern;
    manifest::SplitBehavior behavior;
    bool invert;
  };
  using Step = std::variant<Bert, ByteLevel, Metaspace, WhiteSpace, Split>;
  /// The position of a text in the sequence of steps.
  struct Place {
    size_t step;
    bool first;
    Scratch &scratch;
    const Sink &sink;
  };

  static Result<Step> loadStep(manifest::PreTokenizer kind, const void *table);
  static Result<Step> loadSplit(const manifest::SplitPreTokenizer &table);
  bool run(std::string_view text, const Place &place) const;
  bool pass(std::string_view word, const Place &place, bool first) const;
  bool apply(const Bert &step, std::string_view text, const Place &place) const;
  bool apply(const ByteLevel &step, std::string_view text, const Place &place) const;
  bool apply(const Metaspace &step, std::string_view text, const Place &place) const;
  bool apply(const WhiteSpace &step, std::string_view text, const Place &place) const;
  bool apply(const Split &step, std::string_view text, const Place &place) const;

  std::vector<Step> steps;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_PRETOKENIZER_H
