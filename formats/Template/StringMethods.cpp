// SPDX-License-Identifier: Apache-2.0
///
/// The methods of strings. All of Python's names are here, so that none of them is mistaken for the
/// key of a dict.
#include "formats/Template/Callable.h"

#include "formats/Template/Conversion.h"
#include "formats/Template/Formatting.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <fmt/format.h>
#include <utf8proc.h>

namespace heddle::chat {

/// Returns the string that the method is called on.
static const std::string &selfOf(const BoundCall &call) { return call[0].text(); }

/// Implements a method that converts a text.
template <auto change> static Result<Value> changed(const BoundCall &call) {
  HEDDLE_TRY(call.budget.chargeBytes(selfOf(call).size()));
  return call.budget.text(std::string(change(selfOf(call))));
}

/// Implements a method that tests every character, of which there must be at least one.
template <auto holds> static Result<Value> holdsForAll(const BoundCall &call) {
  const std::string &text = selfOf(call);
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  bool all = !text.empty();
  for (size_t at = 0; all && at < text.size(); at += characterAt(text, at).bytes) {
    all = holds(characterAt(text, at).codePoint);
  }
  return Value(all);
}

static bool isDecimalDigit(int32_t code) { return utf8proc_category(code) == UTF8PROC_CATEGORY_ND; }
static bool isAlphanumeric(int32_t code) { return isLetter(code) || isNumber(code); }

static Result<Value> isAscii(const BoundCall &call) {
  const std::string &text = selfOf(call);
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  return Value(std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; }));
}

/// Implements a method that tests the whole text.
template <auto holds> static Result<Value> holdsForText(const BoundCall &call) {
  HEDDLE_TRY(call.budget.chargeBytes(selfOf(call).size()));
  return Value(holds(selfOf(call)));
}

static std::string swapCase(std::string_view text) {
  std::string out;
  for (const std::string_view character : charactersOf(text)) {
    out += isUpperCase(character) ? lowerCase(character) : upperCase(character);
  }
  return out;
}

// --- ends ------------------------------------------------------------------------------------

template <bool fromBegin, bool fromEnd> static Result<Value> strip(const BoundCall &call) {
  std::optional<std::string_view> set;
  HEDDLE_TRY(call.budget.chargeBytes(selfOf(call).size()));
  if (call.hasValue(1)) {
    HEDDLE_ASSIGN(set, call.text(1));
    HEDDLE_TRY(chargeSet(call.budget, selfOf(call), *set));
  }
  std::string_view text = selfOf(call);
  text = fromBegin ? stripBegin(text, set) : text;
  text = fromEnd ? stripEnd(text, set) : text;
  return call.budget.text(std::string(text));
}

/// Returns the characters of [start, end) in arguments 2 and 3, as in slices; nullopt if start is
/// beyond the end.
static Result<std::optional<std::string_view>> partOf(const BoundCall &call, int64_t &first) {
  const std::string_view text = selfOf(call);
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  const auto length = static_cast<int64_t>(lengthOf(text));
  HEDDLE_ASSIGN(int64_t start, call.hasValue(2) ? call.integer(2) : Result<int64_t>(0));
  HEDDLE_ASSIGN(int64_t end, call.hasValue(3) ? call.integer(3) : Result<int64_t>(length));
  start = start < 0 ? std::max<int64_t>(start + length, 0) : start;
  end = end < 0 ? std::max<int64_t>(end + length, 0) : std::min(end, length);
  first = start;
  if (start > end) {
    return std::optional<std::string_view>();
  }
  const size_t begin = byteOf(text, static_cast<size_t>(start));
  return std::optional(
      text.substr(begin, byteOf(text.substr(begin), static_cast<size_t>(end - start))));
}

