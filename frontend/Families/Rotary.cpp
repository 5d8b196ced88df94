// SPDX-License-Identifier: Apache-2.0
///
/// Frequencies for every kind of scaling, and the rotation as sums of products.
#include "frontend/Families/Rotary.h"

#include "base/Utf8.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"
#include "frontend/Families/Family.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <optional>

namespace heddle {

using transformer::Activation;

/// An upper limit for bases, factors and lengths.
static constexpr double largestNumber = 1e12;

namespace {

/// The configuration of rotary positions.
struct RotarySource {
  const Config &config;
  /// "rope_parameters", or its part for some layers, or "rope_scaling".
  std::optional<Config> parameters;
  std::string type = "default";
  float base = 0;
  /// The number of rotated columns of a head.
  int64_t turned = 0;
  int64_t absentOriginal = 0;
  int64_t textLength = 0;

  /// Returns a positive number of the parameters.
  Result<double> number(std::string_view key) const {
    return parameters->number(key, std::numeric_limits<double>::min(), largestNumber);
  }
  Result<double> numberOr(std::string_view key, double absent) const {
    return parameters->numberOr(key, 0, largestNumber, absent);
  }
  Result<int64_t> mostPositions() const {
    return config.integer("max_position_embeddings", 1, tableLimit);
  }
  /// Returns the length of the model's original training texts. If it occurs twice, the one outside
  /// the parameters takes precedence.
  Result<int64_t> originalPositions() const {
    static constexpr std::string_view key = "original_max_position_embeddings";
    HEDDLE_ASSIGN(const int64_t inside, parameters->integerOr(key, 1, tableLimit, 0));
    HEDDLE_ASSIGN(
        const int64_t outside,
        config.integerOr(key, 1, tableLimit, absentOriginal > 0 ? absentOriginal : inside));
    return outside > 0 ? Result<int64_t>(outside) : mostPositions();
  }
};

} // namespace

// --- Frequencies -----------------------------------------------------------------------------

/// RoFormer, section 3.2.2: base^(-2 i / d), in f32 throughout.
static std::vector<float> plainFrequencies(int64_t turned, float base) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < turned; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(turned);
    frequencies.push_back(1.0F / std::pow(base, exponent));
  }
  return frequencies;
}

/// Chen et al., "Extending context window of large language models via positional interpolation".
static Status scaleLinearly(const RotarySource &source, Rotary &rotary) {
  HEDDLE_ASSIGN(const double factor, source.number("factor"));
  for (float &frequency : rotary.frequencies) {
    frequency /= static_cast<float>(factor);
  }
  return {};
}

/// "NTK-aware" scaling: the base grows with the text length beyond that of training; shorter texts
/// are not scaled. Cached keys have been rotated for an earlier length, so one length is used for
/// all texts. In f32, as in Transformers.
static Status scaleDynamically(const RotarySource &source, Rotary &rotary) {
  HEDDLE_ASSIGN(const double factor, source.number("factor"));
  HEDDLE_TRY(source.originalPositions().status());
  HEDDLE_ASSIGN(const int64_t most, source.mostPositions());
  rotary.mostRows = std::max(most, source.textLength);
  rotary.dependsOnLength = true;
  if (rotary.mostRows == most) {
    rotary.note = fmt::format("rotary positions are \"dynamic\": texts have at most {} tokens, "
                              "since frequencies of longer ones depend on the length; "
                              "--text-length chooses one",
                              most);
    return {};
  }
  const float growth =
      static_cast<float>(factor) * static_cast<float>(rotary.mostRows) / static_cast<float>(most) -
      static_cast<float>(factor - 1);
  const auto columns = static_cast<float>(source.turned);
  // With two columns the base would be infinite, but their only frequency is one for any base.
  const float base = source.base * std::pow(growth, columns / (columns - 2));
  rotary.frequencies = plainFrequencies(source.turned, base);
  rotary.note = fmt::format("rotary positions are \"dynamic\": all texts, of at most {} tokens, "
                            "have the frequencies of the longest",
                            rotary.mostRows);
  return {};
}

