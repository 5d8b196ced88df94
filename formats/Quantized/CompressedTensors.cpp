// SPDX-License-Identifier: Apache-2.0
///
/// The compressed-tensors format: each matrix has scales, and config.json describes how groups of
/// layers are quantised. Codes are stored row by row, as bytes ("int-quantized") or several in a
/// word ("pack-quantized"), the first in the lowest bits and with an offset: the code is 2^(bits -
/// 1) less than the unsigned value.
#include "base/Utf8.h"
#include "formats/Checkpoint/Convert.h"
#include "formats/Quantized/QuantizedParts.h"
#include "heddle/Limits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

namespace {

/// One of "config_groups".
struct Scheme {
  unsigned bits = 8;
  bool isSymmetric = true;
  bool hasTensorScale = false;
  /// 0: one scale for each row.
  int64_t group = 0;
  /// The bits of activations; 0: not quantised.
  unsigned rowBits = 0;

  std::string kind() const {
    const std::string stored = fmt::format("W{}A{}", bits, rowBits == 0 ? 16 : rowBits);
    return group == 0 ? stored : fmt::format("{} groups of {}", stored, group);
  }
  int64_t scalesOfRow(int64_t columns) const { return group == 0 ? 1 : columns / group; }
  int64_t wordsOf(int64_t columns) const {
    const int64_t inWord = 32 / bits;
    return (columns + inWord - 1) / inWord;
  }
};

class CompressedCodes final : public QuantizedTensor {
public:
  /// `zeros` is null if all groups have the same zero point, 8 for 4 bits.
  CompressedCodes(const Scheme &scheme, std::span<const int64_t> shape, bool isPacked,
                  const StoredTensor &codes, const StoredTensor &scales, const StoredTensor *zeros)
      : QuantizedTensor({scheme.bits, scheme.group, scales.dtype}, shape[0], shape[1],
                        scheme.kind()),
        isPacked(isPacked), isSingle(scheme.hasTensorScale), stored(codes), scales(scales) {
    if (zeros != nullptr) {
      this->zeros = *zeros;
    }
  }

protected:
  void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const override {
    constexpr unsigned halfByte = 4, halfMask = 15;
    const int64_t rowBytes = static_cast<int64_t>(stored.bytes.size()) / rows();
    const auto width = static_cast<size_t>(columns());
    for (int64_t row = 0; row < count; ++row) {
      const std::byte *from = stored.bytes.data() + (first + row) * rowBytes;
      int8_t *to = codes.data() + static_cast<size_t>(row) * width;
      if (layout().bits == halfByte) {
        // Words are little-endian, so nibbles are in order.
        for (size_t i = 0; i < width; ++i) {
          const auto byte = std::to_integer<unsigned>(from[i / 2]);
          to[i] = static_cast<int8_t>(byte >> (i % 2 * halfByte) & halfMask);
        }
        continue;
      }
      const unsigned sign = isPacked ? 0x80 : 0;
      for (size_t i = 0; i < width; ++i) {
        to[i] = static_cast<int8_t>(std::to_integer<unsigned>(from[i]) ^ sign);
      }
    }
  }
  void unpackScales(int64_t first, int64_t count, std::span<float> to) const override {
    for (size_t i = 0; i < static_cast<size_t>(count * groups()); ++i) {
      to[i] = realAt(scales, isSingle ? 0 : first * groups() + static_cast<int64_t>(i));
    }
  }
  void unpackZeros(int64_t first, int64_t count, std::span<int8_t> to) const override {
    // Eight rows share a word.
    constexpr int64_t inWord = 8, middle = 8;
    for (int64_t i = 0; i < count * groups(); ++i) {
      const int64_t row = first + i / groups(), group = i % groups();
      int64_t zero = middle;
      if (zeros && zeros->dtype == ElementType::I8) {
        zero += std::to_integer<int8_t>(zeros->bytes[static_cast<size_t>(first * groups() + i)]);
      } else if (zeros) {
        zero = wordAt(*zeros, row / inWord * groups() + group) >> (row % inWord * 4) & 15U;
      }
      to[static_cast<size_t>(i)] = static_cast<int8_t>(zero);
    }
  }

private:
  bool isPacked, isSingle;
  StoredTensor stored, scales;
  std::optional<StoredTensor> zeros;
};

} // namespace

