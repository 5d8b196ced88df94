// SPDX-License-Identifier: Apache-2.0
///
/// Schemas are small, so that texts end, and have few names and letters, so that alternatives
/// overlap.
#include "tests/formats/JsonSchema/SchemaSamples.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace heddle {

using Json = SampleJson;

// --- schemas -----------------------------------------------------------------------------------

namespace {
class SchemaMaker {
public:
  explicit SchemaMaker(std::mt19937_64 &random) : random(random) {}

  Json make() {
    Json schema = ofDepth(3);
    if (schema.is_object()) {
      schema["$defs"] = {{"a", ofDepth(1)}, {"b/~", ofDepth(2)}};
    }
    return schema;
  }

private:
  size_t below(size_t count) { return random() % count; }
  bool oneIn(size_t count) { return below(count) == 0; }

  Json ofDepth(int depth) {
    switch (below(depth > 0 ? 13 : 8)) {
    case 0:
      return string();
    case 1:
      return integer();
    case 2:
      return {{"type", "number"}};
    case 3:
      return {{"type", "boolean"}, {"description", "yes or no"}};
    case 4:
      return {{"type", "null"}};
    case 5:
      return constants();
    case 6:
      return {{"$ref", oneIn(3) ? "#" : oneIn(2) ? "#/$defs/a" : "#/$defs/b~1~0"}};
    case 7:
      return oneIn(4) ? Json(!oneIn(3)) : Json({{"type", {"string", "null", "integer"}}});
    case 8:
    case 9:
      return array(depth);
    case 10:
    case 11:
      return object(depth);
    default:
      return choice(depth);
    }
  }

  Json string() {
    Json schema = {{"type", "string"}};
    if (oneIn(2)) {
      schema["minLength"] = below(4);
    }
    if (oneIn(2)) {
      schema["maxLength"] = 1 + below(6);
    }
    return schema;
  }

  Json integer() {
    Json schema = {{"type", "integer"}};
    const auto bound = [&] { return static_cast<int64_t>(below(3000)) - 1500; };
    if (oneIn(2)) {
      schema[oneIn(2) ? "minimum" : "exclusiveMinimum"] = bound();
    }
    if (oneIn(2)) {
      schema[oneIn(2) ? "maximum" : "exclusiveMaximum"] = bound() + 1000;
    }
    return schema;
  }

  Json constant() {
    static const std::vector<Json> all = {1,
                                          12,
                                          -3,
                                          "a",
                                          "a\"b",
                                          "",
                                          true,
                                          1.5,
                                          nullptr,
                                          "\u00e4\n",
                                          120,
                                          "ab",
                                          Json::array({1, "a"}),
                                          Json({{"a", 1}, {"b", Json::array()}}),
                                          Json::object()};
    return all[below(all.size())];
  }

  Json constants() {
    if (oneIn(4)) {
      return {{"const", constant()}};
    }
    Json list = Json::array();
    for (size_t i = below(5) + (oneIn(20) ? 0 : 1); i > 0; --i) {
      list.push_back(constant());
    }
    Json schema = {{"enum", list}};
    if (oneIn(4)) {
      schema["type"] = oneIn(2) ? Json("string") : Json({"integer", "object"});
    }
    return schema;
  }

  Json array(int depth) {
    Json schema = {{"type", "array"}};
    if (!oneIn(4)) {
      schema["items"] = ofDepth(depth - 1);
    }
    for (size_t i = oneIn(3) ? below(3) : 0; i > 0; --i) {
      schema["prefixItems"].push_back(ofDepth(depth - 1));
    }
    if (oneIn(3)) {
      schema["minItems"] = below(3);
    }
    if (oneIn(2)) {
      schema["maxItems"] = below(4);
    }
    return schema;
  }

  Json object(int depth) {
    static const std::vector<std::string> names = {"a", "ab", "abc", "b", "a\"b", "", "\u00e4"};
    Json schema = {{"type", "object"}};
    for (size_t i = below(4); i > 0; --i) {
      schema["properties"][names[below(names.size())]] = ofDepth(depth - 1);
    }
    for (size_t i = below(3); i > 0; --i) {
      schema["required"].push_back(names[below(names.size())]);
    }
    if (!oneIn(3)) {
      schema["additionalProperties"] = oneIn(2) ? Json(false) : ofDepth(depth - 1);
    }
    return schema;
  }

  Json choice(int depth) {
    Json list = Json::array();
    for (size_t i = 1 + below(3); i > 0; --i) {
      list.push_back(ofDepth(depth - 1));
    }
    return oneIn(6) ? Json({{"allOf", {ofDepth(depth - 1)}}})
                    : Json({{oneIn(2) ? "anyOf" : "oneOf", list}});
  }

