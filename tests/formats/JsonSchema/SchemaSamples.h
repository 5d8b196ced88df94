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

/// A schema with every keyword that is supported, "$defs" that refer to each other among them. Some
/// cannot be satisfied.
SampleJson randomSchema(std::mt19937_64 &random);

/// Whether a value follows a schema within `root`. Of "oneOf" one or more may fit.
bool follows(const SampleJson &value, const SampleJson &schema, const SampleJson &root);
/// Whether a text is JSON, to a parser that refuses names that come twice, and follows the schema.
bool isAnswer(std::string_view text, const SampleJson &schema);

/// A text that follows a schema, with spaces and escapes here and there; nothing if none was found.
std::optional<std::string> randomAnswer(const SampleJson &schema, std::mt19937_64 &random);

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_JSONSCHEMA_SCHEMASAMPLES_H
