// SPDX-License-Identifier: Apache-2.0
///
/// Filters that read or make lists. Jinja computes the items of some results lazily. Here all are
/// computed at once, but such a result can also be read only once.
#include "formats/Template/Access.h"
#include "formats/Template/Callable.h"

#include "base/Utf8.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

static Result<std::vector<Value>> subjectsOf(const BoundCall &call) {
  return itemsOf(call.budget, call[0]);
}

/// Values that are false, such as none, have no items for filters that map or select.
static Result<std::vector<Value>> subjectsOrNone(const BoundCall &call) {
  return isTrue(call[0]) ? subjectsOf(call) : std::vector<Value>();
}

static Result<Value> length(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t count, lengthOfValue(call.budget, call[0]));
  return Value(count);
}

static Result<Value> toList(const BoundCall &call) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  return call.budget.list(std::move(items));
}

static Result<Value> first(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  return items.empty() ? Value::undefined("there is no first item") : items.front();
}

static Result<Value> last(const BoundCall &call) {
  if (call[0].is(Kind::Iterator)) {
    return call.unexpected(0, "what can be read from its end");
  }
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  return items.empty() ? Value::undefined("there is no last item") : items.back();
}

/// Returns the value at the path of an argument, or the value itself if it is absent.
static Result<Value> attributeAt(const BoundCall &call, const Value &item, size_t index) {
  return call.hasValue(index) ? pathOf(call.budget, item, call[index]) : Result<Value>(item);
}

/// Returns a text in lower case; other values unchanged.
static Result<Value> withoutCase(const BoundCall &call, const Value &value) {
  if (!value.is(Kind::String)) {
    return value;
  }
  HEDDLE_TRY(call.budget.charge(stepsOfValue));
  return call.budget.text(lowerCase(value.text()));
}

static Result<Value> join(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(const std::string separator,
                call.has(1) ? toString(call.budget, call[1]) : Result<std::string>(std::string()));
  TextWriter out(call.budget);
  for (size_t i = 0; i < items.size(); ++i) {
    HEDDLE_ASSIGN(const Value item, attributeAt(call, items[i], 2));
    HEDDLE_TRY(out.add(i > 0 ? separator : ""));
    HEDDLE_TRY(writeString(out, item));
  }
  return Value(out.take());
}

// --- map and select --------------------------------------------------------------------------

static Result<Value> mapItems(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOrNone(call));
  const Callable *filter = nullptr;
  const Value *path = nullptr;
  const Value *absent = nullptr;
  if (!call.rest.empty()) {
    filter = call.rest[0].is(Kind::String) ? findFilter(call.rest[0].text()) : nullptr;
    if (filter == nullptr) {
      return HEDDLE_ERROR(InvalidArgument, "\"map\" with a filter that is not known");
    }
  }
  for (const auto &[name, value] : call.namedRest) {
    (name == "attribute" ? path : absent) = &value;
  }
  if (filter == nullptr && path == nullptr) {
    return HEDDLE_ERROR(InvalidArgument, "\"map\" without a filter or attribute");
  }
  std::vector<Value> results;
  for (const Value &item : items) {
    if (filter != nullptr) {
      HEDDLE_TRY(call.budget.charge(call.rest.size() + call.namedRest.size()));
      GivenArguments rest{{call.rest.begin() + 1, call.rest.end()}, call.namedRest};
      HEDDLE_ASSIGN(Value result, callFunction(call.budget, *filter, &item, std::move(rest)));
      results.push_back(std::move(result));
      continue;
    }
    HEDDLE_ASSIGN(Value result, pathOf(call.budget, item, *path));
    if (absent != nullptr && result.is(Kind::Undefined)) {
      result = *absent;
    }
    results.push_back(std::move(result));
  }
  return call.budget.iterator(std::move(results));
}

