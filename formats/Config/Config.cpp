// SPDX-License-Identifier: Apache-2.0
///
/// Typed access to a configuration.
#include "formats/Config/Config.h"

#include "base/NearestName.h"
#include "base/Utf8.h"
#include "formats/Config/Json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace heddle {

Config::Config(std::shared_ptr<const nlohmann::json> values, std::string where)
    : values(std::move(values)), asked(std::make_shared<std::set<std::string, std::less<>>>()),
      place(std::move(where)) {}

Result<Config> Config::fromJson(nlohmann::json value, std::string where) {
  if (!value.is_object()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: is {}, expected an object", where, describeJson(value)));
  }
  return Config(std::make_shared<const nlohmann::json>(std::move(value)), std::move(where));
}

Result<Config> Config::open(const std::string &path) {
  HEDDLE_ASSIGN(nlohmann::json value, readJsonFile(path));
  return fromJson(std::move(value), path);
}

Result<Config> Config::parse(std::string_view text, std::string_view where) {
  HEDDLE_ASSIGN(nlohmann::json value, parseJson(text, where));
  return fromJson(std::move(value), std::string(where));
}

const nlohmann::json *Config::peek(std::string_view key) const {
  const auto entry = values->find(key);
  return entry == values->end() ? nullptr : &*entry;
}

const nlohmann::json *Config::find(std::string_view key) const {
  asked->emplace(key);
  return peek(key);
}

std::vector<std::string> Config::readKeys() const { return {asked->begin(), asked->end()}; }

std::vector<std::string> Config::unreadKeys() const {
  std::vector<std::string> result;
  for (const auto &[key, value] : values->items()) {
    if (!asked->contains(key)) {
      result.push_back(key);
    }
  }
  return result;
}

std::string Config::json(std::string_view key) const {
  const nlohmann::json *const value = peek(key);
  return value == nullptr ? "null" : value->dump();
}

std::string Config::describe(std::string_view key) const {
  const nlohmann::json *const value = peek(key);
  return value == nullptr ? "missing" : describeJson(*value);
}

bool Config::has(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  return value != nullptr && !value->is_null();
}

bool Config::isPresent(std::string_view key) const { return peek(key) != nullptr; }

std::vector<std::string> Config::keys() const {
  std::vector<std::string> result;
  for (const auto &[key, value] : values->items()) {
    result.push_back(key);
  }
  return result;
}

Status Config::unexpected(std::string_view key, std::string_view expected) const {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} is {}, expected {}", place, quote(key),
                                                   describe(key), expected));
}

/// Returns whether a value is an integer from `min` to `max`.
static bool isInteger(const nlohmann::json &value, int64_t min, int64_t max) {
  // The library stores non-negative numbers as unsigned: those above INT64_MAX must not wrap.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max()));
  return fits && value.get<int64_t>() >= min && value.get<int64_t>() <= max;
}

static bool isIntegers(const nlohmann::json &value, int64_t min, int64_t max) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [&](const nlohmann::json &item) { return isInteger(item, min, max); });
}

Result<int64_t> Config::integer(std::string_view key, int64_t min, int64_t max) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !isInteger(*value, min, max)) {
    return unexpected(key, fmt::format("an integer from {} to {}", min, max));
  }
  return value->get<int64_t>();
}

Result<int64_t> Config::integerOr(std::string_view key, int64_t min, int64_t max,
                                  int64_t absent) const {
  return has(key) ? integer(key, min, max) : absent;
}

Result<std::vector<int64_t>> Config::integers(std::string_view key, int64_t min,
                                              int64_t max) const {
  const nlohmann::json *const value = find(key);
  if (value != nullptr && isInteger(*value, min, max)) {
    return std::vector<int64_t>{value->get<int64_t>()};
  }
  if (value == nullptr || !isIntegers(*value, min, max)) {
    return unexpected(key, fmt::format("an integer from {} to {}, or a list of them", min, max));
  }
  return value->get<std::vector<int64_t>>();
}

