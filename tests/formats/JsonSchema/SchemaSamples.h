// SPDX-License-Identifier: Apache-2.0
///
/// Random schemas, random texts that conform to them in the form of docs/json-schema.md, and a
/// validator that follows the text of JSON Schema. All are independent of the compilation of
/// schemas.
#ifndef HEDDLE_TESTS_FORMATS_JSONSCHEMA_SCHEMASAMPLES_H
#define HEDDLE_TESTS_FORMATS_JSONSCHEMA_SCHEMASAMPLES_H

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace heddle {

using SampleJson = nlohmann::json;

/// Returns a random schema with supported keywords, including "$defs" that refer to each other. It
/// may be unsatisfiable.
SampleJson randomSchema(std::mt19937_64 &random);

/// Returns whether a value conforms to a schema within `root`. One or more schemas of "oneOf" may
/// match.
bool follows(const SampleJson &value, const SampleJson &schema, const SampleJson &root);
/// Returns whether a text is JSON without duplicate names and conforms to the schema.
bool isAnswer(std::string_view text, const SampleJson &schema);

/// Returns a text that conforms to a schema, with some spaces and escapes, or nullopt if none was
/// found.
std::optional<std::string> randomAnswer(const SampleJson &schema, std::mt19937_64 &random);

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_JSONSCHEMA_SCHEMASAMPLES_H
