// SPDX-License-Identifier: Apache-2.0
///
/// The formats of GPTQ and AWQ, which store the transpose of a matrix [n, k]. GPTQ stores the codes
/// of eight successive k in a word, [k / 8][n]; AWQ those of eight columns, [k][n / 8], in the
/// order 0 2 4 6 1 3 5 7. Both have scales [groups][n] and zero points [groups][n / 8].
#include "base/Utf8.h"
#include "formats/Quantized/QuantizedParts.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

namespace {

/// The number of columns of the file that are unpacked together: a cache line of words for each k.
constexpr int64_t columnsAtOnce = 64;

/// Shared by both formats: everything but the codes.
class TransposedCodes : public QuantizedTensor {
public:
  TransposedCodes(CodeLayout layout, int64_t rows, int64_t columns, const StoredTensor &codes,
                  const StoredTensor &scales, const StoredTensor &zeros)
      : QuantizedTensor(
            layout, rows, columns,
            fmt::format("int{}", layout.bits) +
                (layout.group == 0 ? std::string() : fmt::format(" groups of {}", layout.group))),
        stored(codes), scales(scales), zeros(zeros) {}

protected:
  void unpackScales(int64_t first, int64_t count, std::span<float> to) const override {
    for (int64_t group = 0; group < groups(); ++group) {
      for (int64_t row = 0; row < count; ++row) {
        to[static_cast<size_t>(row * groups() + group)] =
            realAt(scales, group * rows() + first + row);
      }
    }
  }
  void unpackZeros(int64_t first, int64_t count, std::span<int8_t> to) const override {
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t group = 0; group < groups(); ++group) {
        to[static_cast<size_t>(row * groups() + group)] =
            static_cast<int8_t>(zeroAt(first + row, group));
      }
    }
  }
  /// Returns the zero point of a row of the matrix.
  virtual unsigned zeroAt(int64_t row, int64_t group) const = 0;

  StoredTensor stored, scales, zeros;
};

class GptqCodes final : public TransposedCodes {
public:
  /// `added` is the number to add to stored zero points.
  GptqCodes(CodeLayout layout, int64_t rows, int64_t columns, const StoredTensor &codes,
            const StoredTensor &scales, const StoredTensor &zeros, unsigned added)
      : TransposedCodes(layout, rows, columns, codes, scales, zeros), added(added) {}

  unsigned zeroAt(int64_t row, int64_t group) const override {
    const int64_t bits = layout().bits, inWord = 32 / bits;
    const uint32_t word = wordAt(zeros, group * (rows() / inWord) + row / inWord);
    return (word >> (row % inWord * bits) & ((1U << bits) - 1)) + added;
  }

protected:
  void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const override {
    const int64_t bits = layout().bits, inWord = 32 / bits;
    const uint32_t mask = (1U << bits) - 1;
    // 8-bit codes are stored with an offset of 128.
    const uint32_t sign = bits == 8 ? 0x80 : 0;
    for (int64_t begin = 0; begin < count; begin += columnsAtOnce) {
      const int64_t end = std::min(begin + columnsAtOnce, count);
      for (int64_t line = 0; line < columns() / inWord; ++line) {
        for (int64_t row = begin; row < end; ++row) {
          const uint32_t word = wordAt(stored, line * rows() + first + row);
          int8_t *to = codes.data() + row * columns() + line * inWord;
          for (int64_t i = 0; i < inWord; ++i) {
            to[i] = static_cast<int8_t>((word >> (i * bits) & mask) ^ sign);
          }
        }
      }
    }
  }

private:
  unsigned added;
};

class AwqCodes final : public TransposedCodes {
public:
  using TransposedCodes::TransposedCodes;

protected:
  static constexpr int64_t inWord = 8, bits = 4;
  static constexpr uint32_t mask = 15;
  /// The position in a word of the code of each of eight columns.
  static constexpr int64_t placeOf[inWord] = {0, 4, 1, 5, 2, 6, 3, 7};

  unsigned zeroAt(int64_t row, int64_t group) const override {
    const uint32_t word = wordAt(zeros, group * (rows() / inWord) + row / inWord);
    return word >> (placeOf[row % inWord] * bits) & mask;
  }
  void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const override {
    const int64_t words = rows() / inWord;
    for (int64_t begin = first; begin < first + count; begin += columnsAtOnce) {
      const int64_t end = std::min(begin + columnsAtOnce, first + count);
      // As many k as fill a cache line of each row.
      for (int64_t line = 0; line < columns(); line += columnsAtOnce) {
        const int64_t last = std::min(line + columnsAtOnce, columns());
        for (int64_t k = line; k < last; ++k) {
          uint32_t word = 0;
          for (int64_t row = begin; row < end; ++row) {
            if (row == begin || row % inWord == 0) {
              word = wordAt(stored, k * words + row / inWord);
            }
            codes[static_cast<size_t>((row - first) * columns() + k)] =
                static_cast<int8_t>(word >> (placeOf[row % inWord] * bits) & mask);
          }
        }
      }
    }
  }
};

