// SPDX-License-Identifier: Apache-2.0
///
/// Keywords, references and choices; SchemaValues.cpp reads the keywords of each type.
#include "formats/JsonSchema/SchemaReader.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace heddle {

// --- keywords ----------------------------------------------------------------------------------

/// Keywords that do not constrain values.
static constexpr auto annotations = std::to_array<std::string_view>(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
     "$comment", "$schema", "$id", "$defs", "definitions"});
/// Keywords for a constant or a choice of schemas.
static constexpr auto choiceKeys =
    std::to_array<std::string_view>({"$ref", "anyOf", "oneOf", "allOf"});
static constexpr auto constantKeys = std::to_array<std::string_view>({"enum", "const"});
/// Keywords that constrain the values of a type.
static constexpr auto typeKeys = std::to_array<std::string_view>(
    {"type", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
     "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "properties", "required",
     "additionalProperties"});

template <size_t count>
static bool isOneOf(const std::array<std::string_view, count> &list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

std::string pointerBelow(const std::string &pointer, std::string_view token) {
  std::string result = pointer + "/";
  for (const char character : token) {
    result += character == '~' ? "~0" : character == '/' ? "~1" : std::string(1, character);
  }
  return result;
}

static Status unsupported(const std::string &pointer, const std::string &key) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: {} is not supported",
                                  placeInSchema(pointerBelow(pointer, key)), quote(key)));
}

/// Rejects unknown keywords, and combinations that are not supported.
Status SchemaReader::checkKeywords(const JsonValue &value, const Json &json) const {
  std::string choice, constant;
  for (const auto &[key, content] : json.items()) {
    if (isOneOf(choiceKeys, key)) {
      choice = choice.empty() ? key : choice;
    } else if (isOneOf(constantKeys, key)) {
      constant = constant.empty() ? key : constant;
    } else if (!isOneOf(annotations, key) && !isOneOf(typeKeys, key)) {
      return unsupported(value.pointer, key);
    }
    if (key == "$id" && !value.pointer.empty()) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: an \"$id\" within a schema is not supported",
                                      placeInSchema(pointerBelow(value.pointer, key))));
    }
  }
  const std::string &first = choice.empty() ? constant : choice;
  for (const auto &[key, content] : json.items()) {
    const bool goesWith = isOneOf(annotations, key) || key == first || first.empty() ||
                          (choice.empty() && key == "type");
    if (!goesWith) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: {} beside {} is not supported",
                                      placeInSchema(value.pointer), quote(key), quote(first)));
    }
  }
  return {};
}

// --- references --------------------------------------------------------------------------------

/// Decodes the %XX sequences of a reference.
static std::string withoutPercents(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char *const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      result += static_cast<char>(code);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

static std::string withoutTildes(std::string_view token) {
  std::string result;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool isEscape = token[i] == '~' && i + 1 < token.size();
    if (isEscape && (token[i + 1] == '0' || token[i + 1] == '1')) {
      result += token[++i] == '0' ? '~' : '/';
    } else {
      result += token[i];
    }
  }
  return result;
}

/// Returns the target of one step of a pointer, or null. The members of an object are indexed once,
/// because a look-up takes linear time.
const SchemaReader::Json *SchemaReader::stepInto(const Json &json, const std::string &token) {
  if (json.is_object()) {
    const auto [index, isNew] = indexes.try_emplace(&json);
    for (auto member = json.begin(); isNew && member != json.end(); ++member) {
      index->second.emplace(member.key(), &*member);
    }
    const auto member = index->second.find(token);
    return member == index->second.end() ? nullptr : member->second;
  }
  size_t index = 0;
  const char *const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, index);
  const bool isIndex = error == std::errc() && stop == end;
  return json.is_array() && isIndex && index < json.size() ? &json[index] : nullptr;
}

Status SchemaReader::readReference(JsonValue &value, const Json &target) {
  const std::string place = placeInSchema(pointerBelow(value.pointer, "$ref"));
  if (!target.is_string()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: \"$ref\" is {}, expected a string", place,
                                                     describeJson(target)));
  }
  const std::string text = target.get<std::string>();
  const std::string pointer = withoutPercents(text);
  if (pointer != "#" && !pointer.starts_with("#/")) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"$ref\" is {}, expected \"#\" or \"#/\" and a pointer "
                                    "into this schema",
                                    place, quote(text)));
  }
  const Json *json = &document;
  std::string found;
  for (size_t begin = 2; begin <= pointer.size() && pointer.size() > 1;) {
    const size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string token = withoutTildes(pointer.substr(begin, end - begin));
    json = stepInto(*json, token);
    if (json == nullptr) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: \"$ref\" is {}, which is not there",
                                                       place, quote(text)));
    }
    found = pointerBelow(found, token);
    begin = end + 1;
  }
  HEDDLE_ASSIGN(const JsonValueId id, schemaAt(found, *json));
  value.choices = {id};
  return {};
}

