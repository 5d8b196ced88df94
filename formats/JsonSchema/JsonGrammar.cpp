// SPDX-License-Identifier: Apache-2.0
///
/// Determines the possible values as the least fixed point, so that a schema that requires itself
/// infinitely is impossible.
#include "formats/JsonSchema/JsonGrammar.h"

#include "formats/JsonSchema/SchemaReader.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
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

/// Returns whether a text satisfies the value, given which others are known to be possible.
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

/// Removes types that nothing satisfies, and items that cannot exist, from a value.
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

/// Returns for each value the end of its references: the value itself, unless it is a single
/// choice. Cyclic references are impossible.
std::vector<JsonValueId> JsonGrammar::endsOfReferences() const {
  std::vector<JsonValueId> ends(values.size(), ByteTrie::none);
  std::vector<JsonValueId> way;
  for (JsonValueId id = 0; id < values.size(); ++id) {
    JsonValueId end = id;
    way.clear();
    while (ends[end] == ByteTrie::none && values[end].choices.size() == 1) {
      ends[end] = end;
      way.push_back(end);
      end = values[end].choices.front();
    }
    end = ends[end] == ByteTrie::none ? end : ends[end];
    ends[end] = end;
    for (const JsonValueId each : way) {
      ends[each] = end;
    }
  }
  return ends;
}

/// Resolves the choices of a value, without duplicates.
Status JsonGrammar::findAlternatives(JsonValueId id, std::span<const JsonValueId> ends) {
  std::set<JsonValueId> seen = {ends[id]};
  std::vector<JsonValueId> left = {ends[id]};
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
      if (seen.insert(ends[*choice]).second) {
        left.push_back(ends[*choice]);
      }
    }
  }
  values[id].alternatives = std::move(found);
  return {};
}

/// Finds the possible values: a value is reconsidered when one that it depends on turns out to be
/// possible.
void JsonGrammar::findPossible() {
  std::vector<std::vector<JsonValueId>> users(values.size());
  for (JsonValueId id = 0; id < values.size(); ++id) {
    const JsonValue &value = values[id];
    for (const JsonValueId choice : value.choices) {
      users[choice].push_back(id);
    }
    for (const JsonMember &member : value.members) {
      users[member.value].push_back(id);
    }
    for (const JsonValueId item : value.firstItems) {
      users[item].push_back(id);
    }
    if (value.isArray) {
      users[value.otherItems].push_back(id);
    }
  }
  // Most values precede those that they refer to, so the last are decided first.
  std::vector<JsonValueId> left(values.size());
  std::iota(left.begin(), left.end(), JsonValueId(0));
  while (!left.empty()) {
    const JsonValueId id = left.back();
    left.pop_back();
    if (!values[id].isPossible && decide(values[id])) {
      values[id].isPossible = true;
      left.insert(left.end(), users[id].begin(), users[id].end());
    }
  }
}

Status JsonGrammar::complete() {
  findPossible();
  if (!values[root].isPossible) {
    return HEDDLE_ERROR(InvalidArgument, whyImpossible());
  }
  for (JsonValue &value : values) {
    narrow(value);
  }
  const std::vector<JsonValueId> ends = endsOfReferences();
  for (JsonValueId id = 0; id < values.size(); ++id) {
    HEDDLE_TRY(findAlternatives(id, ends));
  }
  return {};
}

/// Returns one of the values that make a value impossible; ByteTrie::none if none of them does.
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
