// SPDX-License-Identifier: Apache-2.0
///
/// Splits texts into words and characters, and counts their n-grams.
#include "runtime/Tools/Compare/TextScores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace heddle::tools {

// --- Pieces of texts ---------------------------------------------------------------------------

/// Returns whether a character is Unicode white space or an ASCII separator.
static bool isSpace(char32_t point) {
  return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 ||
         point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200A) ||
         point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
         point == 0x3000;
}

/// Returns the character at the beginning of a non-empty text, and its size; a byte that is not
/// part of a valid character counts as its own.
static std::pair<char32_t, size_t> firstCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t point = length == 1   ? lead
                   : length == 2 ? lead & 0x1FU
                   : length == 3 ? lead & 0x0FU
                                 : lead & 0x07U;
  bool isWhole = length > 0 && lead < 0xF5 && length <= text.size();
  for (size_t i = 1; isWhole && i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    isWhole = (next & 0xC0U) == 0x80;
    point = point << 6 | (next & 0x3FU);
  }
  // Above all Unicode code points.
  return isWhole ? std::pair(point, length) : std::pair(char32_t(0x110000U + lead), size_t(1));
}

/// Returns the characters of a text without its white space.
static std::u32string charactersOf(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const auto [point, length] = firstCharacter(text);
    if (!isSpace(point)) {
      points.push_back(point);
    }
    text.remove_prefix(length);
  }
  return points;
}

/// Inserts spaces between and, if requested, before or after two adjacent characters of which the
/// first is in `first` and the second in `second`, from left to right without overlaps, as a
/// regular expression with two groups does.
template <typename First, typename Second>
static std::string separate(const std::string &text, const First &first, const Second &second,
                            bool before, bool after) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    result += before ? " " : "";
    result += text[i];
    result += ' ';
    result += text[++i];
    result += after ? " " : "";
  }
  return result;
}

static void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Splits at spaces of any kind.
static std::vector<std::string> splitAtSpaces(std::string_view text) {
  std::vector<std::string> pieces;
  std::string piece;
  while (!text.empty()) {
    const auto [point, length] = firstCharacter(text);
    if (!isSpace(point)) {
      piece += text.substr(0, length);
    } else if (!piece.empty()) {
      pieces.push_back(std::exchange(piece, ""));
    }
    text.remove_prefix(length);
  }
  if (!piece.empty()) {
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::string line(text);
  replaceAll(line, "<skipped>", "");
  replaceAll(line, "-\n", "");
  replaceAll(line, "\n", " ");
  if (line.find('&') != std::string::npos) {
    replaceAll(line, "&quot;", "\"");
    replaceAll(line, "&amp;", "&");
    replaceAll(line, "&lt;", "<");
    replaceAll(line, "&gt;", ">");
  }
  // All ASCII punctuation except ' , - and the point.
  std::string apart = " ";
  for (const char each : line) {
    const bool isAscii = each >= 0x20 && each < 0x7F;
    const bool isLetter = (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') ||
                          (each >= 'a' && each <= 'z');
    const bool isKept = each == '\'' || each == ',' || each == '-' || each == '.';
    if (isAscii && !isLetter && !isKept) {
      apart += ' ';
      apart += each;
      apart += ' ';
    } else {
      apart += each;
    }
  }
  apart += ' ';
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  const auto isOther = [&](char c) { return !isDigit(c); };
  const auto isPoint = [](char c) { return c == '.' || c == ','; };
  apart = separate(apart, isOther, isPoint, false, true);
  apart = separate(apart, isPoint, isOther, true, false);
  apart = separate(apart, isDigit, [](char c) { return c == '-'; }, false, true);
  return splitAtSpaces(apart);
}

// --- Counting ----------------------------------------------------------------------------------

template <typename Piece> using Ngrams = std::map<std::vector<Piece>, int64_t>;

template <typename Piece>
static Ngrams<Piece> ngramsOf(std::span<const Piece> pieces, size_t order) {
  Ngrams<Piece> counts;
  for (size_t i = 0; i + order <= pieces.size(); ++i) {
    ++counts[std::vector<Piece>(pieces.begin() + static_cast<std::ptrdiff_t>(i),
                                pieces.begin() + static_cast<std::ptrdiff_t>(i + order))];
  }
  return counts;
}

template <typename Piece>
static NgramCounts countNgrams(std::span<const Piece> hypothesis, std::span<const Piece> reference,
                               size_t order) {
  const auto total = [&](size_t pieces) {
    return pieces < order ? int64_t(0) : static_cast<int64_t>(pieces - order + 1);
  };
  NgramCounts counts{total(hypothesis.size()), total(reference.size()), 0};
  const Ngrams<Piece> expected = ngramsOf(reference, order);
  for (const auto &[ngram, count] : ngramsOf(hypothesis, order)) {
    const auto found = expected.find(ngram);
    counts.both += found == expected.end() ? 0 : std::min(count, found->second);
  }
  return counts;
}

static void accumulate(NgramCounts &sum, const NgramCounts &counts) {
  sum.hypothesis += counts.hypothesis;
  sum.reference += counts.reference;
  sum.both += counts.both;
}

void TextScores::add(std::string_view hypothesis, std::string_view reference) {
  const std::vector<std::string> itsWords = wordsOf(hypothesis);
  const std::vector<std::string> wordsWanted = wordsOf(reference);
  for (size_t order = 1; order <= words.size(); ++order) {
    accumulate(words[order - 1], countNgrams(std::span<const std::string>(itsWords),
                                             std::span<const std::string>(wordsWanted), order));
  }
  const std::u32string its = charactersOf(hypothesis);
  const std::u32string wanted = charactersOf(reference);
  for (size_t order = 1; order <= characters.size(); ++order) {
    NgramCounts counts =
        countNgrams(std::span<const char32_t>(its), std::span<const char32_t>(wanted), order);
    // A reference that is too short for an order does not count for it.
    counts.hypothesis = counts.reference == 0 ? 0 : counts.hypothesis;
    accumulate(characters[order - 1], counts);
  }
}

// --- Scores ------------------------------------------------------------------------------------

double TextScores::bleu() const {
  const bool none = std::all_of(words.begin(), words.end(),
                                [](const NgramCounts &counts) { return counts.both == 0; });
  if (none) {
    return 0;
  }
  double logarithms = 0;
  double halves = 1;
  for (const NgramCounts &counts : words) {
    if (counts.hypothesis == 0) {
      // The corpus has no n-gram of this order: its precision is zero, without smoothing.
      return 0;
    }
    halves *= counts.both == 0 ? 2 : 1;
    const double matches = counts.both == 0 ? 1 / halves : static_cast<double>(counts.both);
    logarithms += std::log(matches / static_cast<double>(counts.hypothesis));
  }
  const auto length = static_cast<double>(words[0].hypothesis);
  const auto wanted = static_cast<double>(words[0].reference);
  const double brevity = length < wanted ? std::exp(1 - wanted / length) : 1;
  return 100 * brevity * std::exp(logarithms / static_cast<double>(words.size()));
}

double TextScores::chrf() const {
  constexpr double factor = 4;
  double precision = 0;
  double recall = 0;
  int orders = 0;
  for (const NgramCounts &counts : characters) {
    if (counts.hypothesis > 0 && counts.reference > 0) {
      precision += static_cast<double>(counts.both) / static_cast<double>(counts.hypothesis);
      recall += static_cast<double>(counts.both) / static_cast<double>(counts.reference);
      ++orders;
    }
  }
  if (precision + recall == 0) {
    return 0;
  }
  precision /= orders;
  recall /= orders;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

} // namespace heddle::tools
