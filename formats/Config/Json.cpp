// SPDX-License-Identifier: Apache-2.0
///
/// Builds the tree from nlohmann-json's events, because its own tree builder neither limits the
/// depth nor detects repeated keys.
#include "formats/Config/Json.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace heddle {

/// Receives parse events. After one returns false, `failure` has the reason.
template <typename Json> class TreeBuilder {
public:
  TreeBuilder(std::string_view text, std::string_view where, LongIntegers integers)
      : text(text), where(where), integers(integers) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(typename Json::number_integer_t value) { return add(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) { return add(value); }
  bool number_float(typename Json::number_float_t value, const std::string &spelling);
  bool string(std::string &value) { return add(std::move(value)); }
  // Only the binary formats have it.
  bool binary(typename Json::binary_t &) { return false; }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool end_object() { return checkOrderedKeys() && close(); }
  bool key(std::string &name);
  bool parse_error(size_t position, const std::string &, const typename Json::exception &error);

  Json root;
  Status failure;

private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  Json *place(Json value);
  bool open(Json container);
  bool close() {
    containers.pop_back();
    return true;
  }
  bool checkOrderedKeys();
  bool rejectDuplicate(std::string_view name) {
    failure =
        HEDDLE_ERROR(InvalidArgument, fmt::format("{}: key {} appears twice", where, quote(name)));
    return false;
  }

  static constexpr bool ordered = std::is_same_v<Json, nlohmann::ordered_json>;
  std::string_view text;
  std::string_view where;
  LongIntegers integers;
  // The open containers. A pointer stays valid: its parent does not grow while it is open.
  std::vector<Json *> containers;
  // The destination of the last key's value.
  Json *slot = nullptr;
};

/// Stores a value in the innermost container, or as the root.
template <typename Json> Json *TreeBuilder<Json>::place(Json value) {
  if (containers.empty()) {
    root = std::move(value);
    return &root;
  }
  Json &parent = *containers.back();
  if (parent.is_object()) {
    *slot = std::move(value);
    return slot;
  }
  auto &items = parent.template get_ref<typename Json::array_t &>();
  items.push_back(std::move(value));
  return &items.back();
}

template <typename Json> bool TreeBuilder<Json>::open(Json container) {
  if (containers.size() == jsonDepthLimit) {
    failure = HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: lists and objects nest deeper than {} levels", where, jsonDepthLimit));
    return false;
  }
  containers.push_back(place(std::move(container)));
  return true;
}

/// Handles a number with a fraction or an exponent, or an integer that needs more than 64 bits.
template <typename Json>
bool TreeBuilder<Json>::number_float(typename Json::number_float_t value,
                                     const std::string &spelling) {
  if (integers == LongIntegers::Refuse && spelling.find_first_of(".eE") == std::string::npos) {
    failure = HEDDLE_ERROR(InvalidArgument, fmt::format("{}: integer {} needs more than 64 bits",
                                                        where, quote(spelling, 40)));
    return false;
  }
  return add(value);
}

template <typename Json> bool TreeBuilder<Json>::key(std::string &name) {
  auto &object = containers.back()->template get_ref<typename Json::object_t &>();
  if constexpr (ordered) {
    // The map's emplace would search all previous keys; repeated keys are detected at the end
    // instead.
    using Pairs = typename Json::object_t::Container;
    slot = &static_cast<Pairs &>(object).emplace_back(std::move(name), Json()).second;
    return true;
  } else {
    const auto [entry, isNew] = object.try_emplace(std::move(name));
    slot = &entry->second;
    return isNew || rejectDuplicate(entry->first);
  }
}

/// Checks the keys of an ordered object that has just ended.
template <typename Json> bool TreeBuilder<Json>::checkOrderedKeys() {
  if constexpr (ordered) {
    std::vector<std::string_view> names;
    for (const auto &[name, value] :
         containers.back()->template get_ref<typename Json::object_t &>()) {
      names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() || rejectDuplicate(*twice);
  } else {
    return true;
  }
}

template <typename Json>
bool TreeBuilder<Json>::parse_error(size_t position, const std::string &,
                                    const typename Json::exception &error) {
  // 406 is a number that no double can represent. All others are syntax errors.
  constexpr int numberOutOfRange = 406;
  const char *const problem = error.id == numberOutOfRange ? "a number is too large" : "not JSON";
  // The library counts from one and counts the end of the text as a byte.
  const size_t at = std::min(position > 0 ? position - 1 : 0, text.size());
  const size_t begin = at < 20 ? 0 : at - 20;
  failure = HEDDLE_ERROR(InvalidArgument,
                         fmt::format("{}: {} at {}, near {}", where, problem, placeInText(text, at),
                                     quote(text.substr(begin, at + 10 - begin))));
  return false;
}

template <typename Json>
static Result<Json> parse(std::string_view text, std::string_view where,
                          LongIntegers integers = LongIntegers::Round) {
  if (const std::string problem = describeInvalidUtf8(text); !problem.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {}", where, problem));
  }
  TreeBuilder<Json> builder(text, where, integers);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return builder.failure;
  }
  return std::move(builder.root);
}

template <typename Json> static Result<Json> readFile(const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > jsonFileLimit) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} bytes long, expected JSON of at most {} bytes", path,
                                    file.bytes().size(), jsonFileLimit));
  }
  return parse<Json>(file.text(), path);
}

template <typename Json> static std::string describe(const Json &value) {
  if (value.is_array()) {
    return fmt::format("a list of {}", value.size());
  }
  if (value.is_object()) {
    return fmt::format("an object of {}", value.size());
  }
  if (value.is_string()) {
    return quote(value.template get_ref<const std::string &>(), 80);
  }
  return value.dump();
}

Result<nlohmann::json> parseJson(std::string_view text, std::string_view where) {
  return parse<nlohmann::json>(text, where);
}

Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view where,
                                                LongIntegers integers) {
  return parse<nlohmann::ordered_json>(text, where, integers);
}

Result<nlohmann::json> readJsonFile(const std::string &path) {
  return readFile<nlohmann::json>(path);
}

Result<nlohmann::ordered_json> readOrderedJsonFile(const std::string &path) {
  return readFile<nlohmann::ordered_json>(path);
}

std::string describeJson(const nlohmann::json &value) { return describe(value); }

std::string describeJson(const nlohmann::ordered_json &value) { return describe(value); }

} // namespace heddle
