// SPDX-License-Identifier: Apache-2.0
///
/// A grammar of the texts that conform to a JSON schema: values that refer to each other by number.
/// It determines which values can be satisfied at all, so that an automaton never begins a text
/// that cannot be completed.
#ifndef HEDDLE_FORMATS_JSONSCHEMA_JSONGRAMMAR_H
#define HEDDLE_FORMATS_JSONSCHEMA_JSONGRAMMAR_H

#include "formats/JsonSchema/ByteTrie.h"
#include "heddle/Status.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The maximum number of bytes of a schema, of schemas within it, and of alternatives of one value.
inline constexpr size_t mostSchemaBytes = size_t(1) << 20;
inline constexpr size_t mostSchemas = 10000;
inline constexpr size_t mostAlternatives = 256;
/// The maximum number of digits of an integer, of the integral part of a number and of its
/// fraction: every parser supports that many. Exponents have two.
inline constexpr uint32_t mostDigits = 18;
inline constexpr int64_t largestInteger = 999'999'999'999'999'999;

/// The number of a value of the grammar.
using JsonValueId = uint32_t;

enum class NumberKind : uint8_t { None, Integer, Number };

/// A member that the schema names.
struct JsonMember {
  /// The spelling between quotes, escaped only where required.
  std::string spelling;
  JsonValueId value = 0;
  bool isRequired = false;
};

/// The values that one schema permits: constants, values of some types, or those of one of several
/// other schemas.
struct JsonValue {
  static constexpr uint32_t any = std::numeric_limits<uint32_t>::max();

  /// The place of the schema in its file, as a JSON pointer.
  std::string pointer = {};
  /// If not empty, the value is one of these, and all other members below are ignored.
  std::vector<JsonValueId> choices = {};
  /// Constants as they are written.
  ByteTrie constants = {};

  bool isString = false;
  /// In characters.
  uint32_t minLength = 0;
  uint32_t maxLength = any;

  NumberKind number = NumberKind::None;
  /// Only of integers.
  bool isBounded = false;
  int64_t least = -largestInteger;
  int64_t greatest = largestInteger;

  bool isArray = false;
  std::vector<JsonValueId> firstItems = {};
  JsonValueId otherItems = 0;
  uint32_t minItems = 0;
  uint32_t maxItems = any;

  bool isObject = false;
  /// In the order of their spellings, which `names` maps to their indices.
  std::vector<JsonMember> members = {};
  ByteTrie names = {};
  JsonValueId otherMembers = 0;

  /// The reason why nothing satisfies the schema, if its own keywords exclude everything.
  std::string contradiction = {};

  // Derived from the rest, once the grammar is complete.

  /// Whether any text satisfies it.
  bool isPossible = false;
  /// The value itself, or the possible values without choices that its choices resolve to.
  std::vector<JsonValueId> alternatives = {};

  JsonValueId itemAt(uint32_t index) const {
    return index < firstItems.size() ? firstItems[index] : otherItems;
  }
};

class JsonGrammar {
public:
  /// Parses a schema. InvalidArgument if it is not JSON, not a schema, or satisfied by no text;
  /// Unsupported for features that are not implemented. Messages name the place by its JSON
  /// pointer.
  static Result<JsonGrammar> read(std::string_view schema);

  const JsonValue &value(JsonValueId id) const { return values[id]; }
  /// The value of the whole schema.
  static constexpr JsonValueId root = 0;

private:
  explicit JsonGrammar(std::vector<JsonValue> values) : values(std::move(values)) {}

  Status complete();
  bool decide(const JsonValue &value) const;
  bool allPossible(const JsonValue &value) const;
  bool arrayIsPossible(const JsonValue &value) const;
  void narrow(JsonValue &value) const;
  void findPossible();
  std::vector<JsonValueId> endsOfReferences() const;
  Status findAlternatives(JsonValueId id, std::span<const JsonValueId> ends);
  std::string whyImpossible() const;
  JsonValueId blameFor(const JsonValue &value) const;

  std::vector<JsonValue> values;
};

/// Returns the name of a place in a schema for messages.
std::string placeInSchema(std::string_view pointer);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONGRAMMAR_H