/// Returns the items for which a test, or their truth value, is `wanted`. With `byAttribute` it
/// applies to an attribute.
static Result<Value> chooseItems(const BoundCall &call, bool byAttribute, bool wanted) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOrNone(call));
  const size_t before = byAttribute ? 1 : 0;
  const Callable *test = nullptr;
  if (call.rest.size() > before) {
    const Value &name = call.rest[before];
    test = name.is(Kind::String) ? findTest(name.text()) : nullptr;
    if (test == nullptr) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} with a test that is not known",
                                                       quote(call.callable.name)));
    }
  }
  if (call.rest.size() < before) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} without an attribute", quote(call.callable.name)));
  }
  std::vector<Value> chosen;
  for (const Value &item : items) {
    HEDDLE_ASSIGN(const Value subject,
                  byAttribute ? pathOf(call.budget, item, call.rest[0]) : Result<Value>(item));
    bool holds = isTrue(subject);
    if (test != nullptr) {
      const auto from = call.rest.begin() + static_cast<std::ptrdiff_t>(before) + 1;
      HEDDLE_TRY(call.budget.charge(call.rest.size() + call.namedRest.size()));
      GivenArguments rest{{from, call.rest.end()}, call.namedRest};
      HEDDLE_ASSIGN(const Value answer,
                    callFunction(call.budget, *test, &subject, std::move(rest)));
      holds = isTrue(answer);
    }
    if (holds == wanted) {
      chosen.push_back(item);
    }
  }
  return call.budget.iterator(std::move(chosen));
}

static Result<Value> select(const BoundCall &call) { return chooseItems(call, false, true); }
static Result<Value> reject(const BoundCall &call) { return chooseItems(call, false, false); }
static Result<Value> selectAttribute(const BoundCall &call) {
  return chooseItems(call, true, true);
}
static Result<Value> rejectAttribute(const BoundCall &call) {
  return chooseItems(call, true, false);
}

// --- order -----------------------------------------------------------------------------------

namespace {
struct Keyed {
  Value key;
  Value item;
};
} // namespace

/// Returns items with the keys that they are compared by: themselves, or the attribute that an
/// argument names.
static Result<std::vector<Keyed>> keyedItems(const BoundCall &call, std::vector<Value> items,
                                             size_t path, bool withCase) {
  std::vector<Keyed> keyed;
  for (Value &item : items) {
    HEDDLE_ASSIGN(const Value found, attributeAt(call, item, path));
    HEDDLE_ASSIGN(Value key, withCase ? Result<Value>(found) : withoutCase(call, found));
    keyed.push_back({std::move(key), std::move(item)});
  }
  return keyed;
}

/// As keyedItems(), for sort, whose argument may name several attributes: the keys are always
/// lists, in which missing attributes are equal.
static Result<std::vector<Keyed>> sortKeyedItems(const BoundCall &call, std::vector<Value> items) {
  std::vector<Value> paths;
  if (call.hasValue(3) && call[3].is(Kind::String)) {
    HEDDLE_TRY(call.budget.charge(stepsOfValue * call[3].text().size()));
    for (const std::string_view each : splitAt(call[3].text(), ",", SIZE_MAX, false)) {
      paths.emplace_back(std::string(each));
    }
  } else if (call.hasValue(3)) {
    paths.push_back(call[3]);
  }
  std::vector<Keyed> keyed;
  for (Value &item : items) {
    std::vector<Value> keys = {item};
    for (size_t i = 0; i < paths.size(); ++i) {
      keys.resize(paths.size());
      HEDDLE_ASSIGN(keys[i], pathOf(call.budget, item, paths[i]));
    }
    for (Value &key : keys) {
      HEDDLE_ASSIGN(key, call.truthOr(2, false) ? Result<Value>(key) : withoutCase(call, key));
    }
    HEDDLE_ASSIGN(Value key, call.budget.list(std::move(keys)));
    keyed.push_back({std::move(key), std::move(item)});
  }
  return keyed;
}

static Result<std::vector<Value>> sorted(const BoundCall &call, std::vector<Keyed> keyed,
                                         bool isReversed) {
  // Equal items keep their order in descending sorts as well.
  if (isReversed) {
    std::reverse(keyed.begin(), keyed.end());
  }
  HEDDLE_TRY(sortBy(call.budget, keyed, [](const Keyed &each) { return each.key; }));
  if (isReversed) {
    std::reverse(keyed.begin(), keyed.end());
  }
  std::vector<Value> items;
  for (Keyed &each : keyed) {
    items.push_back(std::move(each.item));
  }
  return items;
}

static Result<Value> sort(const BoundCall &call) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(std::vector<Keyed> keyed, sortKeyedItems(call, std::move(items)));
  HEDDLE_ASSIGN(std::vector<Value> ordered, sorted(call, std::move(keyed), call.truthOr(1, false)));
  return call.budget.list(std::move(ordered));
}

