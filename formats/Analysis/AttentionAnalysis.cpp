// SPDX-License-Identifier: Apache-2.0
///
/// Writes the file with one line for each row of a matrix, and reads it, checking every field.
#include "formats/Analysis/AttentionAnalysis.h"

#include "heddle/AttentionKind.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle {

double similarityOfBlock(const SimilarityMatrix &similarity, size_t first, size_t count) {
  if (count < 2) {
    return 1;
  }
  double sum = 0;
  for (size_t i = first; i < first + count; ++i) {
    for (size_t j = first; j < first + count; ++j) {
      sum += i == j ? 0 : similarity[i][j];
    }
  }
  return sum / (static_cast<double>(count) * static_cast<double>(count - 1));
}

std::vector<int64_t> sharingPolicy(const SimilarityMatrix &similarity, double theta,
                                   BlockRule rule) {
  std::vector<int64_t> policy;
  for (size_t first = 0; first < similarity.size();) {
    size_t size = 1;
    for (size_t count = 2; first + count <= similarity.size(); ++count) {
      const bool isSimilar = similarityOfBlock(similarity, first, count) > theta;
      if (!isSimilar && rule == BlockRule::Extend) {
        break;
      }
      size = isSimilar ? count : size;
    }
    policy.push_back(static_cast<int64_t>(size));
    first += size;
  }
  return policy;
}

using Json = nlohmann::json;

std::optional<std::string> shareAttention(const AttentionAnalysis &analysis) {
  if (!analysis.theta) {
    return std::nullopt;
  }
  std::vector<std::string> kinds;
  for (const KindAnalysis &kind : analysis.kinds) {
    const std::vector<int64_t> policy = kind.policy.value_or(std::vector<int64_t>());
    if (std::any_of(policy.begin(), policy.end(), [](int64_t size) { return size > 1; })) {
      // The analysis names the source of the keys; the option names the kind of attention.
      const AttentionSpelling *spelling = findAttentionKind(kind.kind);
      kinds.push_back(fmt::format("{}:{}", spelling ? spelling->policyName : kind.kind,
                                  fmt::join(policy, ",")));
    }
  }
  return fmt::format("{}", fmt::join(kinds, ","));
}

// --- Writing -----------------------------------------------------------------------------------

static std::string quoted(const std::string &text) {
  // "replace" keeps this call from throwing.
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the shortest decimal that parses to the same number; null for NaN and infinity.
static std::string numberText(double value) { return Json(value).dump(); }

static std::string kindText(const KindAnalysis &kind) {
  std::vector<std::string> names;
  std::transform(kind.layers.begin(), kind.layers.end(), std::back_inserter(names), quoted);
  std::vector<std::string> rows;
  for (const std::vector<double> &row : kind.similarity) {
    std::vector<std::string> numbers;
    std::transform(row.begin(), row.end(), std::back_inserter(numbers), numberText);
    rows.push_back(fmt::format("[{}]", fmt::join(numbers, ", ")));
  }
  const std::string policy =
      kind.policy ? fmt::format("[{}]", fmt::join(*kind.policy, ", ")) : std::string("null");
  return fmt::format(
      "  {{\"kind\": {}, \"layers\": [{}],\n   \"positions\": {},\n   \"similarity\": "
      "[\n    {}],\n   \"policy\": {}}}",
      quoted(kind.kind), fmt::join(names, ", "), kind.positions, fmt::join(rows, ",\n    "),
      policy);
}

std::string writeAnalysis(const AttentionAnalysis &analysis) {
  std::vector<std::string> kinds;
  std::transform(analysis.kinds.begin(), analysis.kinds.end(), std::back_inserter(kinds), kindText);
  const std::optional<std::string> sharing = shareAttention(analysis);
  return fmt::format("{{\"model\": {}, \"measure\": {},\n"
                     " \"theta\": {}, \"sentences\": {}, \"positions\": {},\n"
                     " \"kinds\": [\n{}],\n \"share_attention\": {}}}\n",
                     quoted(analysis.model),
                     quoted(fmt::format("similarity of layers, {}", similarityMeaning)),
                     analysis.theta ? numberText(*analysis.theta) : std::string("null"),
                     analysis.sentences, analysis.positions, fmt::join(kinds, ",\n"),
                     sharing ? quoted(*sharing) : std::string("null"));
}

// --- Reading -----------------------------------------------------------------------------------

/// More layers than any model has.
static constexpr size_t mostLayers = 4096;

static Status wrong(std::string_view where, std::string_view seen, std::string_view expected) {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} is {}, expected {}", where, seen, expected));
}

/// Describes a value for messages. Lists and objects are only counted: printing deeply nested ones
/// would need as deep a stack.
static std::string shown(const Json &value) {
  const auto isFlat = [](const Json &each) { return !each.is_structured(); };
  if (value.is_object() || (value.is_array() && !std::all_of(value.begin(), value.end(), isFlat))) {
    return fmt::format("{} of {}", value.is_array() ? "a list" : "an object", value.size());
  }
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 60 ? fmt::format("{}...", text.substr(0, 60)) : text;
}

