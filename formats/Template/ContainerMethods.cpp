// SPDX-License-Identifier: Apache-2.0
///
/// The methods of dicts, lists and tuples, and global functions. Calls of methods that modify a
/// value fail, as in the sandbox of transformers.
#include "formats/Template/Access.h"
#include "formats/Template/Callable.h"

#include "base/Utf8.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Operators.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace heddle::chat {

// --- dicts and lists -------------------------------------------------------------------------

static Result<Value> get(const BoundCall &call) {
  HEDDLE_TRY(chargeKey(call.budget, call[1]));
  if (!isHashable(call[1])) {
    return call.unexpected(1, "a key that is no list or dict");
  }
  const Value *const found = call[0].dict().find(call[1]);
  return found != nullptr ? *found : call.has(2) ? call[2] : Value();
}

template <ViewObject::Of of> static Result<Value> view(const BoundCall &call) {
  return Value(Kind::View, std::make_shared<ViewObject>(call[0], of));
}

static Result<Value> copy(const BoundCall &call) { return call[0]; }

static Result<Value> countItems(const BoundCall &call) {
  int64_t count = 0;
  for (const Value &item : call[0].items()) {
    HEDDLE_ASSIGN(const bool same, areEqual(call.budget, item, call[1]));
    count += same ? 1 : 0;
  }
  return Value(count);
}

static Result<Value> indexOf(const BoundCall &call) {
  const std::vector<Value> &items = call[0].items();
  for (size_t i = 0; i < items.size(); ++i) {
    HEDDLE_ASSIGN(const bool same, areEqual(call.budget, items[i], call[1]));
    if (same) {
      return Value(static_cast<int64_t>(i));
    }
  }
  return HEDDLE_ERROR(InvalidArgument, "the item of \"index\" is not there");
}

static constexpr std::string_view changes = "changes a value, which templates may not";

static constexpr Callable changing(std::string_view name) {
  return {name, {"-self"}, 1, nullptr, true, true, changes};
}

std::span<const Callable> dictMethods() {
  static const Callable table[] = {
      changing("clear"),
      {"copy", {"-self"}, 1, copy},
      {"fromkeys", {"-self"}, 1, nullptr, true, true, "is a method of dicts that is not supported"},
      {"get", {"-self", "-key", "-default"}, 2, get},
      {"items", {"-self"}, 1, view<ViewObject::Of::Items>},
      {"keys", {"-self"}, 1, view<ViewObject::Of::Keys>},
      changing("pop"),
      changing("popitem"),
      changing("setdefault"),
      changing("update"),
      {"values", {"-self"}, 1, view<ViewObject::Of::Values>},
  };
  return table;
}

std::span<const Callable> listMethods() {
  static const Callable table[] = {
      changing("append"),
      changing("clear"),
      {"copy", {"-self"}, 1, copy},
      {"count", {"-self", "-value"}, 2, countItems},
      changing("extend"),
      {"index", {"-self", "-value"}, 2, indexOf},
      changing("insert"),
      changing("pop"),
      changing("remove"),
      changing("reverse"),
      changing("sort"),
  };
  return table;
}

// --- global functions ------------------------------------------------------------------------

/// The limit of Jinja's sandbox.
static constexpr int64_t rangeLimit = 100'000;

static Result<Value> range(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t only, call.integer(0));
  HEDDLE_ASSIGN(const int64_t stop, call.integerOr(1, only));
  HEDDLE_ASSIGN(const int64_t step, call.integerOr(2, 1));
  if (step == 0) {
    return HEDDLE_ERROR(InvalidArgument, "\"range\" with the step 0");
  }
  auto range = std::make_shared<RangeObject>(call.has(1) ? only : 0, stop, step);
  if (range->size() > rangeLimit) {
    return HEDDLE_ERROR(
        ResourceExhausted,
        fmt::format("\"range\" of {} numbers, expected {} at most", range->size(), rangeLimit));
  }
  return Value(Kind::Range, std::move(range));
}

/// Adds a dict, or pairs, and named arguments.
static Status fill(const BoundCall &call, DictObject &dict) {
  std::vector<Value> pairs;
  if (call.has(0) && call[0].is(Kind::Dict)) {
    HEDDLE_TRY(call.budget.charge(4 * call[0].dict().entries.size()));
    for (const auto &[key, value] : call[0].dict().entries) {
      dict.set(key, value);
    }
  } else if (call.has(0)) {
    HEDDLE_ASSIGN(pairs, itemsOf(call.budget, call[0]));
  }
  for (const Value &pair : pairs) {
    const bool isPair = pair.isSequence() && pair.items().size() == 2;
    HEDDLE_TRY(isPair ? chargeKey(call.budget, pair.items()[0]) : Status());
    if (!isPair || !isHashable(pair.items()[0])) {
      return call.unexpected(0, "a dict or pairs of a key and a value");
    }
    dict.set(pair.items()[0], pair.items()[1]);
  }
  for (const auto &[name, value] : call.namedRest) {
    dict.set(Value(name), value);
  }
  return {};
}

static Result<Value> makeDict(const BoundCall &call) {
  auto dict = std::make_shared<DictObject>();
  HEDDLE_TRY(fill(call, *dict));
  return call.budget.dict(std::move(dict));
}

static Result<Value> makeNamespace(const BoundCall &call) {
  auto made = std::make_unique<NamespaceObject>();
  HEDDLE_TRY(fill(call, made->values));
  return call.budget.keep(Kind::Namespace, std::move(made));
}

static Result<Value> raise(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, toString(call.budget, call[0]));
  return HEDDLE_ERROR(InvalidArgument, fmt::format("the template says: {}", text));
}

static Result<Value> formatTime(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view format, call.text(0));
  std::tm now{};
  if (call.budget.options.now) {
    now = *call.budget.options.now;
  } else {
    const std::time_t seconds = std::time(nullptr);
    (void)localtime_r(&seconds, &now);
  }
  if (format.empty()) {
    return Value(std::string());
  }
  // An empty result and one that is too long are indistinguishable, so a sentinel is appended.
  std::array<char, 1024> buffer{};
  const std::string marked = std::string(format) + ".";
  const size_t length = std::strftime(buffer.data(), buffer.size(), marked.c_str(), &now);
  if (length == 0 || format.find('\0') != std::string_view::npos) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("\"strftime_now\" of {}, expected a result of at "
                                    "most {} bytes",
                                    quote(format, 60), buffer.size() - 2));
  }
  return Value(std::string(buffer.data(), length - 1));
}

const Callable *findGlobal(std::string_view name) {
  static constexpr std::string_view no = "is a function of Jinja that is not supported";
  static const Callable table[] = {
      {"cycler", {}, 0, nullptr, true, true, no},
      {"dict", {"-mapping"}, 0, makeDict, false, true},
      {"joiner", {}, 0, nullptr, true, true, no},
      {"lipsum", {}, 0, nullptr, true, true, no},
      {"namespace", {"-mapping"}, 0, makeNamespace, false, true},
      {"raise_exception", {"message"}, 1, raise},
      {"range", {"-start", "-stop", "-step"}, 1, range},
      {"strftime_now", {"format"}, 1, formatTime},
  };
  const auto *const found = std::find_if(std::begin(table), std::end(table),
                                         [&](const Callable &each) { return each.name == name; });
  return found == std::end(table) ? nullptr : found;
}

} // namespace heddle::chat
