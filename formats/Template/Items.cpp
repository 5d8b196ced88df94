// SPDX-License-Identifier: Apache-2.0
///
/// The items of values, their number, indexing, and slices.
#include "formats/Template/Operators.h"

#include "formats/Template/Strings.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

Result<std::vector<Value>> itemsOf(Budget &budget, const Value &value) {
  std::vector<Value> items;
  switch (value.kind()) {
  case Kind::Undefined:
    break;
  case Kind::List:
  case Kind::Tuple:
    HEDDLE_TRY(budget.charge(value.items().size()));
    return value.items();
  case Kind::Iterator: {
    const auto &iterator = static_cast<const SequenceObject &>(*value.object());
    HEDDLE_TRY(budget.charge(value.items().size()));
    return std::exchange(iterator.taken, true) ? items : value.items();
  }
  case Kind::String:
    HEDDLE_TRY(budget.charge(stepsOfValue * value.text().size()));
    for (const std::string_view character : charactersOf(value.text())) {
      items.emplace_back(std::string(character));
    }
    break;
  case Kind::Dict:
    HEDDLE_TRY(budget.charge(value.dict().entries.size()));
    for (const auto &[key, item] : value.dict().entries) {
      items.push_back(key);
    }
    break;
  case Kind::View:
    HEDDLE_TRY(budget.charge(stepsOfValue * value.view().dict.dict().entries.size()));
    for (size_t i = 0; i < value.view().dict.dict().entries.size(); ++i) {
      items.push_back(value.view().at(i));
    }
    break;
  case Kind::Range: {
    const RangeObject &range = value.range();
    HEDDLE_TRY(budget.charge(static_cast<uint64_t>(range.size())));
    for (int64_t i = 0; i < range.size(); ++i) {
      items.emplace_back(range.at(i));
    }
    break;
  }
  default:
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} has no items to go through", describeKind(value)));
  }
  return items;
}

Result<int64_t> lengthOfValue(Budget &budget, const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return int64_t(0);
  case Kind::String:
    HEDDLE_TRY(budget.chargeBytes(value.text().size()));
    return static_cast<int64_t>(lengthOf(value.text()));
  case Kind::List:
  case Kind::Tuple:
    return static_cast<int64_t>(value.items().size());
  case Kind::Dict:
    return static_cast<int64_t>(value.dict().entries.size());
  case Kind::View:
    return static_cast<int64_t>(value.view().dict.dict().entries.size());
  case Kind::Range:
    return value.range().size();
  default:
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has no length", describeKind(value)));
  }
}

/// Returns the character at an index.
static std::string characterOf(std::string_view text, int64_t index) {
  const size_t begin = byteOf(text, static_cast<size_t>(index));
  return std::string(text.substr(begin, characterAt(text, begin).bytes));
}

Result<std::optional<Value>> findItem(Budget &budget, const Value &value, const Value &key) {
  if (value.is(Kind::Undefined)) {
    return undefinedError(value);
  }
  if (value.is(Kind::Dict)) {
    HEDDLE_TRY(chargeKey(budget, key));
    const Value *const found = isHashable(key) ? value.dict().find(key) : nullptr;
    return found == nullptr ? std::optional<Value>() : std::optional(*found);
  }
  const bool isIndexed = value.is(Kind::String) || value.isSequence() || value.is(Kind::Range);
  if (!isIndexed || !key.isInteger()) {
    return std::optional<Value>();
  }
  HEDDLE_ASSIGN(const int64_t length, lengthOfValue(budget, value));
  const int64_t index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length) {
    return std::optional<Value>();
  }
  if (value.is(Kind::String)) {
    return std::optional(Value(characterOf(value.text(), index)));
  }
  return std::optional(value.is(Kind::Range) ? Value(value.range().at(index))
                                             : value.items()[static_cast<size_t>(index)]);
}

namespace {
/// The indices of a slice: the number, the first one, and the step.
struct SliceRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};
} // namespace

static Result<SliceRange> sliceRange(int64_t length, const Value &start, const Value &stop,
                                     const Value &step) {
  for (const Value *each : {&start, &stop, &step}) {
    if (!each->is(Kind::None) && !each->isInteger()) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} in a slice, expected an integer or none",
                                                       describeKind(*each)));
    }
  }
  const int64_t stride = step.is(Kind::None) ? 1 : step.integer();
  if (stride == 0) {
    return HEDDLE_ERROR(InvalidArgument, "a slice with the step 0");
  }
  // Bounds are relative to the end and clamped; for a negative step, one before the first index is
  // -1.
  const int64_t low = stride < 0 ? -1 : 0;
  const int64_t high = stride < 0 ? length - 1 : length;
  const auto bound = [&](const Value &given, int64_t absent) {
    if (given.is(Kind::None)) {
      return absent;
    }
    const int64_t index = given.integer() < 0 ? given.integer() + length : given.integer();
    return std::clamp(index, low, high);
  };
  const int64_t first = bound(start, stride < 0 ? high : low);
  const int64_t last = bound(stop, stride < 0 ? low : high);
  return SliceRange{first, RangeObject(first, last, stride).size(), stride};
}

Result<Value> sliceOf(Budget &budget, const Value &value, const Value &start, const Value &stop,
                      const Value &step) {
  if (value.is(Kind::Undefined)) {
    return undefinedError(value);
  }
  if (!value.is(Kind::String) && !value.isSequence()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has no slices", describeKind(value)));
  }
  HEDDLE_ASSIGN(const int64_t length, lengthOfValue(budget, value));
  HEDDLE_ASSIGN(const SliceRange range, sliceRange(length, start, stop, step));
  if (value.is(Kind::String)) {
    const std::vector<std::string_view> characters = charactersOf(value.text());
    HEDDLE_TRY(budget.charge(characters.size() / 4));
    std::string text;
    for (int64_t i = 0; i < range.count; ++i) {
      text += characters[static_cast<size_t>(range.first + i * range.step)];
    }
    return budget.text(std::move(text));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < range.count; ++i) {
    items.push_back(value.items()[static_cast<size_t>(range.first + i * range.step)]);
  }
  return value.is(Kind::List) ? budget.list(std::move(items)) : budget.tuple(std::move(items));
}

} // namespace heddle::chat