Result<std::vector<std::vector<int64_t>>> Config::integerLists(std::string_view key, int64_t min,
                                                               int64_t max) const {
  const nlohmann::json *const value = find(key);
  const bool isLists = value != nullptr && value->is_array() &&
                       std::all_of(value->begin(), value->end(), [&](const nlohmann::json &item) {
                         return isIntegers(item, min, max);
                       });
  if (!isLists) {
    return unexpected(key, fmt::format("a list of lists of integers from {} to {}", min, max));
  }
  return value->get<std::vector<std::vector<int64_t>>>();
}

Result<double> Config::number(std::string_view key, double min, double max) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_number() || value->get<double>() < min ||
      value->get<double>() > max) {
    return unexpected(key, fmt::format("a number from {} to {}", min, max));
  }
  return value->get<double>();
}

Result<double> Config::numberOr(std::string_view key, double min, double max, double absent) const {
  return has(key) ? number(key, min, max) : absent;
}

Result<std::string> Config::string(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_string()) {
    return unexpected(key, "a string");
  }
  return value->get<std::string>();
}

Result<std::string> Config::stringOr(std::string_view key, std::string_view absent) const {
  return has(key) ? string(key) : std::string(absent);
}

Result<bool> Config::boolean(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_boolean()) {
    return unexpected(key, "true or false");
  }
  return value->get<bool>();
}

Result<bool> Config::booleanOr(std::string_view key, bool absent) const {
  return has(key) ? boolean(key) : absent;
}

Result<std::string> Config::oneOf(std::string_view key,
                                  std::initializer_list<std::string_view> choices) const {
  const std::vector<std::string> list(choices.begin(), choices.end());
  return oneOf(key, list);
}

Result<std::string> Config::oneOf(std::string_view key,
                                  std::span<const std::string> choices) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_string() ||
      std::find(choices.begin(), choices.end(), value->get_ref<const std::string &>()) ==
          choices.end()) {
    const bool isName = value != nullptr && value->is_string();
    return unexpected(
        key, fmt::format("one of {}{}", fmt::join(choices, ", "),
                         isName ? didYouMean(value->get_ref<const std::string &>(), choices) : ""));
  }
  return value->get<std::string>();
}

Result<std::string> Config::oneOfOr(std::string_view key,
                                    std::initializer_list<std::string_view> choices,
                                    std::string_view absent) const {
  return has(key) ? oneOf(key, choices) : std::string(absent);
}

Result<std::vector<std::string>> Config::strings(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_array()) {
    return unexpected(key, "a list of strings");
  }
  std::vector<std::string> result;
  for (const nlohmann::json &item : *value) {
    if (!item.is_string()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: item {} of {} is {}, expected a string", place,
                                      result.size() + 1, quote(key), describeJson(item)));
    }
    result.push_back(item.get<std::string>());
  }
  return result;
}

Result<std::vector<Config>> Config::each(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_array()) {
    return std::vector<Config>{*this};
  }
  std::vector<Config> items;
  for (const nlohmann::json &item : *value) {
    nlohmann::json alone = {{std::string(key), item}};
    items.push_back(Config(std::make_shared<const nlohmann::json>(std::move(alone)),
                           fmt::format("{}: item {}", place, items.size() + 1)));
  }
  return items;
}

bool Config::isObject(std::string_view key) const {
  const nlohmann::json *const value = peek(key);
  return value != nullptr && value->is_object();
}

Result<Config> Config::object(std::string_view key) const {
  const nlohmann::json *const value = find(key);
  if (value == nullptr || !value->is_object()) {
    return unexpected(key, "an object");
  }
  // Shares the parent's tree.
  return Config(std::shared_ptr<const nlohmann::json>(values, value),
                fmt::format("{}: {}", place, quote(key)));
}

} // namespace heddle