// --- configuration ---------------------------------------------------------------------------

static Status wrongKey(const Config &config, std::string_view key, std::string_view expected) {
  return HEDDLE_ERROR(Unsupported, fmt::format("{}: {} is {}, expected {}", config.where(),
                                               quote(key), config.describe(key), expected));
}

/// Reads the size of groups, for a strategy that has them.
static Status readStrategy(const Config &weights, Scheme &scheme) {
  HEDDLE_ASSIGN(const std::string strategy,
                weights.oneOfOr("strategy", {"tensor", "channel", "group"}, "tensor"));
  constexpr int64_t mostInGroup = int64_t{1} << 20;
  HEDDLE_ASSIGN(const int64_t group, weights.integerOr("group_size", -1, mostInGroup, -1));
  scheme.hasTensorScale = strategy == "tensor";
  if (strategy != "group") {
    return group <= 0 ? Status()
                      : wrongKey(weights, "group_size",
                                 fmt::format("none of strategy {}", quote(strategy)));
  }
  constexpr int64_t codesInWord = 8;
  if (group < 1 || (scheme.bits == 4 && group % codesInWord != 0)) {
    return wrongKey(weights, "group_size",
                    scheme.bits == 4 ? "a multiple of 8 elements" : "a number above 0");
  }
  scheme.group = group;
  return {};
}

static Status readActivations(const Config &group, Scheme &scheme,
                              std::vector<std::string> &warnings) {
  if (group.has("output_activations")) {
    return wrongKey(group, "output_activations", "null");
  }
  if (!group.has("input_activations")) {
    return {};
  }
  HEDDLE_ASSIGN(const Config rows, group.object("input_activations"));
  HEDDLE_TRY(rows.oneOf("type", {"int"}).status());
  constexpr int64_t bits = 8;
  HEDDLE_TRY(rows.integer("num_bits", bits, bits).status());
  scheme.rowBits = bits;
  const std::string dynamic = rows.json("dynamic");
  HEDDLE_TRY(rows.has("dynamic") && dynamic != "\"local\"" ? rows.boolean("dynamic").status()
                                                           : Status());
  HEDDLE_ASSIGN(const std::string strategy, rows.stringOr("strategy", "tensor"));
  if (dynamic != "true" || strategy != "token") {
    warnings.push_back(fmt::format("{}: asks for {} scales by {}: activations are quantised row by "
                                   "row as they come instead",
                                   rows.where(), dynamic == "true" ? "dynamic" : "fixed",
                                   strategy));
  }
  warnOfUnreadKeys(rows,
                   {"symmetric", "group_size", "block_structure", "actorder", "observer",
                    "observer_kwargs", "dynamic", "scale_dtype", "zp_dtype"},
                   warnings);
  return {};
}

static Result<Scheme> readScheme(const Config &group, Quantization &said) {
  Scheme scheme;
  std::vector<std::string> &warnings = said.warnings;
  HEDDLE_ASSIGN(const Config weights, group.object("weights"));
  HEDDLE_TRY(weights.oneOf("type", {"int"}).status());
  HEDDLE_ASSIGN(const int64_t bits, weights.integer("num_bits", 4, 8));
  if (bits != 4 && bits != 8) {
    return wrongKey(weights, "num_bits", "4 or 8");
  }
  scheme.bits = static_cast<unsigned>(bits);
  HEDDLE_ASSIGN(scheme.isSymmetric, weights.booleanOr("symmetric", true));
  HEDDLE_TRY(readStrategy(weights, scheme));
  if (!scheme.isSymmetric && (scheme.bits == 8 || scheme.hasTensorScale)) {
    return wrongKey(weights, "symmetric",
                    scheme.bits == 8 ? "true of 8 bits" : "true of strategy \"tensor\"");
  }
  HEDDLE_TRY(readActivations(group, scheme, said.rowWarnings));
  warnOfUnreadKeys(weights,
                   {"block_structure", "dynamic", "actorder", "observer", "observer_kwargs",
                    "scale_dtype", "zp_dtype"},
                   warnings);
  HEDDLE_TRY(group
                 .oneOfOr("format", {"pack-quantized", "int-quantized", "naive-quantized"},
                          "pack-quantized")
                 .status());
  warnOfUnreadKeys(group, {"targets"}, warnings);
  return scheme;
}

