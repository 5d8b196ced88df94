// SPDX-License-Identifier: Apache-2.0
///
/// Normalises a text before words are formed: runs the normalizers of a tokenizer one after
/// another.
#ifndef HEDDLE_RUNTIME_TOKENIZER_NORMALIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_NORMALIZER_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/CharsMap.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/BertNormalizer.h"
#include "runtime/Tokenizer/UnicodeForm.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads. Refers to the table.
class Normalizer {
public:
  /// Checks the table's normalizer. Without one, texts stay as they are.
  static Result<Normalizer> load(const manifest::Tokenizer &table);

  bool empty() const { return steps.empty(); }
  /// Returns whether a text may be cut after a space and its parts normalised separately.
  bool worksByWords() const;
  /// Appends the normal form of `text`, which is UTF-8.
  void append(std::string_view text, std::string &out) const;

private:
  struct Lowercase {};
  struct StripAccents {};
  struct Nmt {};
  struct Strip {
    bool left;
    bool right;
  };
  struct Replace {
    std::string_view pattern;
    std::string_view content;
    size_t least;
  };
  struct Prepend {
    std::string_view content;
  };
  using Step = std::variant<BertNormalizer, UnicodeForm, Lowercase, StripAccents, Nmt, Strip,
                            Replace, Prepend, CharsMap>;

  static Result<Step> loadStep(manifest::Normalizer kind, const void *table);
  static void apply(const Lowercase &step, std::string_view text, std::string &out);
  static void apply(const StripAccents &step, std::string_view text, std::string &out);
  static void apply(const Nmt &step, std::string_view text, std::string &out);
  static void apply(const Strip &step, std::string_view text, std::string &out);
  static void apply(const Replace &step, std::string_view text, std::string &out);
  static void apply(const Prepend &step, std::string_view text, std::string &out);
  template <typename Other>
  static void apply(const Other &step, std::string_view text, std::string &out) {
    step.append(text, out);
  }

  std::vector<Step> steps;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_NORMALIZER_H