/// The configuration of groups.
struct GroupSettings {
  unsigned bits = 4;
  /// 0: all of a row.
  int64_t group = 0;
};

} // namespace

static Result<int64_t> readGroup(const Config &config) {
  constexpr int64_t mostInGroup = int64_t{1} << 20, codesInWord = 8;
  HEDDLE_ASSIGN(const int64_t group, config.integer("group_size", -1, mostInGroup));
  if (group != -1 && (group == 0 || group % codesInWord != 0)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"group_size\" is {}, expected -1 or a multiple of 8",
                                    config.where(), group));
  }
  return std::max<int64_t>(group, 0);
}

/// Returns the number of elements of a row that share a scale.
static Result<int64_t> sharedElements(const LayerParts &parts, int64_t columns, int64_t group) {
  if (group != 0 && columns % group != 0) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: rows have {} elements, expected a multiple of "
                                    "\"group_size\", {}",
                                    parts.where(".qweight"), columns, group));
  }
  return group == 0 ? columns : group;
}

/// Rejects a layer whose columns do not fill words of zero points.
static Status checkWords(const LayerParts &parts, int64_t rows, int64_t inWord) {
  if (rows % inWord == 0) {
    return {};
  }
  return HEDDLE_ERROR(Unsupported, fmt::format("{} has {} columns, expected a multiple of {}",
                                               parts.where(".qweight"), rows, inWord));
}

static Result<const StoredTensor *> readScales(LayerParts &parts, int64_t groups, int64_t rows) {
  HEDDLE_ASSIGN(const StoredTensor *const scales,
                parts.part(".scales", {ElementType::F32, ElementType::F16, ElementType::BF16},
                           std::vector<int64_t>{groups, rows}));
  HEDDLE_TRY(parts.checkScales(*scales));
  return scales;
}

// --- GPTQ ------------------------------------------------------------------------------------

/// Checks the zero points, which are 0 to 15 for 4 bits, and 128 for 8: 8-bit codes are signed,
/// without zero points.
static Status checkZeros(const LayerParts &parts, const GptqCodes &codes) {
  const bool isByte = codes.layout().bits == 8;
  constexpr unsigned mostOf4 = 15, middleOf8 = 128;
  for (int64_t row = 0; row < codes.rows(); ++row) {
    for (int64_t group = 0; group < codes.groups(); ++group) {
      const unsigned zero = codes.zeroAt(row, group);
      if (isByte ? zero != middleOf8 : zero > mostOf4) {
        return HEDDLE_ERROR(Unsupported,
                            fmt::format("{}: the code of zero of column {}, group {} is {}, "
                                        "expected {}",
                                        parts.where(".qzeros"), row + 1, group + 1, zero,
                                        isByte ? "128 of 8 bits" : "0 to 15"));
      }
    }
  }
  return {};
}

static Result<CodedTensor> readGptqLayer(const Checkpoint &checkpoint, const std::string &layer,
                                         GroupSettings settings, unsigned added) {
  const int64_t inWord = 32 / settings.bits;
  LayerParts parts(checkpoint, layer);
  HEDDLE_ASSIGN(const StoredTensor *const codes, parts.matrix(".qweight", {ElementType::I32}));
  const int64_t rows = codes->shape[1], columns = codes->shape[0] * inWord;
  HEDDLE_TRY(checkWords(parts, rows, inWord));
  HEDDLE_ASSIGN(const int64_t shared, sharedElements(parts, columns, settings.group));
  HEDDLE_ASSIGN(const StoredTensor *const scales, readScales(parts, columns / shared, rows));
  HEDDLE_ASSIGN(const StoredTensor *const zeros,
                parts.part(".qzeros", {ElementType::I32},
                           std::vector<int64_t>{columns / shared, rows / inWord}));
  HEDDLE_TRY(parts.checkOrder(".g_idx", columns, shared));
  auto unpacked =
      std::make_shared<GptqCodes>(CodeLayout{settings.bits, settings.group, scales->dtype}, rows,
                                  columns, *codes, *scales, *zeros, added);
  HEDDLE_TRY(checkZeros(parts, *unpacked));
  return std::move(parts).finish(std::move(unpacked));
}

/// Returns the layers of a checkpoint, by the names of their codes.
static std::vector<std::string> layersOf(const Checkpoint &checkpoint) {
  constexpr std::string_view suffix = ".qweight";
  std::vector<std::string> layers;
  for (const std::string &name : checkpoint.names()) {
    if (name.ends_with(suffix)) {
      layers.push_back(name.substr(0, name.size() - suffix.size()));
    }
  }
  return layers;
}