static Result<std::vector<Scheme>> readSchemes(const Config &config, Quantization &said) {
  HEDDLE_ASSIGN(const Config groups, config.object("config_groups"));
  std::vector<Scheme> schemes;
  for (const std::string &name : groups.keys()) {
    HEDDLE_ASSIGN(const Config group, groups.object(name));
    HEDDLE_ASSIGN(const Scheme scheme, readScheme(group, said));
    if (!schemes.empty() && schemes.front().rowBits != scheme.rowBits) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("{}: quantises activations of some groups of layers and not "
                                      "of others, expected one of both",
                                      groups.where()));
    }
    schemes.push_back(scheme);
  }
  if (schemes.empty()) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("{}: has no groups of layers, expected one or more", groups.where()));
  }
  return schemes;
}

/// Checks the remaining keys of the configuration.
static Status checkRest(const Config &config, std::vector<std::string> &warnings) {
  HEDDLE_TRY(config
                 .oneOfOr("format", {"pack-quantized", "int-quantized", "naive-quantized"},
                          "pack-quantized")
                 .status());
  HEDDLE_TRY(config.oneOfOr("quantization_status", {"compressed"}, "compressed").status());
  for (const std::string_view key : {"sparsity_config", "transform_config"}) {
    const std::string value = config.json(key);
    if (value != "null" && value != "{}") {
      return wrongKey(config, key, "a model without");
    }
  }
  if (config.has("kv_cache_scheme")) {
    warnings.push_back(
        fmt::format("{}: \"kv_cache_scheme\" is ignored: caches are as elsewhere", config.where()));
  }
  warnOfUnreadKeys(config,
                   {"quant_method", "ignore", "global_compression_ratio", "sparsity_config",
                    "transform_config", "version", "kv_cache_scheme"},
                   warnings);
  return {};
}

// --- tensors ---------------------------------------------------------------------------------

/// Returns whether a layer's tensors match a scheme.
static bool matches(const Checkpoint &checkpoint, const std::string &layer, const Scheme &scheme,
                    std::span<const int64_t> shape) {
  const StoredTensor *const packed = checkpoint.find(layer + ".weight_packed");
  const StoredTensor *const scales = checkpoint.find(layer + ".weight_scale");
  const bool hasZeros = checkpoint.find(layer + ".weight_zero_point") != nullptr;
  const bool hasWords =
      packed == nullptr ? scheme.bits == 8
                        : packed->shape.size() == 2 && packed->shape[1] == scheme.wordsOf(shape[1]);
  if (!hasWords || scales == nullptr || (scheme.isSymmetric && hasZeros && scheme.bits == 4)) {
    return false;
  }
  if (scheme.hasTensorScale) {
    return scales->bytes.size() == infoOf(scales->dtype).bytes();
  }
  return (scheme.group == 0 || shape[1] % scheme.group == 0) && scales->shape.size() == 2 &&
         scales->shape[1] == scheme.scalesOfRow(shape[1]);
}

