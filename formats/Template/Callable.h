// SPDX-License-Identifier: Apache-2.0
///
/// Filters, tests, methods and global functions. All have the same form, with the names of their
/// parameters, so that the parser can check calls and functions get their arguments by position.
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

/// The arguments of a call.
struct GivenArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A call whose arguments are bound to the parameters.
struct BoundCall {
  Budget &budget;
  const Callable &callable;
  std::vector<std::optional<Value>> values;
  /// Arguments without a parameter, if the function accepts them.
  std::vector<Value> rest = {};
  std::vector<std::pair<std::string, Value>> namedRest = {};

  bool has(size_t index) const { return values[index].has_value(); }
  const Value &operator[](size_t index) const { return *values[index]; }
  /// Returns whether an argument is given and not none.
  bool hasValue(size_t index) const { return has(index) && !values[index]->is(Kind::None); }

  /// Return arguments of a type, or a failure that names the parameter.
  Result<int64_t> integer(size_t index) const;
  Result<int64_t> integerOr(size_t index, int64_t absent) const;
  Result<std::string_view> text(size_t index) const;
  Result<std::string_view> textOr(size_t index, std::string_view absent) const;
  /// Returns the truth value of an argument of any type.
  bool truthOr(size_t index, bool absent) const;
  /// Returns the failure of an argument: "FUNCTION expects EXPECTED, got a list".
  Status unexpected(size_t index, std::string_view expected) const;
};

using Function = Result<Value> (*)(const BoundCall &call);

struct Callable {
  std::string_view name;
  /// Names that begin with "-" cannot be used in calls. Empty names end the list.
  std::array<std::string_view, 7> parameters;
  /// The number of required arguments.
  size_t required;
  /// Null if it is known to Python, but not supported, or not allowed in a template, as `refusal`
  /// says.
  Function function;
  bool takesRest = false;
  bool takesNamedRest = false;
  std::string_view refusal = {};

  size_t count() const;
};

/// Returns the filter of that name; null if there is none.
const Callable *findFilter(std::string_view name);
const Callable *findTest(std::string_view name);
const Callable *findGlobal(std::string_view name);
/// Returns the method of a value, whose first parameter is the value.
const Callable *findMethod(Kind kind, std::string_view name);

/// Returns why a call of a method is invalid for every value; empty if it is not.
std::string describeUnknownMethod(std::string_view name);

/// Checks the number and names of a call's arguments; the first `given` parameters are bound
/// already. A null name is not checked.
Status checkArguments(const Callable &callable, size_t positional,
                      std::span<const std::string_view> named, bool isComplete);

/// Calls a function. If `first` is not null, it precedes the other arguments.
Result<Value> callFunction(Budget &budget, const Callable &callable, const Value *first,
                           GivenArguments arguments);

/// The tables of the functions above, one for each file.
std::span<const Callable> textFilters();
std::span<const Callable> listFilters();
std::span<const Callable> stringMethods();
std::span<const Callable> dictMethods();
std::span<const Callable> listMethods();

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_CALLABLE_H
