// SPDX-License-Identifier: Apache-2.0
///
/// Reads a JSON schema into values that refer to each other. Every keyword is either computed
/// whole or refused: nothing is loosened in silence.
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

/// The values of a schema, that of all of it first.
Result<std::vector<JsonValue>> readSchema(std::string_view text);

/// Reads schemas one after the other; those that refer to each other are numbered first.
class SchemaReader {
public:
  using Json = nlohmann::ordered_json;

  explicit SchemaReader(const Json &document) : document(document) {}
  Result<std::vector<JsonValue>> read();

private:
  /// A schema on its way, or a constant, which is its own schema.
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
  // Numbers stay where values move, so values are taken out while they are read.
  std::vector<JsonValue> values;
  std::map<std::string, JsonValueId> numbers;
  std::deque<Waiting> waiting;
  /// The members of the objects that references lead through.
  std::map<const Json *, std::unordered_map<std::string_view, const Json *>> indexes;
};

/// A pointer to what a key or an index leads to.
std::string pointerBelow(const std::string &pointer, std::string_view token);

/// The spelling of a string between its quotes.
std::string spellingOf(const std::string &text);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_SCHEMAREADER_H