/// Returns the scheme of a layer: the one that its tensors match, otherwise the first, to report
/// the mismatch.
static const Scheme &schemeOf(const Checkpoint &checkpoint, const std::string &layer,
                              const std::vector<Scheme> &schemes, std::span<const int64_t> shape) {
  const auto found = std::find_if(schemes.begin(), schemes.end(), [&](const Scheme &scheme) {
    return matches(checkpoint, layer, scheme, shape);
  });
  return found == schemes.end() ? schemes.front() : *found;
}

/// Reads the numbers of rows and columns, which packed codes do not determine.
static Result<std::vector<int64_t>> readShape(LayerParts &parts) {
  constexpr std::string_view suffix = ".weight_shape";
  HEDDLE_ASSIGN(const StoredTensor *const stored,
                parts.part(suffix, {ElementType::I32, ElementType::I64}, std::vector<int64_t>{2}));
  int32_t sizes[2] = {};
  HEDDLE_TRY_WITH(convertToI32(stored->dtype, stored->bytes, sizes), parts.where(suffix));
  if (sizes[0] < 1 || sizes[1] < 1) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} is {} rows of {} columns, expected numbers above 0",
                                    parts.where(suffix), sizes[0], sizes[1]));
  }
  return std::vector<int64_t>{sizes[0], sizes[1]};
}

/// Returns the zero points of 4 bits, or null; those of 8 bits must be 0.
static Result<const StoredTensor *> readZeros(LayerParts &parts, const Scheme &scheme,
                                              std::span<const int64_t> shape) {
  constexpr std::string_view suffix = ".weight_zero_point";
  constexpr int64_t inWord = 8;
  const int64_t groups = scheme.scalesOfRow(shape[1]);
  if (scheme.isSymmetric) {
    HEDDLE_ASSIGN(const StoredTensor *const zeros,
                  parts.optionalPart(suffix, {ElementType::I8, ElementType::I32}));
    if (zeros != nullptr && std::any_of(zeros->bytes.begin(), zeros->bytes.end(),
                                        [](std::byte byte) { return byte != std::byte(0); })) {
      return HEDDLE_ERROR(DataLoss, fmt::format("{} has codes of zero other than 0, expected none "
                                                "of a symmetric scheme",
                                                parts.where(suffix)));
    }
    return static_cast<const StoredTensor *>(nullptr);
  }
  HEDDLE_ASSIGN(const StoredTensor *zeros, parts.part(suffix, {ElementType::I8, ElementType::I32}));
  const bool isPacked = zeros->dtype == ElementType::I32;
  HEDDLE_ASSIGN(
      zeros, parts.part(suffix, {ElementType::I8, ElementType::I32},
                        std::vector<int64_t>{isPacked ? (shape[0] + inWord - 1) / inWord : shape[0],
                                             groups}));
  constexpr int8_t least = -8, most = 7;
  const bool fits =
      isPacked || std::all_of(zeros->bytes.begin(), zeros->bytes.end(), [](std::byte byte) {
        const auto zero = std::to_integer<int8_t>(byte);
        return zero >= least && zero <= most;
      });
  if (!fits) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} has codes of zero beyond -8 to 7, expected those "
                                              "of 4 bits",
                                              parts.where(suffix)));
  }
  return zeros;
}

/// Checks a layer whose rows are quantised: integer products sum codes that share a scale.
static Status checkForIntegers(const Scheme &scheme, int64_t columns, const std::string &where) {
  const int64_t shared = scheme.group == 0 ? columns : scheme.group;
  const bool fits =
      shared <= mostIntegersInSum && (shared == columns || shared % codesTogether == 0);
  if (scheme.rowBits == 0 || fits) {
    return {};
  }
  return HEDDLE_ERROR(
      Unsupported, fmt::format("{}: {} elements share a scale, expected a multiple of {} or the "
                               "whole row, at most {}, where \"input_activations\" are quantised",
                               where, shared, codesTogether, mostIntegersInSum));
}

