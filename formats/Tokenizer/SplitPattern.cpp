// SPDX-License-Identifier: Apache-2.0
///
/// A match almost always begins where the previous one ended, so that position is tried first: an
/// anchored automaton reads little more than it matches.
#include "formats/Tokenizer/SplitPattern.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/Characters.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <re2/re2.h>

namespace heddle {

using re2::RE2;

static RE2::Options options() {
  // RE2 uses two thirds for the program and one third to cache the automaton.
  constexpr int64_t memoryLimit = int64_t(16) << 20;
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memoryLimit);
  return options;
}

struct SplitPattern::Union {
  std::once_flag once;
  std::string expression;
  std::unique_ptr<const RE2> compiled;

  /// The size is that of the branches together, which load() has checked.
  const RE2 &get() {
    std::call_once(once, [this] { compiled = std::make_unique<const RE2>(expression, options()); });
    return *compiled;
  }
};

Result<SplitPattern> SplitPattern::load(const std::vector<SplitBranch> &branches) {
  if (branches.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the pattern has no branches");
  }
  SplitPattern result;
  result.any = std::make_shared<Union>();
  int size = 0;
  for (const SplitBranch &branch : branches) {
    auto expression = std::make_shared<const RE2>(branch.expression, options());
    if (!expression->ok()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("RE2 refuses the pattern: {}", expression->error()));
    }
    size += std::min(expression->ProgramSize(), programLimit + 1);
    if (size > programLimit) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("the pattern becomes {} instructions, expected at most {}",
                                      size, programLimit));
    }
    result.branches.push_back({std::move(expression), branch.least});
    std::string &any = result.any->expression;
    any += fmt::format("{}(?:{})", any.empty() ? "" : "|", branch.expression);
  }
  return result;
}

/// Returns the end of the non-empty match that begins at a position; nullopt if there is none.
std::optional<size_t> SplitPattern::matchAt(std::string_view text, size_t at) const {
  for (const Branch &branch : branches) {
    re2::StringPiece found;
    if (!branch.expression->Match({text.data(), text.size()}, at, text.size(), RE2::ANCHOR_START,
                                  &found, 1) ||
        found.empty()) {
      continue;
    }
    const size_t end = at + found.size();
    if (branch.least == 0 || end == text.size()) {
      return end;
    }
    // A run that is followed by a character outside the run.
    size_t shorter = end;
    do {
      --shorter;
    } while (shorter > at && continuesCharacter(text[shorter]));
    size_t characters = 0;
    for (size_t i = at; i < shorter && characters < branch.least; ++i) {
      characters += (text[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    if (characters >= branch.least && shorter > at) {
      return shorter;
    }
  }
  return std::nullopt;
}

std::optional<SplitPattern::Match> SplitPattern::find(std::string_view text, size_t from) const {
  while (from < text.size()) {
    if (const std::optional<size_t> end = matchAt(text, from)) {
      return Match{from, *end};
    }
    // Nothing begins here; try the next position.
    from += firstCharacter(text.substr(from)).bytes;
    re2::StringPiece found;
    if (from >= text.size() || !any->get().Match({text.data(), text.size()}, from, text.size(),
                                                 RE2::UNANCHORED, &found, 1)) {
      return std::nullopt;
    }
    from = static_cast<size_t>(found.data() - text.data());
  }
  return std::nullopt;
}

} // namespace heddle
