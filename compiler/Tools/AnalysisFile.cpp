// SPDX-License-Identifier: Apache-2.0
///
/// Every member is checked before anything is shown.
#include "compiler/Tools/AnalysisFile.h"

#include "frontend/Config/Json.h"

namespace heddle {

using Json = nlohmann::json;

/// More layers than any model has; a picture of more could not be read.
static constexpr size_t mostLayers = 512;

namespace {
/// A member of the file, with its name for messages: "kinds[0].divergence".
class Member {
public:
  Member(const std::string &path, std::string name, const Json *value)
      : path(path), name(std::move(name)), value(value) {}

  /// A member of an object; it may be absent.
  Member operator[](const char *key) const {
    const bool found = value != nullptr && value->is_object() && value->contains(key);
    return {path, name.empty() ? key : name + "." + key, found ? &value->at(key) : nullptr};
  }

  Status expected(const std::string &what) const {
    const std::string seen = value == nullptr ? "missing" : describeJson(*value);
    return HEDDLE_ERROR(InvalidArgument, path + ": " + (name.empty() ? "the file" : name) + " is " +
                                             seen + ", expected " + what);
  }

  Result<std::string> text() const {
    return value != nullptr && value->is_string() ? Result<std::string>(value->get<std::string>())
                                                  : expected("a string");
  }
  Result<int64_t> count() const {
    return value != nullptr && value->is_number_integer() && *value >= 0
               ? Result<int64_t>(value->get<int64_t>())
               : expected("a whole number, 0 or more");
  }
  bool isNull() const { return value == nullptr || value->is_null(); }
  bool isNumber() const { return value != nullptr && value->is_number(); }
  bool isObject() const { return value != nullptr && value->is_object(); }
  double number() const { return value->get<double>(); }

  /// The elements of a list of `least` to `most`, or nothing.
  std::optional<std::vector<Member>> list(size_t least, size_t most) const {
    if (value == nullptr || !value->is_array() || value->size() < least || value->size() > most) {
      return std::nullopt;
    }
    std::vector<Member> members;
    for (size_t i = 0; i < value->size(); ++i) {
      members.emplace_back(path, name + "[" + std::to_string(i) + "]", &value->at(i));
    }
    return members;
  }

private:
  const std::string &path;
  std::string name;
  const Json *value;
};
} // namespace

static Status readLayers(const Member &member, AttentionAnalysis &analysis) {
  const auto layers = member.list(1, mostLayers);
  if (!layers) {
    return member.expected("a list of 1 to " + std::to_string(mostLayers) + " names");
  }
  for (const Member &layer : *layers) {
    HEDDLE_ASSIGN(std::string name, layer.text());
    analysis.layers.push_back(std::move(name));
  }
  return {};
}

static Status readDivergence(const Member &member, AttentionAnalysis &analysis) {
  const size_t size = analysis.layers.size();
  const auto rows = member.list(size, size);
  if (!rows) {
    return member.expected("a list of " + std::to_string(size) + ", a row for each of its layers");
  }
  for (const Member &row : *rows) {
    const auto values = row.list(size, size);
    if (!values) {
      return row.expected("a list of " + std::to_string(size) + ", a number for each layer");
    }
    std::vector<double> &numbers = analysis.divergence.emplace_back();
    for (const Member &value : *values) {
      // One bit is the largest divergence of two distributions; rounding may add a little.
      if (!value.isNumber() || !(value.number() >= 0) || value.number() > 1.001) {
        return value.expected("a number from 0 to 1");
      }
      numbers.push_back(value.number());
    }
  }
  return {};
}

static Status readPolicy(const Member &member, AttentionAnalysis &analysis) {
  if (member.isNull()) {
    return {};
  }
  auto left = static_cast<int64_t>(analysis.layers.size());
  const std::string wanted =
      "null, or sizes of blocks that add up to its " + std::to_string(left) + " layers";
  const auto blocks = member.list(1, analysis.layers.size());
  if (!blocks) {
    return member.expected(wanted);
  }
  std::vector<int64_t> &policy = analysis.policy.emplace();
  for (const Member &block : *blocks) {
    HEDDLE_ASSIGN(const int64_t size, block.count());
    if (size < 1 || size > left) {
      return member.expected(wanted);
    }
    policy.push_back(size);
    left -= size;
  }
  return left == 0 ? Status() : member.expected(wanted);
}

static Result<AttentionAnalysis> readKind(const Member &member) {
  AttentionAnalysis analysis;
  if (!member.isObject()) {
    return member.expected("an object");
  }
  HEDDLE_ASSIGN(analysis.kind, member["kind"].text());
  HEDDLE_TRY(readLayers(member["layers"], analysis));
  HEDDLE_TRY(readDivergence(member["divergence"], analysis));
  HEDDLE_TRY(readPolicy(member["policy"], analysis));
  return analysis;
}

Result<Analysis> readAnalysis(const std::string &path) {
  HEDDLE_ASSIGN(const Json json, readJsonFile(path));
  const Member file(path, "", &json);
  if (!file.isObject()) {
    return file.expected("an object, as 'heddle analyze --output' writes it");
  }
  Analysis analysis;
  HEDDLE_ASSIGN(analysis.model, file["model"].text());
  HEDDLE_ASSIGN(analysis.sentences, file["sentences"].count());
  HEDDLE_ASSIGN(analysis.positions, file["positions"].count());
  const Member theta = file["theta"];
  if (!theta.isNull() && !theta.isNumber()) {
    return theta.expected("a number or null");
  }
  if (theta.isNumber()) {
    analysis.theta = theta.number();
  }
  const Member kinds = file["kinds"];
  const auto list = kinds.list(0, mostLayers);
  if (!list) {
    return kinds.expected("a list");
  }
  for (const Member &member : *list) {
    HEDDLE_ASSIGN(AttentionAnalysis kind, readKind(member));
    analysis.kinds.push_back(std::move(kind));
  }
  return analysis;
}

} // namespace heddle
