// SPDX-License-Identifier: Apache-2.0
///
/// Filters, tests, methods and global functions: one form for all, with the names of their
/// parameters, so that the parser can check calls and code finds its arguments in their places.
#ifndef HEDDLE_FORMATS_TEMPLATE_CALLABLE_H
#define HEDDLE_FORMATS_TEMPLATE_CALLABLE_H

#include "formats/Template/Budget.h"
#include "formats/Template/Value.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::chat {

struct Callable;

/// Arguments as they are given.
struct GivenArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A call whose arguments are in the places of the parameters.
struct BoundCall {
  Budget &budget;
  const Callable &callable;
  std::vector<std::optional<Value>> values;
  /// What has no parameter, where the function takes that.
  std::vector<Value> rest = {};
  std::vector<std::pair<std::string, Value>> namedRest = {};

  bool has(size_t index) const { return values[index].has_value(); }
  const Value &operator[](size_t index) const { return *values[index]; }
  /// Whether an argument is there and not none.
  bool hasValue(size_t index) const { return has(index) && !values[index]->is(Kind::None); }

  /// Arguments of a type, or a failure that names the parameter.
  Result<int64_t> integer(size_t index) const;
  Result<int64_t> integerOr(size_t index, int64_t absent) const;
  Result<std::string_view> text(size_t index) const;
  Result<std::string_view> textOr(size_t index, std::string_view absent) const;
  /// The truth of an argument of any type.
  bool truthOr(size_t index, bool absent) const;
  /// A failure of an argument: "FUNCTION expects EXPECTED, got a list".
  Status unexpected(size_t index, std::string_view expected) const;
};

using Function = Result<Value> (*)(const BoundCall &call);

struct Callable {
  std::string_view name;
  /// Names that begin with "-" cannot be used in calls. Empty ones end the list.
  std::array<std::string_view, 7> parameters;
  /// So many must be given.
  size_t required;
  /// Null: known to Python, but not supported, or not allowed in a template, as `refusal` says.
  Function function;
  bool takesRest = false;
  bool takesNamedRest = false;
  std::string_view refusal = {};

  size_t count() const;
};

/// Null if there is none of the name.
const Callable *findFilter(std::string_view name);
const Callable *findTest(std::string_view name);
const Callable *findGlobal(std::string_view name);
/// The method of a value, whose first parameter is the value.
const Callable *findMethod(Kind kind, std::string_view name);

/// Why a call of a name cannot be understood, whatever value has the method; empty: it can.
std::string describeUnknownMethod(std::string_view name);

/// Checks the number and names of arguments that a call is written with, the first `given` of them
/// being there already. Null names none.
Status checkArguments(const Callable &callable, size_t positional,
                      std::span<const std::string_view> named, bool isComplete);

/// Calls with arguments of which `first`, if not null, comes before the others.
Result<Value> callFunction(Budget &budget, const Callable &callable, const Value *first,
                           GivenArguments arguments);

/// The tables behind the functions above, one for each file.
std::span<const Callable> textFilters();
std::span<const Callable> listFilters();
std::span<const Callable> stringMethods();
std::span<const Callable> dictMethods();
std::span<const Callable> listMethods();

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_CALLABLE_H