static Result<Value> dictSort(const BoundCall &call) {
  if (!call[0].is(Kind::Dict)) {
    return call.unexpected(0, "a dict");
  }
  HEDDLE_ASSIGN(const std::string_view by, call.textOr(2, "key"));
  if (by != "key" && by != "value") {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("\"dictsort\" by {}, expected \"key\" or "
                                                     "\"value\"",
                                                     quote(by)));
  }
  std::vector<Keyed> keyed;
  for (const auto &[key, value] : call[0].dict().entries) {
    const Value &chosen = by == "key" ? key : value;
    HEDDLE_ASSIGN(Value pair, call.budget.tuple({key, value}));
    HEDDLE_ASSIGN(Value sortKey,
                  call.truthOr(1, false) ? Result<Value>(chosen) : withoutCase(call, chosen));
    keyed.push_back({std::move(sortKey), std::move(pair)});
  }
  HEDDLE_ASSIGN(std::vector<Value> ordered, sorted(call, std::move(keyed), call.truthOr(3, false)));
  return call.budget.list(std::move(ordered));
}

static Result<Value> extreme(const BoundCall &call, bool largest) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(const std::vector<Keyed> keyed,
                keyedItems(call, std::move(items), 2, call.truthOr(1, false)));
  const Keyed *best = nullptr;
  for (const Keyed &each : keyed) {
    if (best != nullptr) {
      HEDDLE_ASSIGN(const bool better, largest ? isLess(call.budget, best->key, each.key)
                                               : isLess(call.budget, each.key, best->key));
      best = better ? &each : best;
    } else {
      best = &each;
    }
  }
  return best == nullptr ? Value::undefined("there is no item to choose from") : best->item;
}

static Result<Value> least(const BoundCall &call) { return extreme(call, false); }
static Result<Value> greatest(const BoundCall &call) { return extreme(call, true); }

static Result<Value> unique(const BoundCall &call) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(std::vector<Keyed> keyed,
                keyedItems(call, std::move(items), 2, call.truthOr(1, false)));
  DictObject seen;
  std::vector<Value> kept;
  for (Keyed &each : keyed) {
    HEDDLE_TRY(chargeKey(call.budget, each.key));
    if (!isHashable(each.key)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("\"unique\" of {}", describeKind(each.key)));
    }
    if (seen.find(each.key) == nullptr) {
      seen.set(each.key, Value());
      kept.push_back(std::move(each.item));
    }
  }
  HEDDLE_TRY(call.budget.charge(4 * keyed.size()));
  return call.budget.iterator(std::move(kept));
}

static Result<Value> reverse(const BoundCall &call) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  std::reverse(items.begin(), items.end());
  if (call[0].is(Kind::String)) {
    std::string text;
    for (const Value &item : items) {
      text += item.text();
    }
    return Value(std::move(text));
  }
  return call[0].is(Kind::Iterator) ? call.budget.list(std::move(items))
                                    : call.budget.iterator(std::move(items));
}

// --- groups and sums -------------------------------------------------------------------------

static Result<Value> groupBy(const BoundCall &call) {
  HEDDLE_ASSIGN(std::vector<Value> items, subjectsOf(call));
  const bool withCase = call.truthOr(3, false);
  std::vector<Keyed> keyed;
  for (Value &item : items) {
    HEDDLE_ASSIGN(Value key, pathOf(call.budget, item, call[1]));
    key = key.is(Kind::Undefined) && call.hasValue(2) ? call[2] : key;
    HEDDLE_ASSIGN(Value pair, call.budget.tuple({key, item}));
    HEDDLE_ASSIGN(key, withCase ? Result<Value>(key) : withoutCase(call, key));
    keyed.push_back({std::move(key), std::move(pair)});
  }
  HEDDLE_TRY(sortBy(call.budget, keyed, [](const Keyed &each) { return each.key; }));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    size_t end = begin;
    for (bool same = true; same;) {
      members.push_back(keyed[end].item.items()[1]);
      ++end;
      HEDDLE_ASSIGN(same, end < keyed.size()
                              ? areEqual(call.budget, keyed[end].key, keyed[begin].key)
                              : Result<bool>(false));
    }
    HEDDLE_ASSIGN(Value list, call.budget.list(std::move(members)));
    HEDDLE_ASSIGN(Value group, call.budget.tuple({keyed[begin].item.items()[0], std::move(list)}));
    groups.push_back(std::move(group));
    begin = end;
  }
  return call.budget.list(std::move(groups));
}

static Result<Value> sum(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  Value total = call.has(2) ? call[2] : Value(int64_t(0));
  if (total.is(Kind::String)) {
    return call.unexpected(2, "numbers or lists, which join has strings for");
  }
  for (const Value &each : items) {
    HEDDLE_ASSIGN(const Value item, attributeAt(call, each, 1));
    HEDDLE_ASSIGN(total, calculate(call.budget, Operator::Add, total, item));
  }
  return total;
}