  std::mt19937_64 &random;
};
} // namespace

Json randomSchema(std::mt19937_64 &random) { return SchemaMaker(random).make(); }

// --- the judge ---------------------------------------------------------------------------------

/// Returns the schema that a reference within `root` refers to.
static const Json &referred(const Json &schema, const Json &root) {
  return root.at(Json::json_pointer(schema.at("$ref").get<std::string>().substr(1)));
}

static bool isOfType(const Json &value, const std::string &type) {
  const bool isWhole = value.is_number_integer() ||
                       (value.is_number_float() && std::trunc(value.get<double>()) == value);
  return (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
         (type == "integer" && isWhole) || (type == "boolean" && value.is_boolean()) ||
         (type == "null" && value.is_null()) || (type == "array" && value.is_array()) ||
         (type == "object" && value.is_object());
}

static bool isOfTypes(const Json &value, const Json &schema) {
  const Json type = schema.value("type", Json());
  const auto is = [&](const Json &each) { return isOfType(value, each.get<std::string>()); };
  return type.is_null() ||
         (type.is_string() ? is(type) : std::any_of(type.begin(), type.end(), is));
}

static size_t charactersOf(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

static bool itemsFollow(const Json &value, const Json &schema, const Json &root) {
  const Json first = schema.value("prefixItems", Json::array());
  bool fits = value.size() >= schema.value("minItems", size_t(0)) &&
              value.size() <= schema.value("maxItems", value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    fits = fits &&
           follows(value[i], i < first.size() ? first[i] : schema.value("items", Json(true)), root);
  }
  return fits;
}

static bool membersFollow(const Json &value, const Json &schema, const Json &root) {
  const Json known = schema.value("properties", Json::object());
  for (const Json &name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) {
      return false;
    }
  }
  return std::all_of(value.items().begin(), value.items().end(), [&](const auto &item) {
    return follows(item.value(),
                   known.contains(item.key()) ? known[item.key()]
                                              : schema.value("additionalProperties", Json(true)),
                   root);
  });
}

static bool isWithin(const Json &value, const Json &schema) {
  return value >= schema.value("minimum", value) && value <= schema.value("maximum", value) &&
         (!schema.contains("exclusiveMinimum") || value > schema["exclusiveMinimum"]) &&
         (!schema.contains("exclusiveMaximum") || value < schema["exclusiveMaximum"]);
}

/// The schemas that are being applied to one value, along a chain of references.
using Asked = std::vector<const Json *>;

static bool follows(const Json &value, const Json &schema, const Json &root, Asked asked);

bool follows(const Json &value, const Json &schema, const Json &root) {
  return follows(value, schema, root, {});
}

static bool follows(const Json &value, const Json &schema, const Json &root, Asked asked) {
  if (schema.is_boolean()) {
    return schema.get<bool>();
  }
  // A schema that refers back to itself does not constrain the value further.
  if (std::find(asked.begin(), asked.end(), &schema) != asked.end()) {
    return false;
  }
  asked.push_back(&schema);
  if (schema.contains("$ref")) {
    return follows(value, referred(schema, root), root, asked);
  }
  for (const char *const key : {"anyOf", "oneOf", "allOf"}) {
    if (schema.contains(key)) {
      return std::any_of(schema[key].begin(), schema[key].end(),
                         [&](const Json &each) { return follows(value, each, root, asked); });
    }
  }
  const bool isMeant =
      (!schema.contains("const") || value == schema["const"]) &&
      (!schema.contains("enum") ||
       std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end());
  if (!isMeant || !isOfTypes(value, schema)) {
    return false;
  }
  if (value.is_string()) {
    const size_t length = charactersOf(value.get<std::string>());
    return length >= schema.value("minLength", size_t(0)) &&
           length <= schema.value("maxLength", length);
  }
  return (!value.is_number() || isWithin(value, schema)) &&
         (!value.is_array() || itemsFollow(value, schema, root)) &&
         (!value.is_object() || membersFollow(value, schema, root));
}

bool isAnswer(std::string_view text, const Json &schema) {
  const Json value = Json::parse(text, nullptr, false);
  return !value.is_discarded() && follows(value, schema, schema);
}

// --- texts -------------------------------------------------------------------------------------

namespace {
/// Writes a text that conforms to a schema, or gives up.
class AnswerMaker {
public:
  AnswerMaker(const Json &root, std::mt19937_64 &random) : root(root), random(random) {}

  /// Appends a value of the schema. `fuel` bounds the recursion.
  bool write(const Json &schema, std::string &out) {
    if (--fuel < 0 || schema == false) {
      return false;
    }
    if (schema.is_boolean()) {
      return write({{"type", oneIn(2) ? "string" : "integer"}}, out);
    }
    if (schema.contains("$ref")) {
      return write(referred(schema, root), out);
    }
    for (const char *const key : {"anyOf", "oneOf", "allOf"}) {
      if (schema.contains(key)) {
        return write(schema[key][below(schema[key].size())], out);
      }
    }
    if (schema.contains("const") || schema.contains("enum")) {
      const Json list = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
      const Json value = list.empty() ? Json() : list[below(list.size())];
      return !list.empty() && isOfTypes(value, schema) && writeConstant(value, out);
    }
    const Json types = schema.at("type");
    return writeType(types.is_string() ? types : types[below(types.size())], schema, out);
  }

private:
  size_t below(size_t count) { return random() % count; }
  bool oneIn(size_t count) { return below(count) == 0; }
  std::string space() { return oneIn(3) ? " " : ""; }

  bool writeType(const std::string &type, const Json &schema, std::string &out) {
    if (type == "string") {
      return writeString(schema, out);
    }
    if (type == "array") {
      return writeArray(schema, out);
    }
    if (type == "object") {
      return writeObject(schema, out);
    }
    static const std::vector<std::string> numbers = {
        "0", "-0", "-1.50", "12e3", "1E-07", "123456789012345678.123456789012345678e+99"};
    static const std::vector<std::string> integers = {
        "0", "-7", "3", "15", "-999", "1499", "-123456789012345678"};
    out += type == "null"      ? "null"
           : type == "boolean" ? (oneIn(2) ? "true" : "false")
           : type == "integer" ? integers[below(integers.size())]
                               : numbers[below(numbers.size())];
    return type != "integer" ||
           isWithin(Json::parse(out.substr(out.find_last_of(" [,:") + 1)), schema);
  }

  bool writeString(const Json &schema, std::string &out) {
    static const std::vector<std::string> characters = {
        "a",      "b",      "/",          "\\/",     "\\n",
        "\u00e4", "\u20ac", "\U0001F600", "\\u00E4", "\\ud83D\\uDe00",
        "\x7f",   "\\\"",   "\\uD7ff",    " ",       "0"};
    const size_t least = schema.value("minLength", size_t(0));
    const size_t most = schema.value("maxLength", least + 4);
    if (least > most) {
      return false;
    }
    out += '"';
    for (size_t count = least + below(most - least + 1); count > 0; --count) {
      out += characters[below(characters.size())];
    }
    out += '"';
    return true;
  }

  bool writeArray(const Json &schema, std::string &out) {
    const Json first = schema.value("prefixItems", Json::array());
    const size_t least = schema.value("minItems", size_t(0));
    const size_t most = std::min(schema.value("maxItems", least + 2), least + 2);
    if (least > most) {
      return false;
    }
    out += '[';
    const size_t count = least + below(most - least + 1);
    for (size_t i = 0; i < count; ++i) {
      out += (i > 0 ? "," : "") + space();
      if (!write(i < first.size() ? first[i] : schema.value("items", Json(true)), out)) {
        return false;
      }
    }
    out += (count > 0 || oneIn(2) ? space() : "") + "]";
    return true;
  }

  bool writeObject(const Json &schema, std::string &out) {
    const Json known = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    const Json others = schema.value("additionalProperties", Json(true));
    std::set<std::string> names;
    for (const Json &name : required) {
      names.insert(name.get<std::string>());
    }
    for (const auto &[name, each] : known.items()) {
      if (oneIn(2) && each != false) {
        names.insert(name);
      }
    }
    if (others != false && oneIn(2)) {
      names.insert(oneIn(2) ? "x" : "abcd\u00e4\n");
    }
    std::vector<std::string> order(names.begin(), names.end());
    std::shuffle(order.begin(), order.end(), random);
    out += '{';
    for (size_t i = 0; i < order.size(); ++i) {
      out += (i > 0 ? "," : "") + space() + Json(order[i]).dump() + ":" + space();
      if (!write(known.contains(order[i]) ? known[order[i]] : others, out)) {
        return false;
      }
    }
    out += space() + "}";
    return true;
  }

  bool writeConstant(const Json &value, std::string &out) {
    if (value.is_array() && !value.empty()) {
      out += '[';
      for (size_t i = 0; i < value.size(); ++i) {
        out += (i > 0 ? "," : "") + space();
        (void)writeConstant(value[i], out);
      }
      out += "]";
      return true;
    }
    out += value.dump();
    return true;
  }

  const Json &root;
  std::mt19937_64 &random;
  int fuel = 60;
};
} // namespace

std::optional<std::string> randomAnswer(const Json &schema, std::mt19937_64 &random) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::string text = random() % 3 == 0 ? " " : "";
    if (AnswerMaker(schema, random).write(schema, text)) {
      return text;
    }
  }
  return std::nullopt;
}

} // namespace heddle
