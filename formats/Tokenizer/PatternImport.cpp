// SPDX-License-Identifier: Apache-2.0
///
/// RE2 has the matches of a backtracking engine, but neither look-ahead nor possessive quantifiers.
/// A possessive quantifier is equivalent to a greedy one if backtracking into it never helps: if
/// everything after it may be empty, or begins with none of its characters. The only supported
/// look-ahead, a run that is not followed by a character outside the run, becomes a separate
/// branch.
#include "formats/Tokenizer/PatternImport.h"

#include "base/Utf8.h"
#include "formats/Tokenizer/Characters.h"
#include "formats/Tokenizer/PatternParser.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

namespace heddle {

using Kind = PatternNode::Kind;

namespace {

/// What may follow a part of a pattern.
struct Follow {
  /// The characters that it may begin with.
  CharacterSet first;
  /// Whether it matches anywhere, at least the empty text.
  bool isCertain;
};

/// Checks a tree and writes its branches.
class PatternTranslator {
public:
  explicit PatternTranslator(std::string_view pattern) : pattern(pattern) {}

  Status addAlternatives(PatternNode node);
  Result<std::vector<SplitBranch>> finish();

private:
  Status addAlternative(PatternNode node);
  Status check(PatternNode &node, const Follow &follow) const;
  Status checkRepeat(PatternNode &node, const Follow &follow) const;
  Status checkSequence(PatternNode &node, Follow follow) const;
  void flush();

  std::string_view pattern;
  std::vector<SplitBranch> branches;
  // Alternatives that become one branch.
  std::string joined;
};

} // namespace

/// Removes groups with one part.
static PatternNode unwrap(PatternNode node) {
  while ((node.kind == Kind::Sequence || node.kind == Kind::Choice) && node.parts.size() == 1) {
    node = PatternNode(std::move(node.parts[0]));
  }
  return node;
}

/// Returns whether a part may match the empty text.
static bool isNullable(const PatternNode &node) {
  switch (node.kind) {
  case Kind::Set:
    return false;
  case Kind::Sequence:
    return std::all_of(node.parts.begin(), node.parts.end(), isNullable);
  case Kind::Choice:
    return std::any_of(node.parts.begin(), node.parts.end(), isNullable);
  case Kind::Repeat:
    return node.least == 0 || isNullable(node.parts[0]);
  case Kind::LineEnd:
  case Kind::TextEnd:
  case Kind::NotBefore:
    break;
  }
  return true;
}

/// Returns what may come at the beginning of the node.
static Follow firstOf(const PatternNode &node, Follow follow) {
  switch (node.kind) {
  case Kind::Set:
    return {node.set, false};
  case Kind::Sequence:
    for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) {
      follow = firstOf(*part, std::move(follow));
    }
    return follow;
  case Kind::Choice: {
    Follow result{{}, false};
    for (const PatternNode &part : node.parts) {
      const Follow first = firstOf(part, follow);
      result.first.add(first.first);
      result.isCertain = result.isCertain || first.isCertain;
    }
    return result;
  }
  case Kind::Repeat: {
    Follow first = firstOf(node.parts[0], {{}, false});
    if (node.least == 0) {
      first.first.add(follow.first);
      first.isCertain = follow.isCertain;
    }
    return first;
  }
  case Kind::LineEnd:
    return {CharacterSet('\n', '\n'), false};
  case Kind::TextEnd:
  case Kind::NotBefore:
    break;
  }
  return {{}, false};
}

Status PatternTranslator::checkRepeat(PatternNode &node, const Follow &follow) const {
  if (isNullable(node.parts[0])) {
    return patternError(pattern, node.at, "a repeated part that may be empty");
  }
  if (!node.possessive) {
    Follow again = firstOf(node.parts[0], {{}, false});
    again.first.add(follow.first);
    again.isCertain = follow.isCertain && node.least <= 1;
    return check(node.parts[0], again);
  }
  const PatternNode part = unwrap(node.parts[0]);
  if (part.kind != Kind::Set || (!follow.isCertain && follow.first.overlaps(part.set))) {
    return patternError(pattern, node.at,
                        "a possessive quantifier which differs from a greedy one,");
  }
  return {};
}

Status PatternTranslator::checkSequence(PatternNode &node, Follow follow) const {
  for (size_t i = node.parts.size(); i-- > 0;) {
    PatternNode &part = node.parts[i];
    if (part.kind == Kind::LineEnd && i > 0 && node.parts[i - 1].possessive &&
        unwrap(node.parts[i - 1].parts[0]).set.contains('\n')) {
      // All line feeds belong to the run before it.
      part.kind = Kind::TextEnd;
    }
    HEDDLE_TRY(check(part, follow));
    follow = firstOf(part, std::move(follow));
  }
  return {};
}

