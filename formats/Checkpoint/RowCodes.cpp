// SPDX-License-Identifier: Apache-2.0
///
/// CTranslate2's codes are bytes with a scale for each row; GGUF's codes are unpacked from blocks.
#include "formats/Checkpoint/RowCodes.h"

#include "formats/Gguf/GgufTypes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle {

namespace {

class CTranslate2Codes final : public QuantizedTensor {
public:
  CTranslate2Codes(const StoredTensor &variable, int64_t columns)
      : QuantizedTensor({}, variable.shape.front(), columns, "int8"), bytes(variable.bytes),
        divisors(variable.scales) {}

protected:
  void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const override {
    std::memcpy(codes.data(), bytes.data() + first * columns(),
                static_cast<size_t>(count * columns()));
  }
  void unpackScales(int64_t first, int64_t count, std::span<float> scales) const override {
    for (int64_t row = 0; row < count; ++row) {
      scales[static_cast<size_t>(row)] = 1 / divisorOf(first + row);
    }
  }
  void unpackZeros(int64_t, int64_t, std::span<int8_t>) const override {}

private:
  /// A single scale applies to all rows.
  float divisorOf(int64_t row) const {
    float divisor;
    const bool isSingle = divisors.size() == sizeof divisor;
    std::memcpy(&divisor, divisors.data() + (isSingle ? 0 : row * int64_t(sizeof divisor)),
                sizeof divisor);
    return divisor;
  }

  std::span<const std::byte> bytes, divisors;
};

class GgufBlockCodes final : public QuantizedTensor {
public:
  GgufBlockCodes(const GgufType &type, CodeLayout layout, std::span<const int64_t> shape,
                 std::span<const std::byte> bytes)
      : QuantizedTensor(layout, shape[0], shape[1], std::string(type.name)), type(type),
        bytes(bytes) {}

protected:
  void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const override {
    // 4-bit codes stay unchanged, with the type's zero point.
    const int zero = layout().hasZeros() ? 0 : type.zero;
    size_t at = 0;
    eachBlock(first, count, [&](const GgufBlock &block) {
      for (uint32_t i = 0; i < type.elements; ++i) {
        codes[at++] = static_cast<int8_t>(block.codes[i] - zero);
      }
    });
  }
  void unpackScales(int64_t first, int64_t count, std::span<float> scales) const override {
    copyOfGroups(first, count, &GgufBlock::scales, scales);
  }
  void unpackZeros(int64_t, int64_t, std::span<int8_t> zeros) const override {
    std::fill(zeros.begin(), zeros.end(), type.zero);
  }
  void unpackMinimums(int64_t first, int64_t count, std::span<float> minimums) const override {
    copyOfGroups(first, count, &GgufBlock::minimums, minimums);
  }

private:
  /// Copies the numbers of the blocks' groups, one for each group.
  void copyOfGroups(int64_t first, int64_t count, float (GgufBlock::*numbers)[ggufGroupLimit],
                    std::span<float> destination) const {
    float *to = destination.data();
    eachBlock(first, count, [&](const GgufBlock &block) {
      to = std::copy_n(block.*numbers, type.elements / type.group, to);
    });
  }
  template <typename Function>
  void eachBlock(int64_t first, int64_t count, Function function) const {
    const int64_t blocksOfRow = columns() / type.elements;
    const std::byte *from = bytes.data() + first * blocksOfRow * type.bytes;
    GgufBlock block;
    for (int64_t i = 0; i < count * blocksOfRow; ++i, from += type.bytes) {
      type.decode(from, block);
      function(block);
    }
  }

  const GgufType &type;
  std::span<const std::byte> bytes;
};

} // namespace

std::shared_ptr<const QuantizedTensor> codesOfCTranslate2(const StoredTensor &variable) {
  if (variable.dtype != ElementType::I8 || variable.scales.empty() || variable.shape.size() != 2 ||
      variable.shape.front() == 0 || variable.shape.back() == 0) {
    return nullptr;
  }
  for (size_t at = 0; at < variable.scales.size(); at += sizeof(float)) {
    float divisor;
    std::memcpy(&divisor, variable.scales.data() + at, sizeof divisor);
    // Neither the divisor nor its reciprocal, the scale, may be subnormal or infinite.
    if (!std::isnormal(divisor) || !std::isnormal(1 / divisor)) {
      return nullptr;
    }
  }
  return std::make_shared<CTranslate2Codes>(variable, variable.shape.back());
}

std::shared_ptr<const QuantizedTensor> codesOfGguf(const GgufType &type,
                                                   std::span<const int64_t> shape,
                                                   std::span<const std::byte> bytes) {
  if (type.plain || shape.size() != 2 || shape[0] == 0 || shape[1] == 0) {
    return nullptr;
  }
  CodeLayout layout;
  layout.bits = type.bits == 4 ? 4 : 8;
  layout.group = type.group;
  // In a block of several groups a scale is the product of two numbers, and so is a minimum.
  // Products of these codes and scales are exact in f32, so that code * scale + minimum has the
  // same bits as in ggml.
  layout.scales = type.elements == type.group ? ElementType::F16 : ElementType::F32;
  layout.hasMinimums = type.hasMinimums;
  return std::make_shared<GgufBlockCodes>(type, layout, shape, bytes);
}

} // namespace heddle
