// SPDX-License-Identifier: Apache-2.0
///
/// Reads the keywords of strings, numbers, arrays and objects, and constants.
#include "formats/JsonSchema/SchemaReader.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle {

using Json = SchemaReader::Json;

/// Schemas that stand for what a file leaves open or excludes.
static const Json anything = true;
static const Json nothing = false;

/// Returns the failure of a key with an unexpected value, or with one at the place `within`.
static Status wrong(const JsonValue &value, const char *key, const Json &json,
                    std::string_view expected, std::string_view within = "") {
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("{}/{}{}: \"{}\" {} {}, expected {}",
                                  placeInSchema(value.pointer), key, within, key,
                                  within.empty() ? "is" : "has", describeJson(json), expected));
}

// --- constants ---------------------------------------------------------------------------------

std::string spellingOf(const std::string &text) {
  const std::string quoted = Json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

static bool isOfType(const Json &json, std::string_view type) {
  const bool isWhole =
      json.is_number_integer() ||
      (json.is_number_float() && std::trunc(json.get<double>()) == json.get<double>());
  return (type == "string" && json.is_string()) || (type == "number" && json.is_number()) ||
         (type == "integer" && isWhole) || (type == "boolean" && json.is_boolean()) ||
         (type == "null" && json.is_null()) || (type == "array" && json.is_array()) ||
         (type == "object" && json.is_object());
}

/// Adds a constant. Lists and objects become separate values, so that spaces are allowed as in
/// others.
Status SchemaReader::addConstant(JsonValue &value, const std::string &pointer,
                                 const Json &constant) {
  if (constant.is_structured()) {
    HEDDLE_ASSIGN(const JsonValueId id, constantAt(pointer, constant));
    value.choices.push_back(id);
  } else {
    value.constants.insert(constant.dump(), 0);
  }
  return {};
}

Status SchemaReader::readConstants(JsonValue &value, const Json &json) {
  const bool isList = json.contains("enum");
  const std::string pointer = value.pointer + (isList ? "/enum" : "/const");
  const Json list = isList ? json.at("enum") : Json::array({json.at("const")});
  if (!list.is_array()) {
    return wrong(value, "enum", list, "a list");
  }
  const Json *const type = json.contains("type") ? &json.at("type") : nullptr;
  if (type != nullptr) {
    JsonValue ignored{.pointer = value.pointer};
    HEDDLE_TRY(readTypes(ignored, *type));
  }
  const Json types = type == nullptr ? Json() : type->is_string() ? Json::array({*type}) : *type;
  // The reader keeps pointers into the document.
  const Json &given = isList ? json.at("enum") : json.at("const");
  for (size_t i = 0; i < list.size(); ++i) {
    const Json &constant = isList ? given[i] : given;
    const bool isMeant =
        types.is_null() || std::any_of(types.begin(), types.end(), [&](const Json &t) {
          return isOfType(constant, t.get_ref<const std::string &>());
        });
    if (isMeant) {
      HEDDLE_TRY(addConstant(value, isList ? fmt::format("{}/{}", pointer, i) : pointer, constant));
    }
  }
  if (!value.choices.empty() && !value.constants.empty()) {
    value.choices.push_back(static_cast<JsonValueId>(values.size()));
    values.push_back({.pointer = value.pointer, .constants = std::move(value.constants)});
    value.constants = {};
  }
  value.contradiction = list.empty() ? "\"enum\" is empty"
                        : !isList    ? "\"const\" is of another type"
                                     : "nothing in \"enum\" is of its type";
  return {};
}

/// Reads a constant as a schema that only the constant satisfies.
Status SchemaReader::readConstant(JsonValue &value, const Json &json) {
  if (!json.is_structured()) {
    value.constants.insert(json.dump(), 0);
    return {};
  }
  HEDDLE_ASSIGN(const JsonValueId no, valueFor("false", nothing, false));
  if (json.is_array()) {
    value.isArray = true;
    value.otherItems = no;
    value.minItems = value.maxItems = static_cast<uint32_t>(json.size());
  } else {
    value.isObject = true;
    value.otherMembers = no;
  }
  for (const auto &[key, content] : json.items()) {
    HEDDLE_ASSIGN(const JsonValueId id, constantAt(pointerBelow(value.pointer, key), content));
    if (json.is_array()) {
      value.firstItems.push_back(id);
    } else {
      value.members.push_back({spellingOf(key), id, true});
    }
  }
  std::sort(value.members.begin(), value.members.end(),
            [](const JsonMember &a, const JsonMember &b) { return a.spelling < b.spelling; });
  for (uint32_t i = 0; i < value.members.size(); ++i) {
    value.names.insert(value.members[i].spelling + '"', i);
  }
  return {};
}

// --- types -------------------------------------------------------------------------------------

Status SchemaReader::readTypes(JsonValue &value, const Json &json) const {
  const Json list = json.is_string() ? Json::array({json}) : json;
  constexpr std::string_view expected = "array, boolean, integer, null, number, object or string, "
                                        "or a list of these";
  if (!list.is_array()) {
    return wrong(value, "type", json, expected);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const Json &name = list[i];
    const std::string type = name.is_string() ? name.get<std::string>() : "";
    if (type == "string") {
      value.isString = true;
    } else if (type == "number") {
      value.number = NumberKind::Number;
    } else if (type == "integer") {
      value.number = std::max(value.number, NumberKind::Integer);
    } else if (type == "boolean") {
      value.constants.insert("true", 0);
      value.constants.insert("false", 0);
    } else if (type == "null") {
      value.constants.insert("null", 0);
    } else if (type == "array") {
      value.isArray = true;
    } else if (type == "object") {
      value.isObject = true;
    } else {
      // The index of a name in a list is part of the pointer.
      return wrong(value, "type", name, expected, json.is_array() ? fmt::format("/{}", i) : "");
    }
  }
  return {};
}

Status SchemaReader::readCount(const JsonValue &value, const Json &json, const char *key,
                               uint32_t &to) const {
  const auto found = json.find(key);
  if (found == json.end()) {
    return {};
  }
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const bool isCount = found->is_number_integer() && *found >= 0 && *found <= most;
  if (!isCount) {
    return wrong(value, key, *found, fmt::format("a whole number from 0 to {}", most));
  }
  to = found->get<uint32_t>();
  return {};
}

/// Returns the nearest integer that is at least, or at most, a number.
static int64_t wholeBound(const Json &json, bool isLeast, bool isExclusive) {
  constexpr auto limit = static_cast<double>(largestInteger);
  int64_t bound = 0;
  if (json.is_number_float()) {
    const double number = json.get<double>();
    const double whole = isLeast ? std::ceil(number) : std::floor(number);
    isExclusive = isExclusive && whole == number;
    bound = std::abs(whole) >= limit ? (whole < 0 ? -1 : 1) * (largestInteger + 1)
                                     : static_cast<int64_t>(whole);
  } else if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(largestInteger)) {
    bound = largestInteger + 1;
  } else {
    bound = std::clamp(json.get<int64_t>(), -largestInteger - 1, largestInteger + 1);
  }
  return bound + (isExclusive ? (isLeast ? 1 : -1) : 0);
}