template <bool atEnd> static Result<Value> hasEnd(const BoundCall &call) {
  int64_t first = 0;
  HEDDLE_ASSIGN(const std::optional<std::string_view> part, partOf(call, first));
  std::vector<Value> ends = {call[1]};
  if (call[1].is(Kind::Tuple)) {
    ends = call[1].items();
  }
  for (const Value &end : ends) {
    if (!end.is(Kind::String)) {
      return call.unexpected(1, "a string or a tuple of strings");
    }
    HEDDLE_TRY(call.budget.chargeBytes(end.text().size()));
    if (part && (atEnd ? part->ends_with(end.text()) : part->starts_with(end.text()))) {
      return Value(true);
    }
  }
  return Value(false);
}

template <bool atEnd> static Result<Value> removeEnd(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view end, call.text(1));
  std::string_view text = selfOf(call);
  HEDDLE_TRY(call.budget.chargeBytes(end.size()));
  if (atEnd ? text.ends_with(end) : text.starts_with(end)) {
    text = atEnd ? text.substr(0, text.size() - end.size()) : text.substr(end.size());
  }
  return call.budget.text(std::string(text));
}

// --- search ----------------------------------------------------------------------------------

/// Charges a search from the end, which compares the whole text at every position in the worst
/// case.
static Status chargeBackwards(const BoundCall &call, std::string_view wanted) {
  return call.budget.charge((selfOf(call).size() / 16 + 1) * (wanted.size() / 64 + 1));
}

/// Implements find(), rfind(), index() and rindex(): returns the number of characters before the
/// match.
template <bool fromEnd, bool mustBe> static Result<Value> find(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view wanted, call.text(1));
  int64_t first = 0;
  HEDDLE_ASSIGN(const std::optional<std::string_view> part, partOf(call, first));
  HEDDLE_TRY(fromEnd ? chargeBackwards(call, wanted) : Status());
  const size_t found = !part     ? std::string::npos
                       : fromEnd ? part->rfind(wanted)
                                 : findText(*part, wanted);
  if (found != std::string::npos) {
    return Value(first + static_cast<int64_t>(lengthOf(part->substr(0, found))));
  }
  return mustBe ? Result<Value>(
                      HEDDLE_ERROR(InvalidArgument, "the substring of \"index\" is not there"))
                : Result<Value>(Value(int64_t(-1)));
}

static Result<Value> countText(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view wanted, call.text(1));
  int64_t first = 0;
  HEDDLE_ASSIGN(const std::optional<std::string_view> part, partOf(call, first));
  if (!part) {
    return Value(int64_t(0));
  }
  if (wanted.empty()) {
    return Value(static_cast<int64_t>(lengthOf(*part)) + 1);
  }
  int64_t count = 0;
  for (size_t at = findText(*part, wanted); at != std::string::npos;
       at = findText(*part, wanted, at + wanted.size())) {
    ++count;
  }
  return Value(count);
}

// --- pieces ----------------------------------------------------------------------------------

static Result<Value> listOf(const BoundCall &call, const std::vector<std::string_view> &pieces) {
  HEDDLE_TRY(call.budget.charge(stepsOfValue * pieces.size()));
  std::vector<Value> items;
  for (const std::string_view piece : pieces) {
    items.emplace_back(std::string(piece));
  }
  return call.budget.list(std::move(items));
}

template <bool fromEnd> static Result<Value> split(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t given, call.integerOr(2, -1));
  const size_t most = given < 0 ? SIZE_MAX : static_cast<size_t>(given);
  HEDDLE_TRY(call.budget.charge(selfOf(call).size() + 1));
  if (!call.hasValue(1)) {
    return listOf(call, splitAtSpace(selfOf(call), most, fromEnd));
  }
  HEDDLE_ASSIGN(const std::string_view separator, call.text(1));
  if (separator.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "\"split\" at an empty separator");
  }
  HEDDLE_TRY(fromEnd ? chargeBackwards(call, separator) : Status());
  return listOf(call, splitAt(selfOf(call), separator, most, fromEnd));
}

