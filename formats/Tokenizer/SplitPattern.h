// SPDX-License-Identifier: Apache-2.0
///
/// The pattern of a pre-tokenizer, ready to search texts: with RE2, whose time is linear in the
/// text, and separate code for the single look-ahead that published patterns use. The compiler
/// loads it too, so that it can reject a pattern that is too large (PatternImport.cpp).
#ifndef HEDDLE_FORMATS_TOKENIZER_SPLITPATTERN_H
#define HEDDLE_FORMATS_TOKENIZER_SPLITPATTERN_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
} // namespace re2

namespace heddle {

/// manifest::SplitBranch.
struct SplitBranch {
  std::string expression;
  uint32_t least = 0;
};

/// Immutable, cheap to copy; may be used by several threads.
class SplitPattern {
public:
  struct Match {
    size_t begin;
    size_t end;
  };
  /// The maximum number of instructions that RE2 may compile a pattern to, which bounds the memory
  /// and the time for each byte of a text. Published patterns have 3,000 to 13,000.
  static constexpr int programLimit = 50'000;

  /// Compiles the branches. Messages do not begin with a place.
  static Result<SplitPattern> load(const std::vector<SplitBranch> &branches);

  /// Returns the leftmost non-empty match that begins at `from` or later; at one position, that of
  /// the first branch that matches. The text is UTF-8.
  std::optional<Match> find(std::string_view text, size_t from) const;

private:
  struct Branch {
    std::shared_ptr<const re2::RE2> expression;
    uint32_t least;
  };
  std::optional<size_t> matchAt(std::string_view text, size_t at) const;

  /// One expression for all branches, compiled on first use: published patterns match at every
  /// position, and loading a model must not wait for it.
  struct Union;

  std::vector<Branch> branches;
  std::shared_ptr<Union> any;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_SPLITPATTERN_H