Status SchemaReader::readBounds(JsonValue &value, const Json &json) const {
  for (const char *const key : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const auto found = json.find(key);
    if (found == json.end()) {
      continue;
    }
    if (!found->is_number()) {
      return wrong(value, key, *found, "a number");
    }
    if (value.number == NumberKind::Number) {
      return HEDDLE_ERROR(
          Unsupported, fmt::format("{}/{}: \"{}\" of numbers is not supported, expected \"type\" "
                                   "to be \"integer\"",
                                   placeInSchema(value.pointer), key, key));
    }
    const std::string_view name = key;
    const bool isLeast = name.ends_with("inimum");
    const int64_t bound = wholeBound(*found, isLeast, name.starts_with("exclusive"));
    value.isBounded = true;
    value.least = isLeast ? std::max(value.least, bound) : value.least;
    value.greatest = isLeast ? value.greatest : std::min(value.greatest, bound);
  }
  return {};
}

Status SchemaReader::readItems(JsonValue &value, const Json &json) {
  HEDDLE_TRY(readCount(value, json, "minItems", value.minItems));
  HEDDLE_TRY(readCount(value, json, "maxItems", value.maxItems));
  if (const auto unique = json.find("uniqueItems"); unique != json.end() && *unique != false) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}/uniqueItems: \"uniqueItems\" is {}, expected false",
                                    placeInSchema(value.pointer), describeJson(*unique)));
  }
  if (const auto first = json.find("prefixItems"); first != json.end()) {
    if (!first->is_array()) {
      return wrong(value, "prefixItems", *first, "a list of schemas");
    }
    for (size_t i = 0; i < first->size(); ++i) {
      HEDDLE_ASSIGN(const JsonValueId id,
                    schemaAt(fmt::format("{}/prefixItems/{}", value.pointer, i), (*first)[i]));
      value.firstItems.push_back(id);
    }
  }
  const auto items = json.find("items");
  if (items != json.end() && items->is_array()) {
    return wrong(value, "items", *items, "one schema: \"prefixItems\" has those of first items");
  }
  if (value.isArray) {
    HEDDLE_ASSIGN(value.otherItems, items == json.end()
                                        ? valueFor("true", anything, false)
                                        : schemaAt(value.pointer + "/items", *items));
  }
  return {};
}