static Result<Value> batch(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(const int64_t size, call.integer(1));
  if (size < 1) {
    return call.unexpected(1, "a size of 1 at least");
  }
  std::vector<Value> rows;
  for (size_t at = 0; at < items.size();) {
    const size_t end = at + std::min(static_cast<size_t>(size), items.size() - at);
    std::vector<Value> row(items.begin() + static_cast<std::ptrdiff_t>(at),
                           items.begin() + static_cast<std::ptrdiff_t>(end));
    if (call.hasValue(2)) {
      HEDDLE_TRY(call.budget.charge(static_cast<uint64_t>(size)));
      row.resize(static_cast<size_t>(size), call[2]);
    }
    HEDDLE_ASSIGN(Value list, call.budget.list(std::move(row)));
    rows.push_back(std::move(list));
    at = end;
  }
  return call.budget.iterator(std::move(rows));
}

static Result<Value> sliceInto(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::vector<Value> items, subjectsOf(call));
  HEDDLE_ASSIGN(const int64_t slices, call.integer(1));
  if (slices < 1) {
    return call.unexpected(1, "1 slice at least");
  }
  HEDDLE_TRY(call.budget.charge(static_cast<uint64_t>(slices)));
  const size_t count = static_cast<size_t>(slices);
  const size_t each = items.size() / count;
  const size_t longer = items.size() % count;
  std::vector<Value> rows;
  auto at = items.begin();
  for (size_t i = 0; i < count; ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(each + (i < longer ? 1 : 0));
    std::vector<Value> row(at, end);
    if (call.hasValue(2) && i >= longer) {
      row.push_back(call[2]);
    }
    HEDDLE_ASSIGN(Value list, call.budget.list(std::move(row)));
    rows.push_back(std::move(list));
    at = end;
  }
  return call.budget.iterator(std::move(rows));
}

/// Returns an attribute only, ignoring the items of a dict.
static Result<Value> attribute(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view name, call.text(1));
  const bool isItem = call[0].is(Kind::Dict) && findMethod(Kind::Dict, name) == nullptr;
  return isItem ? Value::undefined(fmt::format("a dict has no attribute {}", quote(name, 60)))
                : attributeOf(call.budget, call[0], name);
}

static Result<Value> items(const BoundCall &call) {
  if (call[0].is(Kind::Undefined)) {
    return call.budget.iterator({});
  }
  if (!call[0].is(Kind::Dict)) {
    return call.unexpected(0, "a dict");
  }
  std::vector<Value> pairs;
  HEDDLE_TRY(call.budget.charge(stepsOfValue * call[0].dict().entries.size()));
  for (const auto &[key, value] : call[0].dict().entries) {
    HEDDLE_ASSIGN(Value pair, call.budget.tuple({key, value}));
    pairs.push_back(std::move(pair));
  }
  return call.budget.iterator(std::move(pairs));
}

std::span<const Callable> listFilters() {
  static const Callable table[] = {
      {"attr", {"obj", "name"}, 2, attribute},
      {"batch", {"value", "linecount", "fill_with"}, 2, batch},
      {"count", {"-value"}, 1, length},
      {"dictsort", {"value", "case_sensitive", "by", "reverse"}, 1, dictSort},
      {"first", {"seq"}, 1, first},
      {"groupby", {"value", "attribute", "default", "case_sensitive"}, 2, groupBy},
      {"items", {"value"}, 1, items},
      {"join", {"value", "d", "attribute"}, 1, join},
      {"last", {"seq"}, 1, last},
      {"length", {"-value"}, 1, length},
      {"list", {"value"}, 1, toList},
      {"map", {"-value"}, 1, mapItems, true, true},
      {"max", {"value", "case_sensitive", "attribute"}, 1, greatest},
      {"min", {"value", "case_sensitive", "attribute"}, 1, least},
      {"reject", {"-value"}, 1, reject, true, true},
      {"rejectattr", {"-value"}, 1, rejectAttribute, true, true},
      {"reverse", {"value"}, 1, reverse},
      {"select", {"-value"}, 1, select, true, true},
      {"selectattr", {"-value"}, 1, selectAttribute, true, true},
      {"slice", {"value", "slices", "fill_with"}, 2, sliceInto},
      {"sort", {"value", "reverse", "case_sensitive", "attribute"}, 1, sort},
      {"sum", {"iterable", "attribute", "start"}, 1, sum},
      {"unique", {"value", "case_sensitive", "attribute"}, 1, unique},
  };
  return table;
}

} // namespace heddle::chat
