// SPDX-License-Identifier: Apache-2.0
///
/// The objects of values, and conversion of JSON to values.
#include "formats/Template/Value.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::chat {

Value::Value(std::string text)
    : which(Kind::String), content(std::make_shared<StringObject>(std::move(text))) {}

Value Value::undefined(std::string message) {
  return {Kind::Undefined, std::make_shared<StringObject>(std::move(message))};
}

Value Value::list(std::vector<Value> items) {
  return {Kind::List, std::make_shared<SequenceObject>(std::move(items))};
}

Value Value::tuple(std::vector<Value> items) {
  return {Kind::Tuple, std::make_shared<SequenceObject>(std::move(items))};
}

Value Value::iterator(std::vector<Value> items) {
  return {Kind::Iterator, std::make_shared<SequenceObject>(std::move(items))};
}

const std::string &Value::text() const {
  return static_cast<const StringObject *>(content.get())->text;
}

const std::vector<Value> &Value::items() const {
  return static_cast<const SequenceObject *>(content.get())->items;
}

const DictObject &Value::dict() const { return *static_cast<const DictObject *>(content.get()); }

const RangeObject &Value::range() const { return *static_cast<const RangeObject *>(content.get()); }

const ViewObject &Value::view() const { return *static_cast<const ViewObject *>(content.get()); }

SequenceObject::SequenceObject(std::vector<Value> items) : items(std::move(items)) {
  for (const Value &item : this->items) {
    depth = std::max(depth, item.depth() + 1);
  }
}

int64_t RangeObject::size() const {
  if (step > 0 ? start >= stop : start <= stop) {
    return 0;
  }
  // Unsigned, because the distance of two integers may overflow a signed one.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return static_cast<int64_t>(std::min<uint64_t>((distance - 1) / stride + 1, INT64_MAX));
}

Value ViewObject::at(size_t index) const {
  const auto &[key, value] = dict.dict().entries[index];
  switch (of) {
  case Of::Keys:
    return key;
  case Of::Values:
    return value;
  case Of::Items:
    break;
  }
  return Value::tuple({key, value});
}

bool isHashable(const Value &value) {
  switch (value.kind()) {
  case Kind::List:
  case Kind::Dict:
  case Kind::View:
    return false;
  case Kind::Tuple:
    return std::ranges::all_of(value.items(), isHashable);
  default:
    return true;
  }
}

/// Returns the text of a key, which is the same for equal keys: 1, 1.0 and true are one key in
/// Python.
static std::string keyText(const Value &key) {
  switch (key.kind()) {
  case Kind::String:
    return "s" + key.text();
  case Kind::None:
    return "n";
  case Kind::Boolean:
  case Kind::Integer:
    return fmt::format("i{}", key.integer());
  case Kind::Real: {
    const double number = key.real();
    if (number >= -0x1p63 && number < 0x1p63 && number == std::floor(number)) {
      return fmt::format("i{}", static_cast<int64_t>(number));
    }
    return fmt::format("r{:a}", number);
  }
  case Kind::Tuple: {
    std::string text = "t";
    for (const Value &item : key.items()) {
      const std::string part = keyText(item);
      text += fmt::format("{}:{}", part.size(), part);
    }
    return text;
  }
  default:
    return fmt::format("o{}", static_cast<const void *>(key.object().get()));
  }
}

const Value *DictObject::find(const Value &key) const {
  const auto found = places.find(keyText(key));
  return found == places.end() ? nullptr : &entries[found->second].second;
}

const Value *DictObject::find(std::string_view key) const {
  const auto found = places.find("s" + std::string(key));
  return found == places.end() ? nullptr : &entries[found->second].second;
}

void DictObject::set(const Value &key, Value value) {
  depth = std::max({depth, key.depth() + 1, value.depth() + 1});
  const auto [place, isNew] = places.try_emplace(keyText(key), entries.size());
  if (isNew) {
    entries.emplace_back(key, std::move(value));
  } else {
    entries[place->second].second = std::move(value);
  }
}

Result<Value> valueOf(const nlohmann::ordered_json &json) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
  case Type::boolean:
    return Value(json.get<bool>());
  case Type::number_integer:
    return Value(json.get<int64_t>());
  case Type::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(INT64_MAX)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("number {} is beyond 64 bits", json.get<uint64_t>()));
    }
    return Value(json.get<int64_t>());
  case Type::number_float:
    return Value(json.get<double>());
  case Type::string:
    return Value(json.get_ref<const std::string &>());
  case Type::array: {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const auto &item : json) {
      HEDDLE_ASSIGN(Value value, valueOf(item));
      items.push_back(std::move(value));
    }
    return Value::list(std::move(items));
  }
  case Type::object: {
    auto dict = std::make_shared<DictObject>();
    for (const auto &[key, item] : json.items()) {
      HEDDLE_ASSIGN(Value value, valueOf(item));
      dict->set(Value(key), std::move(value));
    }
    return Value(Kind::Dict, std::move(dict));
  }
  default:
    return Value();
  }
}

std::string_view describeKind(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return "an undefined value";
  case Kind::None:
    return "none";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "an integer";
  case Kind::Real:
    return "a float";
  case Kind::String:
    return "a string";
  case Kind::List:
    return "a list";
  case Kind::Tuple:
    return "a tuple";
  case Kind::Dict:
    return "a dict";
  case Kind::Range:
    return "a range";
  case Kind::Iterator:
    return "an iterator";
  case Kind::View:
    return "a view of a dict";
  case Kind::Namespace:
    return "a namespace";
  case Kind::Loop:
    return "a loop";
  case Kind::Function:
    break;
  }
  return "a function";
}

} // namespace heddle::chat