static const Json &fieldOf(const Json &object, const char *name) {
  static const Json absent;
  const auto found = object.find(name);
  return found == object.end() ? absent : *found;
}

static Result<int64_t> readCount(const Json &object, const char *name, const std::string &where) {
  const Json &value = fieldOf(object, name);
  if (!value.is_number_integer() || value.get<int64_t>() < 0) {
    return wrong(fmt::format("{}\"{}\"", where, name), shown(value), "an integer of at least 0");
  }
  return value.get<int64_t>();
}

static Result<SimilarityMatrix> readMatrix(const Json &value, size_t layers,
                                           const std::string &where) {
  const std::string expected = fmt::format("{} rows of {} numbers from 0 to 1", layers, layers);
  if (!value.is_array() || value.size() != layers) {
    return wrong(where, shown(value), expected);
  }
  SimilarityMatrix matrix;
  for (const Json &row : value) {
    if (!row.is_array() || row.size() != layers) {
      return wrong(fmt::format("{}[{}]", where, matrix.size()), shown(row), expected);
    }
    std::vector<double> &numbers = matrix.emplace_back();
    for (const Json &number : row) {
      const double similarity = number.is_number() ? number.get<double>() : -1;
      if (!(similarity >= 0 && similarity <= 1)) {
        return wrong(fmt::format("{}[{}][{}]", where, matrix.size() - 1, numbers.size()),
                     shown(number), "a number from 0 to 1");
      }
      numbers.push_back(similarity);
    }
  }
  return matrix;
}

static Result<std::optional<std::vector<int64_t>>> readPolicy(const Json &value, size_t layers,
                                                              const std::string &where) {
  if (value.is_null()) {
    return std::optional<std::vector<int64_t>>();
  }
  const std::string expected =
      fmt::format("null, or block sizes of at least 1 that add up to {}", layers);
  std::vector<int64_t> sizes;
  int64_t left = static_cast<int64_t>(layers);
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
    const int64_t size = value[i].is_number_integer() ? value[i].get<int64_t>() : 0;
    if (size < 1 || size > left) {
      return wrong(where, shown(value), expected);
    }
    left -= size;
    sizes.push_back(size);
  }
  if (!value.is_array() || left != 0) {
    return wrong(where, shown(value), expected);
  }
  return std::optional(std::move(sizes));
}

static Result<KindAnalysis> readKind(const Json &value, const std::string &where) {
  if (!value.is_object()) {
    return wrong(where.substr(0, where.size() - 1), shown(value), "an object");
  }
  KindAnalysis kind;
  const Json &name = fieldOf(value, "kind");
  kind.kind = name.is_string() ? name.get<std::string>() : std::string();
  if (!findAttentionKind(kind.kind)) {
    return wrong(where + "\"kind\"", shown(name), attentionKindChoices());
  }
  const Json &layers = fieldOf(value, "layers");
  const auto isText = [](const Json &each) { return each.is_string(); };
  if (!layers.is_array() || layers.empty() || layers.size() > mostLayers ||
      !std::all_of(layers.begin(), layers.end(), isText)) {
    return wrong(where + "\"layers\"", shown(layers),
                 fmt::format("1 to {} layer names", mostLayers));
  }
  kind.layers = layers.get<std::vector<std::string>>();
  if (value.contains("positions")) {
    HEDDLE_ASSIGN(kind.positions, readCount(value, "positions", where));
  }
  if (value.contains("divergence") && !value.contains("similarity")) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}\"divergence\" is what an earlier version wrote, expected "
                                    "\"similarity\": run 'heddle analyze' again",
                                    where));
  }
  HEDDLE_ASSIGN(kind.similarity, readMatrix(fieldOf(value, "similarity"), kind.layers.size(),
                                            where + "\"similarity\""));
  HEDDLE_ASSIGN(kind.policy,
                readPolicy(fieldOf(value, "policy"), kind.layers.size(), where + "\"policy\""));
  return kind;
}

Result<AttentionAnalysis> readAnalysis(std::string_view text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) {
    return HEDDLE_ERROR(InvalidArgument,
                        "not a JSON object, expected what 'heddle analyze' writes");
  }
  AttentionAnalysis analysis;
  const Json &model = fieldOf(file, "model");
  if (!model.is_string()) {
    return wrong("\"model\"", shown(model), "a string");
  }
  analysis.model = model.get<std::string>();
  const Json &theta = fieldOf(file, "theta");
  if (!theta.is_null() && !theta.is_number()) {
    return wrong("\"theta\"", shown(theta), "a number or null");
  }
  if (theta.is_number()) {
    analysis.theta = theta.get<double>();
  }
  HEDDLE_ASSIGN(analysis.sentences, readCount(file, "sentences", ""));
  HEDDLE_ASSIGN(analysis.positions, readCount(file, "positions", ""));
  const Json &kinds = fieldOf(file, "kinds");
  if (!kinds.is_array()) {
    return wrong("\"kinds\"", shown(kinds), "a list");
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    HEDDLE_ASSIGN(KindAnalysis kind, readKind(kinds[i], fmt::format("\"kinds\"[{}].", i)));
    analysis.kinds.push_back(std::move(kind));
  }
  return analysis;
}

} // namespace heddle
