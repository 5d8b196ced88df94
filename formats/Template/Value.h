// SPDX-License-Identifier: Apache-2.0
///
/// Values of templates: Python's, as far as chat templates use them. All except namespaces, loops
/// and iterators are immutable, so values are shared instead of copied. The nesting depth of a
/// value is computed when it is made, so that code may walk it recursively.
#ifndef HEDDLE_FORMATS_TEMPLATE_VALUE_H
#define HEDDLE_FORMATS_TEMPLATE_VALUE_H

#include "heddle/Status.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::chat {

enum class Kind : uint8_t {
  Undefined,
  None,
  Boolean,
  Integer,
  Real,
  String,
  List,
  Tuple,
  Dict,
  Range,
  /// The result of filters such as map, which can be read once.
  Iterator,
  /// keys(), values() and items() of a dict.
  View,
  Namespace,
  Loop,
  /// A function, a macro, or the method of a value.
  Function,
};

/// The maximum nesting depth of lists and dicts.
inline constexpr uint32_t valueDepthLimit = 100;

/// The base class of shared values. Each kind has a class, below and in Renderer.h.
struct Object {
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
  /// 1 for values that contain no others.
  uint32_t depth = 1;
};

struct DictObject;
struct RangeObject;
struct SequenceObject;
struct ViewObject;

class Value {
public:
  /// None.
  Value() = default;
  Value(bool value) : which(Kind::Boolean), number{.integer = value ? 1 : 0} {}
  Value(int64_t value) : which(Kind::Integer), number{.integer = value} {}
  Value(double value) : which(Kind::Real), number{.real = value} {}
  Value(std::string text);
  Value(const char *) = delete;
  Value(Kind kind, std::shared_ptr<const Object> object)
      : which(kind), content(std::move(object)) {}

  /// `message` says what is undefined, as in: "x" is undefined.
  static Value undefined(std::string message);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value iterator(std::vector<Value> items);

  Kind kind() const { return which; }
  bool is(Kind kind) const { return which == kind; }
  /// Returns whether the value is an integer; Booleans count as integers, as in Python.
  bool isInteger() const { return which == Kind::Boolean || which == Kind::Integer; }
  bool isNumber() const { return isInteger() || which == Kind::Real; }
  /// Returns whether the value is a list or a tuple.
  bool isSequence() const { return which == Kind::List || which == Kind::Tuple; }

  /// Return the content of a value of the right kind: the integer of a Boolean or an integer, any
  /// number as a real, the text of a string, the items of a list, a tuple or an iterator.
  int64_t integer() const { return number.integer; }
  double real() const {
    return which == Kind::Real ? number.real : static_cast<double>(number.integer);
  }
  const std::string &text() const;
  const std::vector<Value> &items() const;
  const DictObject &dict() const;
  const RangeObject &range() const;
  const ViewObject &view() const;
  /// Returns the message of an undefined value.
  const std::string &absence() const { return text(); }

  const std::shared_ptr<const Object> &object() const { return content; }
  /// Returns the nesting depth; 0 for values that contain no others.
  uint32_t depth() const { return content ? content->depth : 0; }

private:
  Kind which = Kind::None;
  union {
    int64_t integer;
    double real;
  } number{.integer = 0};
  std::shared_ptr<const Object> content;
};

struct StringObject : Object {
  explicit StringObject(std::string text) : text(std::move(text)) {}
  std::string text;
};

struct SequenceObject : Object {
  explicit SequenceObject(std::vector<Value> items);
  std::vector<Value> items;
  /// Whether an iterator was read.
  mutable bool taken = false;
};

/// A dict, in the order in which keys were first set.
struct DictObject : Object {
  /// Returns the value of a key, which must satisfy isHashable(); null if there is none.
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  void set(const Value &key, Value value);

  std::vector<std::pair<Value, Value>> entries;

private:
  /// Indices by keys as text: equal keys of any kind have equal texts.
  std::unordered_map<std::string, size_t> places;
};

struct RangeObject : Object {
  RangeObject(int64_t start, int64_t stop, int64_t step) : start(start), stop(stop), step(step) {}
  int64_t size() const;
  int64_t at(int64_t index) const { return start + index * step; }
  int64_t start;
  int64_t stop;
  int64_t step;
};

struct ViewObject : Object {
  enum class Of : uint8_t { Keys, Values, Items };
  ViewObject(Value dict, Of of) : dict(std::move(dict)), of(of) { depth = this->dict.depth() + 2; }
  Value at(size_t index) const;
  Value dict;
  Of of;
};

/// Returns whether a value can be a key of a dict, which lists and dicts cannot. Tuples cannot
/// either, unlike in Python: no chat template needs them.
bool isHashable(const Value &value);

/// Converts JSON, whose depth its parser bounds. Integers beyond 64 bits are an error, unless the
/// parser has converted them to floats (LongIntegers, formats/Config/Json.h).
Result<Value> valueOf(const nlohmann::ordered_json &json);

/// Returns the name of a value's kind in messages: "a string", "none", "an undefined value".
std::string_view describeKind(const Value &value);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_VALUE_H