/// Interpolates frequencies between two wavelengths and divides those with longer ones: Llama 3.1.
static Status scaleByWaveLength(const RotarySource &source, Rotary &rotary) {
  HEDDLE_ASSIGN(const double factor, source.number("factor"));
  HEDDLE_ASSIGN(const double low, source.number("low_freq_factor"));
  HEDDLE_ASSIGN(const double high, source.number("high_freq_factor"));
  HEDDLE_ASSIGN(const int64_t positions, source.originalPositions());
  if (high <= low) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"high_freq_factor\" is {}, expected more than "
                                    "\"low_freq_factor\", {}",
                                    source.parameters->where(), high, low));
  }
  const auto length = static_cast<double>(positions);
  const auto divisor = static_cast<float>(factor);
  for (float &frequency : rotary.frequencies) {
    const float wave = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wave > static_cast<float>(length / low)) {
      frequency /= divisor;
    } else if (wave >= static_cast<float>(length / high)) {
      const float smooth = (static_cast<float>(length) / wave - static_cast<float>(low)) /
                           static_cast<float>(high - low);
      frequency = (1 - smooth) * frequency / divisor + smooth * frequency;
    }
  }
  return {};
}

/// YaRN, Peng et al., section 3.4: the factor of scores for a factor of the length.
static double yarnScale(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

static Status readYarnFactor(const RotarySource &source, double factor, Rotary &rotary) {
  HEDDLE_ASSIGN(const double weight, source.numberOr("mscale", 0));
  HEDDLE_ASSIGN(const double weightOfAll, source.numberOr("mscale_all_dim", 0));
  const double usual = weight != 0 && weightOfAll != 0
                           ? yarnScale(factor, weight) / yarnScale(factor, weightOfAll)
                           : yarnScale(factor, 1);
  HEDDLE_ASSIGN(rotary.factor, source.numberOr("attention_factor", usual));
  return {};
}

/// YaRN, section 3.2: columns with many rotations are unchanged, those with less than one are
/// interpolated, with a ramp between.
static Status scaleByYarn(const RotarySource &source, Rotary &rotary) {
  HEDDLE_ASSIGN(const int64_t positions, source.originalPositions());
  double ratio = 0;
  if (!source.parameters->has("factor")) {
    HEDDLE_ASSIGN(const int64_t most, source.mostPositions());
    ratio = static_cast<double>(most) / static_cast<double>(positions);
  }
  HEDDLE_ASSIGN(const double factor, source.numberOr("factor", ratio));
  HEDDLE_ASSIGN(const double fast, source.numberOr("beta_fast", 32));
  HEDDLE_ASSIGN(const double slow, source.numberOr("beta_slow", 1));
  HEDDLE_ASSIGN(const bool truncates, source.parameters->booleanOr("truncate", true));
  if (factor <= 0 || fast <= 0 || slow <= 0 || source.base == 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"factor\" is {}, \"beta_fast\" {}, \"beta_slow\" {} and "
                                    "the base {}, expected numbers above 0 and another base than 1",
                                    source.parameters->where(), factor, fast, slow, source.base));
  }
  const auto columns = static_cast<double>(source.turned);
  // Returns the column that rotates `turns` times within the original length.
  const auto columnOf = [&](double turns) {
    return columns * std::log(static_cast<double>(positions) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(static_cast<double>(source.base)));
  };
  double low = columnOf(fast), high = columnOf(slow);
  low = std::max(truncates ? std::floor(low) : low, 0.0);
  high = std::min(truncates ? std::ceil(high) : high, columns - 1);
  high += low == high ? 0.001 : 0;
  for (size_t i = 0; i < rotary.frequencies.size(); ++i) {
    const float place =
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = 1 - std::clamp(place, 0.0F, 1.0F);
    const float plain = rotary.frequencies[i];
    rotary.frequencies[i] = plain / static_cast<float>(factor) * (1 - kept) + plain * kept;
  }
  return readYarnFactor(source, factor, rotary);
}

/// Reads a list with a divisor for each frequency.
static Result<std::vector<float>> readDivisors(const RotarySource &source, std::string_view key,
                                               size_t count) {
  HEDDLE_ASSIGN(const std::vector<Config> items, source.parameters->each(key));
  std::vector<float> divisors;
  for (const Config &item : items) {
    HEDDLE_ASSIGN(const double divisor, item.number(key, 1e-6, largestNumber));
    divisors.push_back(static_cast<float>(divisor));
  }
  if (divisors.size() != count) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} has {} numbers, expected {}, one for each pair of "
                                    "columns that turn",
                                    source.parameters->where(), quote(key), divisors.size(),
                                    count));
  }
  return divisors;
}