static Result<Value> splitIntoLines(const BoundCall &call) {
  HEDDLE_TRY(call.budget.charge(selfOf(call).size() + 1));
  return listOf(call, splitLines(selfOf(call), call.truthOr(1, false)));
}

template <bool fromEnd> static Result<Value> partition(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view separator, call.text(1));
  if (separator.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "\"partition\" at an empty separator");
  }
  const std::string &text = selfOf(call);
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  HEDDLE_TRY(fromEnd ? chargeBackwards(call, separator) : Status());
  const size_t found = fromEnd ? text.rfind(separator) : findText(text, separator);
  const Value &whole = call[0];
  const Value nothing{std::string()};
  if (found == std::string::npos) {
    return fromEnd ? call.budget.tuple({nothing, nothing, whole})
                   : call.budget.tuple({whole, nothing, nothing});
  }
  return call.budget.tuple({Value(text.substr(0, found)), Value(std::string(separator)),
                            Value(text.substr(found + separator.size()))});
}

static Result<Value> joinItems(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, itemsOf(call.budget, call[1]));
  TextWriter out(call.budget);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::String)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("\"join\" of {}, expected strings", describeKind(items[i])));
    }
    HEDDLE_TRY(out.add(i > 0 ? selfOf(call) : ""));
    HEDDLE_TRY(out.add(items[i].text()));
  }
  return Value(out.take());
}

static Result<Value> replace(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view from, call.text(1));
  HEDDLE_ASSIGN(const std::string_view to, call.text(2));
  HEDDLE_ASSIGN(const int64_t given, call.integerOr(3, -1));
  const std::string &text = selfOf(call);
  const size_t most = given < 0 ? SIZE_MAX : static_cast<size_t>(given);
  // An upper bound of the result's length.
  const size_t places = from.empty() ? text.size() + 1 : text.size() / from.size();
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  if (to.size() > from.size()) {
    int64_t count = static_cast<int64_t>(places);
    if (!from.empty()) {
      count = 0;
      for (size_t at = findText(text, from); at != std::string::npos;
           at = findText(text, from, at + from.size())) {
        ++count;
      }
    }
    HEDDLE_TRY(call.budget.chargeBytes(to.size(), std::min(static_cast<size_t>(count), most)));
  }
  return call.budget.text(replaceAll(text, from, to, most));
}

static Result<Value> format(const BoundCall &call) {
  return formatBraces(call.budget, selfOf(call), call.rest, call.namedRest);
}

/// Pads the text to a width: -1 left-aligned, 0 centred, 1 right-aligned.
template <int side> static Result<Value> pad(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t width, call.integer(1));
  HEDDLE_ASSIGN(const std::string_view fill, call.textOr(2, " "));
  if (lengthOf(fill) != 1) {
    return call.unexpected(2, "one character to fill with");
  }
  const auto length = static_cast<int64_t>(lengthOf(selfOf(call)));
  const int64_t missing = width > length ? width - length : 0;
  HEDDLE_TRY(call.budget.chargeBytes(fill.size(), static_cast<size_t>(missing)));
  // Python puts the odd space on the left if the width is odd.
  const int64_t before = side < 0 ? 0 : side > 0 ? missing : missing / 2 + (missing & width & 1);
  std::string left, right;
  for (int64_t i = 0; i < missing; ++i) {
    (i < before ? left : right) += fill;
  }
  return call.budget.text(left + selfOf(call) + right);
}

static Result<Value> zeroFill(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t width, call.integer(1));
  const std::string &text = selfOf(call);
  const auto length = static_cast<int64_t>(lengthOf(text));
  const int64_t missing = width > length ? width - length : 0;
  HEDDLE_TRY(call.budget.chargeBytes(static_cast<size_t>(missing)));
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return call.budget.text(text.substr(0, sign) + std::string(static_cast<size_t>(missing), '0') +
                          text.substr(sign));
}