Status PatternTranslator::check(PatternNode &node, const Follow &follow) const {
  switch (node.kind) {
  case Kind::Sequence:
    return checkSequence(node, follow);
  case Kind::Choice:
    for (PatternNode &part : node.parts) {
      HEDDLE_TRY(check(part, follow));
    }
    return {};
  case Kind::Repeat:
    return checkRepeat(node, follow);
  case Kind::NotBefore:
    return patternError(pattern, node.at,
                        "a look-ahead which is not of the kind \\s+(?!\\S) and an alternative of "
                        "its own,");
  case Kind::Set:
  case Kind::LineEnd:
  case Kind::TextEnd:
    break;
  }
  return {};
}

// --- Writing ---------------------------------------------------------------------------------

/// More than any published pattern needs, which contains a class of letters several times.
static constexpr size_t expressionLimit = size_t(1) << 20;

static void write(const PatternNode &node, std::string &out);

/// Writes a node as one part, to which a quantifier may be added.
static void writeGroup(const PatternNode &node, std::string &out) {
  const bool isAtom = node.kind == Kind::Set;
  out += isAtom ? "" : "(?:";
  write(node, out);
  out += isAtom ? "" : ")";
}

static void write(const PatternNode &node, std::string &out) {
  if (out.size() > expressionLimit) {
    return;
  }
  switch (node.kind) {
  case Kind::Set:
    out += node.set.expression();
    break;
  case Kind::Sequence:
    for (const PatternNode &part : node.parts) {
      part.kind == Kind::Choice ? writeGroup(part, out) : write(part, out);
    }
    break;
  case Kind::Choice:
    for (size_t i = 0; i < node.parts.size(); ++i) {
      out += i > 0 ? "|" : "";
      write(node.parts[i], out);
    }
    break;
  case Kind::Repeat:
    writeGroup(node.parts[0], out);
    fmt::format_to(std::back_inserter(out), "{{{},{}}}{}", node.least,
                   node.most == PatternNode::any ? "" : fmt::to_string(node.most),
                   node.lazy ? "?" : "");
    break;
  case Kind::LineEnd:
    out += "(?m:$)";
    break;
  case Kind::TextEnd:
    out += "\\z";
    break;
  case Kind::NotBefore:
    break;
  }
}

void PatternTranslator::flush() {
  if (!joined.empty()) {
    branches.push_back({std::move(joined), 0});
    joined.clear();
  }
}

/// Adds one alternative of the whole pattern.
Status PatternTranslator::addAlternative(PatternNode node) {
  const bool looksAhead = node.kind == Kind::Sequence && node.parts.size() == 2 &&
                          node.parts[1].kind == Kind::NotBefore &&
                          node.parts[0].kind == Kind::Repeat;
  if (looksAhead) {
    const PatternNode &run = node.parts[0];
    const PatternNode characters = unwrap(run.parts[0]);
    if (characters.kind == Kind::Set && run.least > 0 && run.most == PatternNode::any &&
        !run.lazy && characters.set.complement() == node.parts[1].set) {
      std::string expression;
      write(run, expression);
      if (run.possessive) {
        // Without backtracking, only the end may follow.
        joined += joined.empty() ? "" : "|";
        joined += expression + "\\z";
        return {};
      }
      flush();
      branches.push_back({std::move(expression), run.least});
      return {};
    }
  }
  HEDDLE_TRY(check(node, {{}, true}));
  if (isNullable(node)) {
    return patternError(pattern, node.at, "an alternative that matches the empty text");
  }
  joined += joined.empty() ? "" : "|";
  write(node, joined);
  return {};
}

Status PatternTranslator::addAlternatives(PatternNode node) {
  node = unwrap(std::move(node));
  if (node.kind != Kind::Choice) {
    return addAlternative(std::move(node));
  }
  for (PatternNode &part : node.parts) {
    HEDDLE_TRY(addAlternatives(std::move(part)));
  }
  return {};
}

Result<std::vector<SplitBranch>> PatternTranslator::finish() {
  flush();
  size_t bytes = 0;
  for (const SplitBranch &branch : branches) {
    bytes += branch.expression.size();
  }
  if (bytes > expressionLimit) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("the regular expression {} has too many large classes: they "
                                    "take more than {} bytes",
                                    quote(pattern), expressionLimit));
  }
  // Checks that the library accepts the pattern, as the runtime will.
  HEDDLE_TRY_WITH(SplitPattern::load(branches).status(),
                  fmt::format("the regular expression {}", quote(pattern)));
  return std::move(branches);
}

Result<std::vector<SplitBranch>> translatePattern(std::string_view pattern) {
  HEDDLE_ASSIGN(PatternNode node, parsePattern(pattern));
  PatternTranslator translator(pattern);
  HEDDLE_TRY(translator.addAlternatives(std::move(node)));
  return translator.finish();
}

std::vector<SplitBranch> literalPattern(std::string_view text) {
  std::string expression;
  while (!text.empty()) {
    const Character character = firstCharacter(text);
    expression += CharacterSet(character.codePoint, character.codePoint).expression();
    text.remove_prefix(character.bytes);
  }
  return {{std::move(expression), 0}};
}

std::vector<SplitBranch> characterPattern(const CharacterSet &set) {
  return {{set.expression(), 0}};
}

} // namespace heddle