/// LongRoPE, Ding et al.: texts up to the original length have other divisors than longer ones. A
/// text that grows beyond it would have to be recomputed, so one list is used for all texts.
static Status scaleByList(const RotarySource &source, Rotary &rotary) {
  const size_t count = rotary.frequencies.size();
  HEDDLE_ASSIGN(const std::vector<float> shorts, readDivisors(source, "short_factor", count));
  HEDDLE_ASSIGN(const std::vector<float> longs, readDivisors(source, "long_factor", count));
  HEDDLE_ASSIGN(const int64_t positions, source.originalPositions());
  HEDDLE_ASSIGN(const int64_t most, source.mostPositions());
  HEDDLE_ASSIGN(const double factor, source.numberOr("factor", static_cast<double>(most) /
                                                                   static_cast<double>(positions)));
  const double usual =
      factor <= 1 || positions == 1
          ? 1
          : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(positions)));
  HEDDLE_ASSIGN(rotary.factor, source.numberOr("attention_factor", usual));
  const bool isLong = source.textLength > positions;
  for (size_t i = 0; i < count; ++i) {
    rotary.frequencies[i] /= isLong ? longs[i] : shorts[i];
  }
  if (shorts != longs) {
    rotary.dependsOnLength = true;
    rotary.mostRows = isLong ? source.textLength : positions;
    rotary.note =
        fmt::format("rotary positions are \"longrope\": all texts, of at most {} tokens, "
                    "have the frequencies of {}",
                    rotary.mostRows,
                    isLong ? "\"long_factor\"" : "\"short_factor\"; --text-length chooses others");
  }
  return {};
}

// --- Configuration ---------------------------------------------------------------------------

/// Finds the parameters in either form of config.json.
static Status findParameters(RotarySource &source, const RotarySpelling &spelling) {
  const Config &config = source.config;
  if (config.has("rope_parameters") && config.has("rope_scaling")) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"rope_scaling\" is given beside \"rope_parameters\", "
                                    "expected one of them",
                                    config.where()));
  }
  if (config.has("rope_parameters")) {
    HEDDLE_ASSIGN(source.parameters, config.object("rope_parameters"));
    if (!spelling.layers.empty()) {
      HEDDLE_ASSIGN(source.parameters, source.parameters->object(spelling.layers));
    }
  } else if (spelling.isScaled && config.has("rope_scaling")) {
    HEDDLE_ASSIGN(source.parameters, config.object("rope_scaling"));
  }
  return {};
}

/// Reads the kind of scaling, the base, and the number of rotated columns of a head.
static Result<RotarySource> readSource(const Config &config, int64_t headSize, int64_t textLength,
                                       const RotarySpelling &spelling) {
  RotarySource source{config, std::nullopt};
  source.textLength = textLength;
  source.absentOriginal = spelling.absentOriginal;
  HEDDLE_TRY(findParameters(source, spelling));
  constexpr double least = 1e-6;
  HEDDLE_ASSIGN(double base,
                config.numberOr(spelling.base, least, largestNumber, spelling.absentBase));
  double fraction = spelling.absentFraction;
  if (!spelling.fraction.empty()) {
    HEDDLE_ASSIGN(fraction, config.numberOr(spelling.fraction, 0, 1, fraction));
  }
  if (source.parameters) {
    const Config &parameters = *source.parameters;
    HEDDLE_ASSIGN(base, parameters.numberOr("rope_theta", least, largestNumber, base));
    HEDDLE_ASSIGN(fraction, parameters.numberOr("partial_rotary_factor", 0, 1, fraction));
    // Two names for one key; the new one takes precedence.
    HEDDLE_ASSIGN(const std::string old, parameters.stringOr("type", "default"));
    HEDDLE_ASSIGN(source.type, parameters.stringOr("rope_type", old));
    if (spelling.hasOldNames && (source.type == "su" || source.type == "yarn")) {
      source.type = "longrope";
    }
  }
  source.base = static_cast<float>(base);
  source.turned = static_cast<int64_t>(static_cast<double>(headSize) * fraction);
  if (source.turned % 2 != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} of the {} columns of a head turn, expected an even "
                                    "number",
                                    config.where(), source.turned, headSize));
  }
  return source;
}

