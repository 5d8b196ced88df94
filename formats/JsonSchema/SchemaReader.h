// SPDX-License-Identifier: Apache-2.0
///
/// Parses a JSON schema into values that refer to each other. Every keyword is either implemented
/// completely or rejected: no constraint is relaxed silently.
#ifndef HEDDLE_FORMATS_JSONSCHEMA_SCHEMAREADER_H
#define HEDDLE_FORMATS_JSONSCHEMA_SCHEMAREADER_H

#include "formats/JsonSchema/JsonGrammar.h"

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace heddle {

/// Returns the values of a schema, beginning with the value of the whole schema.
Result<std::vector<JsonValue>> readSchema(std::string_view text);

/// Reads schemas one after another; referenced schemas are numbered first.
class SchemaReader {
public:
  using Json = nlohmann::ordered_json;

  explicit SchemaReader(const Json &document) : document(document) {}
  Result<std::vector<JsonValue>> read();

private:
  /// A queued schema, or a constant, which is its own schema.
  struct Waiting {
    JsonValueId id;
    const Json *json;
    bool isConstant;
  };

  Result<JsonValueId> schemaAt(const std::string &pointer, const Json &json);
  Result<JsonValueId> constantAt(const std::string &pointer, const Json &json);
  Result<JsonValueId> valueFor(const std::string &pointer, const Json &json, bool isConstant);
  Status readSchema(JsonValueId id, const Json &json);
  Status readKeyword(JsonValue &value, const std::string &key, const Json &content);
  Status checkKeywords(const JsonValue &value, const Json &json) const;
  Status readChoices(JsonValue &value, const std::string &key, const Json &list);
  Status readReference(JsonValue &value, const Json &target);
  const Json *stepInto(const Json &json, const std::string &token);
  Status readTypes(JsonValue &value, const Json &json) const;
  Status readConstants(JsonValue &value, const Json &json);
  Status readConstant(JsonValue &value, const Json &json);
  Status addConstant(JsonValue &value, const std::string &pointer, const Json &constant);
  Status readCount(const JsonValue &value, const Json &json, const char *key, uint32_t &to) const;
  Status readBounds(JsonValue &value, const Json &json) const;
  Status readItems(JsonValue &value, const Json &json);
  Status readMembers(JsonValue &value, const Json &json);
  Status readProperties(JsonValue &value, const Json &json);
  void findContradiction(JsonValue &value) const;

  const Json &document;
  // Values may move while numbers stay valid, so values are copied out while they are read.
  std::vector<JsonValue> values;
  std::map<std::string, JsonValueId> numbers;
  std::deque<Waiting> waiting;
  /// The members of the objects that references pass through.
  std::map<const Json *, std::unordered_map<std::string_view, const Json *>> indexes;
};

/// Returns a pointer to the value of a key or an index.
std::string pointerBelow(const std::string &pointer, std::string_view token);

/// Returns the spelling of a string between its quotes.
std::string spellingOf(const std::string &text);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_SCHEMAREADER_H
