// SPDX-License-Identifier: Apache-2.0
///
/// BERT's text normalisation, in this order: clean, put spaces around ideographs, strip accents,
/// convert to lower case. Each step is optional. ASCII is handled by a single table.
#ifndef HEDDLE_RUNTIME_TOKENIZER_BERTNORMALIZER_H
#define HEDDLE_RUNTIME_TOKENIZER_BERTNORMALIZER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class BertNormalizer {
public:
  struct Options {
    bool cleanText = false;
    bool handleChineseChars = false;
    bool stripAccents = false;
    bool lowercase = false;
  };

  explicit BertNormalizer(Options options);

  /// Appends the normal form of `text`, which is UTF-8, to `out`.
  void append(std::string_view text, std::string &out) const;

private:
  /// A mark that is held until the marks of its letter are sorted by combining class, then
  /// position.
  struct Mark {
    int32_t codePoint;
    int32_t order;
    size_t position;
  };
  using Marks = std::vector<Mark>;

  size_t appendAscii(std::string_view text, std::string &out) const;
  void appendOther(int32_t codePoint, Marks &marks, std::string &out) const;
  void decompose(int32_t codePoint, Marks &marks, std::string &out) const;
  void lower(int32_t codePoint, std::string &out) const;
  void flush(Marks &marks, std::string &out) const;

  Options options;
  // The result for each ASCII byte; `removed` if there is none.
  static constexpr unsigned char removed = 0x80;
  std::array<unsigned char, 0x80> ascii{};
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_BERTNORMALIZER_H
