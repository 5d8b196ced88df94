// SPDX-License-Identifier: Apache-2.0
///
/// A JSON schema as the texts that follow it: values that refer to each other by number. It knows
/// what can be satisfied at all, so that an automaton never begins what has no end.
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

/// The most bytes of a schema, the most schemas within it, and the most alternatives of one value.
inline constexpr size_t mostSchemaBytes = size_t(1) << 20;
inline constexpr size_t mostSchemas = 10000;
inline constexpr size_t mostAlternatives = 256;
/// The most digits of an integer, of the whole part of a number and of its fraction: every reader
/// has room for them. Exponents have two.
inline constexpr uint32_t mostDigits = 18;
inline constexpr int64_t largestInteger = 999'999'999'999'999'999;

/// The number of a value of the grammar.
using JsonValueId = uint32_t;

enum class NumberKind : uint8_t { None, Integer, Number };

/// A member that the schema names.
struct JsonMember {
  /// As it is spelt between quotes: escaped only where it has to be.
  std::string spelling;
  JsonValueId value = 0;
  bool isRequired = false;
};

/// What one schema permits: constants, values of some types, or what one of several others does.
struct JsonValue {
  static constexpr uint32_t any = std::numeric_limits<uint32_t>::max();

  /// Where the schema is in its file, a JSON pointer.
  std::string pointer = {};
  /// If not empty, the value is one of these, and nothing else below counts.
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
  /// In the order of their spellings, which are numbered so in `names`.
  std::vector<JsonMember> members = {};
  ByteTrie names = {};
  JsonValueId otherMembers = 0;

  /// Why nothing satisfies the schema, if what it says of itself excludes everything.
  std::string contradiction = {};

  // What follows from the rest, once the grammar is complete.

  /// Whether any text satisfies it.
  bool isPossible = false;
  /// Itself, or what its choices come down to: values without choices that are possible.
  std::vector<JsonValueId> alternatives = {};

  JsonValueId itemAt(uint32_t index) const {
    return index < firstItems.size() ? firstItems[index] : otherItems;
  }
};

class JsonGrammar {
public:
  /// Reads a schema. InvalidArgument for what is no JSON or no schema, or what no text satisfies;
  /// Unsupported for what is not understood. Messages name the place by its JSON pointer.
  static Result<JsonGrammar> read(std::string_view schema);

  const JsonValue &value(JsonValueId id) const { return values[id]; }
  /// That of the whole schema.
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

/// How messages name a place in a schema.
std::string placeInSchema(std::string_view pointer);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONGRAMMAR_H