// --- choices -----------------------------------------------------------------------------------

Status SchemaReader::readChoices(JsonValue &value, const std::string &key, const Json &list) {
  const std::string pointer = pointerBelow(value.pointer, key);
  if (!list.is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} is {}, expected a list of schemas",
                                    placeInSchema(pointer), quote(key), describeJson(list)));
  }
  if (key == "allOf" && list.size() != 1) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: \"allOf\" has {} schemas, expected one",
                                                 placeInSchema(pointer), list.size()));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    HEDDLE_ASSIGN(const JsonValueId id,
                  schemaAt(pointerBelow(pointer, std::to_string(i)), list[i]));
    value.choices.push_back(id);
  }
  if (list.empty()) {
    value.contradiction = fmt::format("{} is empty", quote(key));
  }
  return {};
}

// --- schemas -----------------------------------------------------------------------------------

/// Returns the number of the value at a place, which is read later.
Result<JsonValueId> SchemaReader::valueFor(const std::string &pointer, const Json &json,
                                           bool isConstant) {
  // A reference may read a constant as a schema too.
  const auto [number, isNew] =
      numbers.try_emplace((isConstant ? "=" : "") + pointer, static_cast<uint32_t>(values.size()));
  if (isNew && values.size() == mostSchemas) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: more than {} schemas and constants",
                                                 placeInSchema(pointer), mostSchemas));
  }
  if (isNew) {
    values.emplace_back().pointer = pointer;
    waiting.push_back({number->second, &json, isConstant});
  }
  return number->second;
}

Result<JsonValueId> SchemaReader::schemaAt(const std::string &pointer, const Json &json) {
  return valueFor(pointer, json, false);
}

Result<JsonValueId> SchemaReader::constantAt(const std::string &pointer, const Json &json) {
  return valueFor(pointer, json, true);
}

Status SchemaReader::readKeyword(JsonValue &value, const std::string &key, const Json &content) {
  if (key == "$ref") {
    return readReference(value, content);
  }
  return isOneOf(choiceKeys, key) ? readChoices(value, key, content) : Status();
}

Status SchemaReader::readSchema(JsonValueId id, const Json &json) {
  JsonValue value = std::move(values[id]);
  const auto read = [&]() -> Status {
    if (json.is_boolean()) {
      value.contradiction = json.get<bool>() ? "" : "the schema is false";
      return json.get<bool>() ? readMembers(value, Json::object()) : Status();
    }
    if (!json.is_object()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: a schema is {}, expected an object, true or false",
                                      placeInSchema(value.pointer), describeJson(json)));
    }
    HEDDLE_TRY(checkKeywords(value, json));
    const auto has = [&](const auto &keys) {
      return std::any_of(keys.begin(), keys.end(),
                         [&](std::string_view key) { return json.contains(std::string(key)); });
    };
    if (has(choiceKeys)) {
      for (const auto &[key, content] : json.items()) {
        HEDDLE_TRY(readKeyword(value, key, content));
      }
      return {};
    }
    return has(constantKeys) ? readConstants(value, json) : readMembers(value, json);
  };
  const Status status = read();
  values[id] = std::move(value);
  return status;
}

Result<std::vector<JsonValue>> SchemaReader::read() {
  HEDDLE_TRY(schemaAt("", document).status());
  while (!waiting.empty()) {
    const Waiting next = waiting.front();
    waiting.pop_front();
    if (next.isConstant) {
      JsonValue value = std::move(values[next.id]);
      const Status status = readConstant(value, *next.json);
      values[next.id] = std::move(value);
      HEDDLE_TRY(status);
    } else {
      HEDDLE_TRY(readSchema(next.id, *next.json));
    }
  }
  return std::move(values);
}

Result<std::vector<JsonValue>> readSchema(std::string_view text) {
  if (text.size() > mostSchemaBytes) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("schema: {} bytes, expected at most {}",
                                                     text.size(), mostSchemaBytes));
  }
  HEDDLE_ASSIGN(const nlohmann::ordered_json document,
                parseOrderedJson(text, "schema", LongIntegers::Refuse));
  return SchemaReader(document).read();
}

} // namespace heddle
