// SPDX-License-Identifier: Apache-2.0
///
/// Typed access to config.json. Each call states the type and range that it needs, so families hold
/// no checks of their own, and every message names the file, the key, the value and what was
/// expected.
#ifndef HEDDLE_FORMATS_CONFIG_CONFIG_H
#define HEDDLE_FORMATS_CONFIG_CONFIG_H

#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A JSON object with typed access. Cheap to copy. Copies share the record of the keys that were
/// read, so a configuration and its copies may be used by only one thread at a time.
///
/// Functions whose names end in Or take a default for a key that is absent or null (saved
/// configurations write null for "not set"). A value of the wrong type is still an error.
class Config {
public:
  /// Opens a file that contains one JSON object.
  static Result<Config> open(const std::string &path);
  /// Parses text; `where` replaces the file name in messages.
  static Result<Config> parse(std::string_view text, std::string_view where);

  /// Wraps a value that was already read, for example an item of a list.
  static Result<Config> fromJson(nlohmann::json value, std::string where);

  /// Returns the file name, with which messages begin.
  const std::string &where() const { return place; }
  /// Returns whether the key is present and not null.
  bool has(std::string_view key) const;
  /// Returns whether the key is present, even as null. Does not count as reading.
  bool isPresent(std::string_view key) const;
  /// Returns every key, sorted.
  std::vector<std::string> keys() const;
  /// Returns the keys that the functions below were called with, present or not, sorted.
  std::vector<std::string> readKeys() const;
  /// Returns the keys that are present, even as null, and were not read, sorted.
  std::vector<std::string> unreadKeys() const;
  /// Returns the value of a key as compact JSON text; "null" if it is missing. Does not count as
  /// reading.
  std::string json(std::string_view key) const;
  /// Returns the value of a key as messages show it. Does not count as reading.
  std::string describe(std::string_view key) const;

  /// Returns an integer from `min` to `max`, inclusive; 3.0 is not one.
  Result<int64_t> integer(std::string_view key, int64_t min, int64_t max) const;
  Result<int64_t> integerOr(std::string_view key, int64_t min, int64_t max, int64_t absent) const;

  /// Returns a number from `min` to `max`, inclusive.
  Result<double> number(std::string_view key, double min, double max) const;
  Result<double> numberOr(std::string_view key, double min, double max, double absent) const;

  Result<std::string> string(std::string_view key) const;
  Result<std::string> stringOr(std::string_view key, std::string_view absent) const;

  Result<bool> boolean(std::string_view key) const;
  Result<bool> booleanOr(std::string_view key, bool absent) const;

  /// Returns a string that is one of `choices`; the message lists them.
  Result<std::string> oneOf(std::string_view key, std::span<const std::string> choices) const;
  Result<std::string> oneOf(std::string_view key,
                            std::initializer_list<std::string_view> choices) const;
  Result<std::string> oneOfOr(std::string_view key, std::initializer_list<std::string_view> choices,
                              std::string_view absent) const;

  /// Returns an integer or a list of integers, each from `min` to `max`.
  Result<std::vector<int64_t>> integers(std::string_view key, int64_t min, int64_t max) const;
  /// Returns a list of lists of integers from `min` to `max`.
  Result<std::vector<std::vector<int64_t>>> integerLists(std::string_view key, int64_t min,
                                                         int64_t max) const;

  /// Returns a list of strings.
  Result<std::vector<std::string>> strings(std::string_view key) const;

  /// Returns the items of a list, or a single value that is not a list: each as the value of the
  /// same key in a separate configuration, whose messages name the item.
  Result<std::vector<Config>> each(std::string_view key) const;
  /// Returns whether the value of a key is an object.
  bool isObject(std::string_view key) const;

  /// Returns a nested object; its messages begin with `where: "key"`.
  Result<Config> object(std::string_view key) const;

private:
  Config(std::shared_ptr<const nlohmann::json> values, std::string where);
  const nlohmann::json *peek(std::string_view key) const;
  const nlohmann::json *find(std::string_view key) const;
  Status unexpected(std::string_view key, std::string_view expected) const;

  std::shared_ptr<const nlohmann::json> values;
  std::shared_ptr<std::set<std::string, std::less<>>> asked;
  std::string place;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_CONFIG_H
