// SPDX-License-Identifier: Apache-2.0
///
/// Binds arguments to parameters, and finds functions by name.
#include "formats/Template/Callable.h"

#include "base/Utf8.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Operators.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::chat {

size_t Callable::count() const {
  const auto *const end =
      std::find_if(parameters.begin(), parameters.end(), [](auto name) { return name.empty(); });
  return static_cast<size_t>(end - parameters.begin());
}

/// Returns the index of the parameter that a call may name so; the count if there is none.
static size_t placeOf(const Callable &callable, std::string_view name) {
  const size_t count = callable.count();
  return static_cast<size_t>(
      std::find(callable.parameters.begin(), callable.parameters.begin() + count, name) -
      callable.parameters.begin());
}

static Status tooMany(const Callable &callable, size_t given) {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} takes {} arguments at most, got {}",
                                                   quote(callable.name), callable.count(), given));
}

Status checkArguments(const Callable &callable, size_t positional,
                      std::span<const std::string_view> named, bool isComplete) {
  const size_t count = callable.count();
  if (positional > count && !callable.takesRest) {
    return tooMany(callable, positional);
  }
  std::vector<bool> given(count);
  std::fill_n(given.begin(), std::min(positional, count), true);
  for (size_t i = 0; i < named.size(); ++i) {
    const size_t place = placeOf(callable, named[i]);
    if (place == count && !callable.takesNamedRest) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has no argument {}",
                                                       quote(callable.name), quote(named[i])));
    }
    const bool isRepeated =
        place < count ? given[place] : std::find(&named[0], &named[i], named[i]) != &named[i];
    if (isRepeated) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has the argument {} twice",
                                                       quote(callable.name), quote(named[i])));
    }
    if (place < count) {
      given[place] = true;
    }
  }
  for (size_t i = 0; isComplete && i < callable.required; ++i) {
    if (!given[i]) {
      const std::string_view name = callable.parameters[i];
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} without its argument {}", quote(callable.name),
                                      quote(name.substr(name.starts_with('-') ? 1 : 0))));
    }
  }
  return {};
}

Result<Value> callFunction(Budget &budget, const Callable &callable, const Value *first,
                           GivenArguments arguments) {
  // Each name is compared with the others.
  HEDDLE_TRY(budget.charge(1 + arguments.named.size() * arguments.named.size()));
  if (callable.function == nullptr) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} {}", quote(callable.name), callable.refusal));
  }
  if (first != nullptr) {
    arguments.positional.insert(arguments.positional.begin(), *first);
  }
  std::vector<std::string_view> names;
  for (const auto &[name, value] : arguments.named) {
    names.push_back(name);
  }
  HEDDLE_TRY(checkArguments(callable, arguments.positional.size(), names, true));
  const size_t count = callable.count();
  BoundCall call{budget, callable, std::vector<std::optional<Value>>(count)};
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < count) {
      call.values[i] = std::move(arguments.positional[i]);
    } else {
      call.rest.push_back(std::move(arguments.positional[i]));
    }
  }
  for (auto &[name, value] : arguments.named) {
    const size_t place = placeOf(callable, name);
    if (place < count) {
      call.values[place] = std::move(value);
    } else {
      call.namedRest.emplace_back(name, std::move(value));
    }
  }
  return callable.function(call);
}

Status BoundCall::unexpected(size_t index, std::string_view expected) const {
  if (values[index]->is(Kind::Undefined)) {
    return undefinedError(*values[index]);
  }
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} expects {}, got {}", quote(callable.name),
                                                   expected, describeKind(*values[index])));
}

Result<int64_t> BoundCall::integer(size_t index) const {
  return values[index]->isInteger() ? Result<int64_t>(values[index]->integer())
                                    : unexpected(index, "an integer");
}

Result<int64_t> BoundCall::integerOr(size_t index, int64_t absent) const {
  return has(index) ? integer(index) : Result<int64_t>(absent);
}

Result<std::string_view> BoundCall::text(size_t index) const {
  return values[index]->is(Kind::String)
             ? Result<std::string_view>(std::string_view(values[index]->text()))
             : unexpected(index, "a string");
}

Result<std::string_view> BoundCall::textOr(size_t index, std::string_view absent) const {
  return has(index) ? text(index) : Result<std::string_view>(absent);
}

bool BoundCall::truthOr(size_t index, bool absent) const {
  return has(index) ? isTrue(*values[index]) : absent;
}

// --- by name ---------------------------------------------------------------------------------

static const Callable *findIn(std::span<const Callable> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Callable &each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Callable *findFilter(std::string_view name) {
  const Callable *const found = findIn(textFilters(), name);
  return found != nullptr ? found : findIn(listFilters(), name);
}

const Callable *findMethod(Kind kind, std::string_view name) {
  switch (kind) {
  case Kind::String:
    return findIn(stringMethods(), name);
  case Kind::Dict:
    return findIn(dictMethods(), name);
  case Kind::List:
    return findIn(listMethods(), name);
  case Kind::Tuple: {
    // A tuple has the methods of a list that do not modify it, except copy().
    const Callable *const found = findIn(listMethods(), name);
    return found != nullptr && found->function != nullptr && name != "copy" ? found : nullptr;
  }
  default:
    return nullptr;
  }
}

std::string describeUnknownMethod(std::string_view name) {
  std::string_view refusal;
  bool isKnown = false;
  for (const Kind kind : {Kind::String, Kind::Dict, Kind::List}) {
    if (const Callable *const found = findMethod(kind, name)) {
      isKnown = true;
      // Methods that modify a value are accepted, and fail if they are called, as in Python.
      if (found->function != nullptr || found->refusal.starts_with("changes")) {
        return "";
      }
      refusal = found->refusal;
    }
  }
  return isKnown ? fmt::format("{} {}", quote(name), refusal) : "";
}

} // namespace heddle::chat