/// The functions that scale plain frequencies.
static constexpr struct {
  std::string_view type;
  Status (*scale)(const RotarySource &source, Rotary &rotary);
} scalings[] = {{"linear", scaleLinearly},
                {"dynamic", scaleDynamically},
                {"llama3", scaleByWaveLength},
                {"yarn", scaleByYarn},
                {"longrope", scaleByList}};

static Status applyScaling(const RotarySource &source, Rotary &rotary) {
  if (source.type == "default") {
    return {};
  }
  std::string known = "default";
  for (const auto &scaling : scalings) {
    if (scaling.type == source.type) {
      return scaling.scale(source, rotary);
    }
    known += fmt::format(", {}", scaling.type);
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"rope_type\" is {}, expected one of {}",
                                  source.parameters->where(), quote(source.type), known));
}

void describeRotary(const Rotary &rotary, std::string_view where, FamilyModel &model) {
  model.dependsOnLength = model.dependsOnLength || rotary.dependsOnLength;
  if (!rotary.note.empty()) {
    model.notes.push_back(fmt::format("{}: {}", where, rotary.note));
  }
}

Result<Rotary> readRotary(const Config &config, int64_t headSize, int64_t textLength,
                          const RotarySpelling &spelling) {
  HEDDLE_ASSIGN(const RotarySource source, readSource(config, headSize, textLength, spelling));
  Rotary rotary;
  rotary.frequencies = plainFrequencies(source.turned, source.base);
  HEDDLE_TRY(applyScaling(source, rotary));
  const bool areFinite = std::all_of(rotary.frequencies.begin(), rotary.frequencies.end(),
                                     [](float x) { return std::isfinite(x); });
  if (!areFinite) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: a frequency of rotary positions is infinite, expected "
                                    "another base or factor",
                                    config.where()));
  }
  if (source.parameters) {
    const std::vector<std::string> unread = source.parameters->unreadKeys();
    // Transformers also writes the length for kinds of scaling that do not use it.
    const auto isStrange = [&](const std::string &key) {
      return key != "original_max_position_embeddings" && source.parameters->json(key) != "null";
    };
    const auto strange = std::find_if(unread.begin(), unread.end(), isStrange);
    if (strange != unread.end()) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: {} is {}, expected rotary positions of type {} without",
                                      source.parameters->where(), quote(*strange),
                                      source.parameters->describe(*strange), quote(source.type)));
    }
  }
  return rotary;
}

// --- Rotation --------------------------------------------------------------------------------

Rotation::Rotation(const Scope &scope, const Rotary &rotary, const Segments &rows)
    : rows(rows), pairs(static_cast<int64_t>(rotary.frequencies.size())) {
  if (pairs > 0) {
    const Tensor angles = scope.angles(rows, rotary.frequencies, rotary.mostRows);
    cosine = angles.activate(Activation::Cos);
    sine = angles.activate(Activation::Sin);
  }
  if (pairs > 0 && rotary.factor != 1) {
    cosine = cosine * rotary.factor;
    sine = sine * rotary.factor;
  }
}

/// RoFormer, equation 34, with columns j and j + pairs instead of adjacent ones: (x, y) rotated by
/// an angle is (x cos - y sin, y cos + x sin).
Tensor Rotation::of(const Scope &scope, const Tensor &x, int64_t heads) const {
  if (pairs == 0) {
    return x;
  }
  // One row for each head.
  const Segments all = rows.choices(heads);
  const Tensor head = x.splitRows(all);
  const Tensor c = cosine.repeat(all), s = sine.repeat(all);
  const Tensor near = head.columns(0, pairs), far = head.columns(pairs, pairs);
  std::vector<Tensor> parts = {near * c + far * s * -1, far * c + near * s};
  if (2 * pairs < head.width()) {
    parts.push_back(head.columns(2 * pairs, head.width() - 2 * pairs));
  }
  return scope.concat(std::move(parts)).joinRows(all);
}

} // namespace heddle