static Result<CodedTensor> readLayer(const Checkpoint &checkpoint, const std::string &layer,
                                     bool isPacked, const std::vector<Scheme> &schemes) {
  LayerParts parts(checkpoint, layer);
  std::vector<int64_t> shape;
  if (isPacked) {
    HEDDLE_ASSIGN(shape, readShape(parts));
  } else {
    HEDDLE_ASSIGN(const StoredTensor *const stored, parts.matrix(".weight", {ElementType::I8}));
    shape = stored->shape;
  }
  const Scheme &scheme = schemeOf(checkpoint, layer, schemes, shape);
  if (!isPacked && scheme.bits != 8) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{} has codes in bytes, expected \"num_bits\" of "
                                                 "8, got {}",
                                                 parts.where(".weight"), scheme.bits));
  }
  if (scheme.group != 0 && shape[1] % scheme.group != 0) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: rows have {} elements, expected a multiple of "
                                    "\"group_size\", {}",
                                    parts.where(isPacked ? ".weight_packed" : ".weight"), shape[1],
                                    scheme.group));
  }
  HEDDLE_TRY(
      checkForIntegers(scheme, shape[1], parts.where(isPacked ? ".weight_packed" : ".weight")));
  const StoredTensor *codes = checkpoint.find(layer + ".weight");
  if (isPacked) {
    HEDDLE_ASSIGN(codes, parts.part(".weight_packed", {ElementType::I32},
                                    std::vector<int64_t>{shape[0], scheme.wordsOf(shape[1])}));
  }
  HEDDLE_ASSIGN(
      const StoredTensor *scales,
      parts.part(".weight_scale", {ElementType::F32, ElementType::F16, ElementType::BF16}));
  const bool isSingle = scheme.hasTensorScale && scales->shape.size() <= 1 &&
                        scales->bytes.size() == infoOf(scales->dtype).bytes();
  if (!isSingle) {
    HEDDLE_ASSIGN(scales, parts.part(".weight_scale", {scales->dtype},
                                     std::vector<int64_t>{scheme.hasTensorScale ? 1 : shape[0],
                                                          scheme.scalesOfRow(shape[1])}));
  }
  HEDDLE_TRY(parts.checkScales(*scales));
  HEDDLE_ASSIGN(const StoredTensor *const zeros, readZeros(parts, scheme, shape));
  HEDDLE_TRY(
      parts.checkOrder(".weight_g_idx", shape[1], scheme.group == 0 ? shape[1] : scheme.group));
  // The calibrated scales of activations are unused: each row has its own.
  for (const std::string_view suffix : {".input_scale", ".input_zero_point", ".input_g_idx"}) {
    HEDDLE_TRY(parts
                   .optionalPart(suffix, {ElementType::F32, ElementType::F16, ElementType::BF16,
                                          ElementType::I8, ElementType::I32})
                   .status());
  }
  return std::move(parts).finish(
      std::make_shared<CompressedCodes>(scheme, shape, isPacked, *codes, *scales, zeros));
}

Result<CodedTensors> readCompressedTensors(const Config &config, const Checkpoint &checkpoint) {
  CodedTensors result;
  result.quantization.format = CodeFormat::CompressedTensors;
  HEDDLE_ASSIGN(const std::vector<Scheme> schemes, readSchemes(config, result.quantization));
  HEDDLE_TRY(checkRest(config, result.quantization.warnings));
  result.quantization.rowBits = schemes.front().rowBits;
  constexpr std::string_view packed = ".weight_packed", plain = ".weight";
  for (const std::string &name : checkpoint.names()) {
    const bool isPacked = name.ends_with(packed);
    const std::string layer =
        name.substr(0, name.size() - std::min((isPacked ? packed : plain).size(), name.size()));
    const bool isCoded = name.ends_with(plain) && checkpoint.find(name)->dtype == ElementType::I8;
    if (isPacked || isCoded) {
      HEDDLE_ASSIGN(CodedTensor tensor, readLayer(checkpoint, layer, isPacked, schemes));
      result.tensors.push_back(std::move(tensor));
    }
  }
  return result;
}

} // namespace heddle