std::span<const Callable> stringMethods() {
  static constexpr std::string_view no = "is a method of strings that is not supported";
  static const Callable table[] = {
      {"capitalize", {"-s"}, 1, changed<capitalized>},
      {"casefold", {"-s"}, 1, nullptr, false, false, no},
      {"center", {"-s", "-width", "-fill"}, 2, pad<0>},
      {"count", {"-s", "-sub", "-start", "-end"}, 2, countText},
      {"encode", {"-s"}, 1, nullptr, true, true, no},
      {"endswith", {"-s", "-suffix", "-start", "-end"}, 2, hasEnd<true>},
      {"expandtabs", {"-s"}, 1, nullptr, true, true, no},
      {"find", {"-s", "-sub", "-start", "-end"}, 2, find<false, false>},
      {"format", {"-s"}, 1, format, true, true},
      {"format_map", {"-s"}, 1, nullptr, true, true, no},
      {"index", {"-s", "-sub", "-start", "-end"}, 2, find<false, true>},
      {"isalnum", {"-s"}, 1, holdsForAll<isAlphanumeric>},
      {"isalpha", {"-s"}, 1, holdsForAll<isLetter>},
      {"isascii", {"-s"}, 1, isAscii},
      {"isdecimal", {"-s"}, 1, holdsForAll<isDecimalDigit>},
      {"isdigit", {"-s"}, 1, nullptr, true, true, no},
      {"isidentifier", {"-s"}, 1, nullptr, true, true, no},
      {"islower", {"-s"}, 1, holdsForText<isLowerCase>},
      {"isnumeric", {"-s"}, 1, nullptr, true, true, no},
      {"isprintable", {"-s"}, 1, nullptr, true, true, no},
      {"isspace", {"-s"}, 1, holdsForAll<isSpace>},
      {"istitle", {"-s"}, 1, nullptr, true, true, no},
      {"isupper", {"-s"}, 1, holdsForText<isUpperCase>},
      {"join", {"-s", "-iterable"}, 2, joinItems},
      {"ljust", {"-s", "-width", "-fill"}, 2, pad<-1>},
      {"lower", {"-s"}, 1, changed<lowerCase>},
      {"lstrip", {"-s", "-chars"}, 1, strip<true, false>},
      {"maketrans", {"-s"}, 1, nullptr, true, true, no},
      {"partition", {"-s", "-sep"}, 2, partition<false>},
      {"removeprefix", {"-s", "-prefix"}, 2, removeEnd<false>},
      {"removesuffix", {"-s", "-suffix"}, 2, removeEnd<true>},
      {"replace", {"-s", "-old", "-new", "-count"}, 3, replace},
      {"rfind", {"-s", "-sub", "-start", "-end"}, 2, find<true, false>},
      {"rindex", {"-s", "-sub", "-start", "-end"}, 2, find<true, true>},
      {"rjust", {"-s", "-width", "-fill"}, 2, pad<1>},
      {"rpartition", {"-s", "-sep"}, 2, partition<true>},
      {"rsplit", {"-s", "sep", "maxsplit"}, 1, split<true>},
      {"rstrip", {"-s", "-chars"}, 1, strip<false, true>},
      {"split", {"-s", "sep", "maxsplit"}, 1, split<false>},
      {"splitlines", {"-s", "keepends"}, 1, splitIntoLines},
      {"startswith", {"-s", "-prefix", "-start", "-end"}, 2, hasEnd<false>},
      {"strip", {"-s", "-chars"}, 1, strip<true, true>},
      {"swapcase", {"-s"}, 1, changed<swapCase>},
      {"title", {"-s"}, 1, changed<titleCase>},
      {"translate", {"-s"}, 1, nullptr, true, true, no},
      {"upper", {"-s"}, 1, changed<upperCase>},
      {"zfill", {"-s", "-width"}, 2, zeroFill},
  };
  return table;
}

} // namespace heddle::chat
