// SPDX-License-Identifier: Apache-2.0
///
/// Which values are possible: the least solution, so that a schema that needs itself without an end
/// is not.
#include "formats/JsonSchema/JsonGrammar.h"

#include "formats/JsonSchema/SchemaReader.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace heddle {

std::string placeInSchema(std::string_view pointer) { return fmt::format("schema: #{}", pointer); }

Result<JsonGrammar> JsonGrammar::read(std::string_view schema) {
  HEDDLE_ASSIGN(std::vector<JsonValue> values, readSchema(schema));
  JsonGrammar grammar(std::move(values));
  HEDDLE_TRY(grammar.complete());
  return grammar;
}

bool JsonGrammar::arrayIsPossible(const JsonValue &value) const {
  if (value.minItems > value.maxItems) {
    return false;
  }
  const uint32_t listed = std::min(value.minItems, static_cast<uint32_t>(value.firstItems.size()));
  const auto isPossible = [&](JsonValueId id) { return values[id].isPossible; };
  return std::all_of(value.firstItems.begin(), value.firstItems.begin() + listed, isPossible) &&
         (value.minItems <= listed || isPossible(value.otherItems));
}

/// Whether a text satisfies the value, given which others are known to be possible.
bool JsonGrammar::decide(const JsonValue &value) const {
  const auto isPossible = [&](JsonValueId id) { return values[id].isPossible; };
  if (!value.choices.empty()) {
    return std::any_of(value.choices.begin(), value.choices.end(), isPossible);
  }
  return !value.constants.empty() || (value.isString && value.minLength <= value.maxLength) ||
         (value.number != NumberKind::None && value.least <= value.greatest) ||
         (value.isArray && arrayIsPossible(value)) ||
         (value.isObject &&
          std::all_of(value.members.begin(), value.members.end(), [&](const JsonMember &member) {
            return !member.isRequired || isPossible(member.value);
          }));
}

/// Takes out of a value the types that nothing satisfies, and items that cannot be there.
void JsonGrammar::narrow(JsonValue &value) const {
  value.isString = value.isString && value.minLength <= value.maxLength;
  value.number = value.least <= value.greatest ? value.number : NumberKind::None;
  value.isArray = value.isArray && arrayIsPossible(value);
  if (value.isArray) {
    const auto first = std::find_if(value.firstItems.begin(), value.firstItems.end(),
                                    [&](JsonValueId id) { return !values[id].isPossible; });
    const auto listed = static_cast<uint32_t>(first - value.firstItems.begin());
    if (first != value.firstItems.end() || !values[value.otherItems].isPossible) {
      value.maxItems = std::min(value.maxItems, listed);
    }
  }
  value.isObject =
      value.isObject &&
      std::all_of(value.members.begin(), value.members.end(), [&](const JsonMember &member) {
        return !member.isRequired || values[member.value].isPossible;
      });
}

/// What the choices of a value come down to, each once.
Status JsonGrammar::findAlternatives(JsonValueId id) {
  std::set<JsonValueId> seen = {id};
  std::vector<JsonValueId> left = {id};
  std::vector<JsonValueId> found;
  while (!left.empty()) {
    const JsonValueId next = left.back();
    left.pop_back();
    if (!values[next].isPossible) {
      continue;
    }
    if (values[next].choices.empty()) {
      found.push_back(next);
    }
    if (found.size() > mostAlternatives) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: more than {} alternatives",
                                      placeInSchema(values[id].pointer), mostAlternatives));
    }
    for (auto choice = values[next].choices.rbegin(); choice != values[next].choices.rend();
         ++choice) {
      if (seen.insert(*choice).second) {
        left.push_back(*choice);
      }
    }
  }
  values[id].alternatives = std::move(found);
  return {};
}

Status JsonGrammar::complete() {
  // Values mostly come before those they refer to, so that the last are decided first.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      if (!value->isPossible && decide(*value)) {
        value->isPossible = true;
        changed = true;
      }
    }
  }
  if (!values[root].isPossible) {
    return HEDDLE_ERROR(InvalidArgument, whyImpossible());
  }
  for (JsonValue &value : values) {
    narrow(value);
  }
  for (JsonValueId id = 0; id < values.size(); ++id) {
    HEDDLE_TRY(findAlternatives(id));
  }
  return {};
}

/// One of the values for which an impossible one is impossible; ByteTrie::none if it is its own
/// fault.
JsonValueId JsonGrammar::blameFor(const JsonValue &value) const {
  if (!value.choices.empty()) {
    return value.choices.front();
  }
  for (const JsonMember &member : value.members) {
    if (value.isObject && member.isRequired && !values[member.value].isPossible) {
      return member.value;
    }
  }
  for (uint32_t i = 0; value.isArray && i < value.minItems; ++i) {
    if (!values[value.itemAt(i)].isPossible) {
      return value.itemAt(i);
    }
    if (i >= value.firstItems.size()) {
      break;
    }
  }
  return ByteTrie::none;
}

std::string JsonGrammar::whyImpossible() const {
  std::set<JsonValueId> seen;
  JsonValueId id = root;
  for (;;) {
    const JsonValue &value = values[id];
    if (!seen.insert(id).second) {
      return fmt::format("{}: no text satisfies the schema: every value has another one of this "
                         "schema within it, without an end",
                         placeInSchema(value.pointer));
    }
    const JsonValueId next = blameFor(value);
    if (next == ByteTrie::none) {
      return fmt::format("{}: no text satisfies the schema: {}", placeInSchema(value.pointer),
                         value.contradiction);
    }
    id = next;
  }
}

} // namespace heddle