/// Reads the types of a value, and the keywords of each.
Status SchemaReader::readMembers(JsonValue &value, const Json &json) {
  static const Json all = {"string", "number", "boolean", "null", "array", "object"};
  const auto type = json.find("type");
  HEDDLE_TRY(readTypes(value, type == json.end() ? all : *type));
  HEDDLE_TRY(readCount(value, json, "minLength", value.minLength));
  HEDDLE_TRY(readCount(value, json, "maxLength", value.maxLength));
  HEDDLE_TRY(readBounds(value, json));
  HEDDLE_TRY(readItems(value, json));
  HEDDLE_TRY(readProperties(value, json));
  findContradiction(value);
  return {};
}

Status SchemaReader::readProperties(JsonValue &value, const Json &json) {
  const auto properties = json.find("properties");
  const auto required = json.find("required");
  const auto others = json.find("additionalProperties");
  if (properties != json.end() && !properties->is_object()) {
    return wrong(value, "properties", *properties, "an object of schemas");
  }
  if (required != json.end() && !required->is_array()) {
    return wrong(value, "required", *required, "a list of strings");
  }
  for (size_t i = 0; required != json.end() && i < required->size(); ++i) {
    if (!(*required)[i].is_string()) {
      return wrong(value, "required", (*required)[i], "a list of strings", fmt::format("/{}", i));
    }
  }
  if (!value.isObject) {
    return {};
  }
  HEDDLE_ASSIGN(value.otherMembers,
                others == json.end() ? valueFor("true", anything, false)
                                     : schemaAt(value.pointer + "/additionalProperties", *others));
  std::map<std::string, JsonMember> members;
  if (properties != json.end()) {
    for (const auto &[name, schema] : properties->items()) {
      HEDDLE_ASSIGN(const JsonValueId id,
                    schemaAt(pointerBelow(value.pointer + "/properties", name), schema));
      members[spellingOf(name)].value = id;
    }
  }
  for (size_t i = 0; required != json.end() && i < required->size(); ++i) {
    const auto [member, isNew] =
        members.try_emplace(spellingOf((*required)[i].get_ref<const std::string &>()),
                            JsonMember{"", value.otherMembers});
    member->second.isRequired = true;
  }
  for (auto &[spelling, member] : members) {
    member.spelling = spelling;
    value.names.insert(spelling + '"', static_cast<uint32_t>(value.members.size()));
    value.members.push_back(std::move(member));
  }
  return {};
}

/// Finds the reason why no value of a type satisfies its keywords.
void SchemaReader::findContradiction(JsonValue &value) const {
  if (value.isString && value.minLength > value.maxLength) {
    value.contradiction = fmt::format("\"minLength\" is {}, above \"maxLength\", {}",
                                      value.minLength, value.maxLength);
  } else if (value.number != NumberKind::None && value.least > value.greatest) {
    value.contradiction =
        fmt::format("no integer of at most {} digits is within its bounds", mostDigits);
  } else if (value.isArray && value.minItems > value.maxItems) {
    value.contradiction =
        fmt::format("\"minItems\" is {}, above \"maxItems\", {}", value.minItems, value.maxItems);
  } else {
    value.contradiction = "\"type\" is empty";
  }
}

} // namespace heddle