Result<CodedTensors> readGptq(const Config &config, const Checkpoint &checkpoint) {
  CodedTensors result;
  result.quantization.format = CodeFormat::Gptq;
  HEDDLE_ASSIGN(const int64_t bits, config.integer("bits", 2, 8));
  if (bits != 4 && bits != 8) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"bits\" is {}, expected 4 or 8", config.where(), bits));
  }
  HEDDLE_ASSIGN(const int64_t group, readGroup(config));
  HEDDLE_ASSIGN(const std::string format,
                config.oneOfOr("checkpoint_format", {"gptq", "gptq_v2"}, "gptq"));
  HEDDLE_TRY(config.oneOfOr("pack_dtype", {"int32"}, "int32").status());
  HEDDLE_ASSIGN(const bool isMarlin, config.booleanOr("is_marlin_format", false));
  if (isMarlin || (config.has("dynamic") && config.json("dynamic") != "{}")) {
    const std::string_view key = isMarlin ? "is_marlin_format" : "dynamic";
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: {} is {}, expected a model without",
                                                 config.where(), quote(key), config.describe(key)));
  }
  // The tensors determine whether elements are reordered by activations.
  warnOfUnreadKeys(config,
                   {"quant_method",
                    "desc_act",
                    "sym",
                    "damp_percent",
                    "damp_auto_increment",
                    "static_groups",
                    "true_sequential",
                    "model_name_or_path",
                    "dynamic",
                    "model_file_base_name",
                    "dataset",
                    "tokenizer",
                    "model_seqlen",
                    "batch_size",
                    "pad_token_id",
                    "use_exllama",
                    "use_cuda_fp16",
                    "disable_exllama",
                    "exllama_config",
                    "max_input_length",
                    "cache_block_outputs",
                    "lm_head",
                    "modules_in_block_to_quantize",
                    "block_name_to_quantize",
                    "backend",
                    "module_name_preceding_first_block",
                    "quantizer",
                    "meta"},
                   result.quantization.warnings);
  // The first version stores zero points minus one.
  const unsigned added = format == "gptq" ? 1 : 0;
  for (const std::string &layer : layersOf(checkpoint)) {
    HEDDLE_ASSIGN(CodedTensor tensor,
                  readGptqLayer(checkpoint, layer, {static_cast<unsigned>(bits), group}, added));
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

// --- AWQ -------------------------------------------------------------------------------------

static Result<CodedTensor> readAwqLayer(const Checkpoint &checkpoint, const std::string &layer,
                                        int64_t group) {
  constexpr int64_t inWord = 8;
  constexpr unsigned bits = 4;
  LayerParts parts(checkpoint, layer);
  HEDDLE_ASSIGN(const StoredTensor *const codes, parts.matrix(".qweight", {ElementType::I32}));
  const int64_t rows = codes->shape[1] * inWord, columns = codes->shape[0];
  HEDDLE_ASSIGN(const int64_t shared, sharedElements(parts, columns, group));
  HEDDLE_ASSIGN(const StoredTensor *const scales, readScales(parts, columns / shared, rows));
  HEDDLE_ASSIGN(const StoredTensor *const zeros,
                parts.part(".qzeros", {ElementType::I32},
                           std::vector<int64_t>{columns / shared, rows / inWord}));
  return std::move(parts).finish(std::make_shared<AwqCodes>(
      CodeLayout{bits, group, scales->dtype}, rows, columns, *codes, *scales, *zeros));
}

Result<CodedTensors> readAwq(const Config &config, const Checkpoint &checkpoint) {
  CodedTensors result;
  result.quantization.format = CodeFormat::Awq;
  HEDDLE_TRY(config.integer("bits", 4, 4).status());
  HEDDLE_ASSIGN(const int64_t group, readGroup(config));
  HEDDLE_TRY(config.oneOfOr("version", {"gemm", "GEMM"}, "gemm").status());
  HEDDLE_ASSIGN(const bool hasZeros, config.booleanOr("zero_point", true));
  if (!hasZeros) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"zero_point\" is false, expected true", config.where()));
  }
  warnOfUnreadKeys(config,
                   {"quant_method", "modules_to_not_convert", "do_fuse", "fuse_max_seq_len",
                    "modules_to_fuse", "exllama_config", "backend"},
                   result.quantization.warnings);
  for (const std::string &layer : layersOf(checkpoint)) {
    HEDDLE_ASSIGN(CodedTensor tensor, readAwqLayer(checkpoint, layer, group));
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

} // namespace heddle
