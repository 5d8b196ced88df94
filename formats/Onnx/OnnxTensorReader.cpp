// SPDX-License-Identifier: Apache-2.0
///
/// Types, sizes and forms of tensors.
#include "formats/Onnx/OnnxTensorReader.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Safetensors.h"

#include <charconv>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

using onnx::TensorProto;

int64_t OnnxTensor::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) {
    count *= size;
  }
  return count;
}

std::optional<ElementType> onnxElementType(int32_t number) {
  // By TensorProto.DataType, from 1 on.
  static constexpr std::optional<ElementType> types[] = {
      ElementType::F32,    ElementType::U8,  ElementType::I8,    ElementType::U16,
      ElementType::I16,    ElementType::I32, ElementType::I64,   std::nullopt,
      ElementType::Bool,   ElementType::F16, ElementType::F64,   ElementType::U32,
      ElementType::U64,    std::nullopt,     std::nullopt,       ElementType::BF16,
      ElementType::F8E4M3, std::nullopt,     ElementType::F8E5M2};
  return number >= 1 && number <= static_cast<int32_t>(std::size(types)) ? types[number - 1]
                                                                         : std::nullopt;
}

void OnnxTensorReader::fail(const std::string &message) const {
  throw OnnxRefusal(fmt::format("tensor {}: {}", quote(name), message));
}

void OnnxTensorReader::dimension(int64_t size) {
  if (shape.size() == onnxRankLimit) {
    fail(fmt::format("has more than {} axes", onnxRankLimit));
  }
  shape.push_back(size);
}

void OnnxTensorReader::raw(std::span<const std::byte> bytes) { rawBytes = bytes; }
void OnnxTensorReader::real(float value) { reals.push_back(value); }
void OnnxTensorReader::wide(double value) { wides.push_back(value); }
void OnnxTensorReader::integer(uint64_t bits) { integers.push_back(bits); }

void OnnxTensorReader::external(std::string_view key, std::string_view value) {
  if (key == "location") {
    externalLocation = value;
    hasLocation = true;
  } else if (key == "offset") {
    externalOffset = value;
  } else if (key == "length") {
    externalLength = value;
  }
}

ElementType OnnxTensorReader::findType() const {
  if (const auto found = onnxElementType(type)) {
    return *found;
  }
  fail(fmt::format("has elements of type {}, expected numbers of 8 to 64 bits", type));
}

/// Returns the bytes of elements that the file stores one by one.
std::vector<std::byte> OnnxTensorReader::typedBytes(ElementType dtype) const {
  std::vector<std::byte> bytes;
  const auto append = [&](const void *from, size_t size) {
    const auto *const begin = static_cast<const std::byte *>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  const ElementTypeInfo &info = infoOf(dtype);
  if (dtype == ElementType::F32) {
    append(reals.data(), reals.size() * sizeof(float));
    return bytes;
  }
  if (dtype == ElementType::F64) {
    append(wides.data(), wides.size() * sizeof(double));
    return bytes;
  }
  const TensorProto expected = dtype == ElementType::I64 ? TensorProto::int64_data
                               : dtype == ElementType::U32 || dtype == ElementType::U64
                                   ? TensorProto::uint64_data
                                   : TensorProto::int32_data;
  if (integers.empty() || integerField != expected) {
    return bytes;
  }
  // Little-endian: the low bytes come first.
  for (const uint64_t value : integers) {
    append(&value, info.bytes());
  }
  return bytes;
}

/// Parses a number in the map of external data.
static std::optional<uint64_t> parseCount(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

OnnxTensor OnnxTensorReader::finish() {
  OnnxTensor result;
  result.name = name;
  result.dtype = findType();
  result.shape = shape;
  const std::optional<uint64_t> size = byteSize(result.dtype, shape);
  if (!size) {
    fail(fmt::format("has the shape {}, expected sizes that are not negative and a tensor below "
                     "2^63 bytes",
                     formatShape(shape)));
  }
  const bool isTyped = !reals.empty() || !wides.empty() || !integers.empty();
  if (location != 0 || hasLocation) {
    if (rawBytes || isTyped) {
      fail("has data in this file and in another, expected one of both");
    }
    OnnxExternal external{externalLocation, 0, std::nullopt};
    for (const auto &[key, text] :
         {std::pair("offset", externalOffset), std::pair("length", externalLength)}) {
      const std::optional<uint64_t> number = parseCount(text);
      if (!text.empty() && !number) {
        fail(fmt::format("the {} of its data is {}, expected a number", key, quote(text)));
      }
      if (key == std::string_view("offset")) {
        external.offset = number.value_or(0);
      } else {
        external.length = number;
      }
    }
    if (external.length && *external.length != *size) {
      fail(fmt::format("the length of its data in {} is {}, expected {} bytes",
                       quote(external.location), *external.length, *size));
    }
    result.external = external;
    return result;
  }
  if (rawBytes && isTyped) {
    fail("has its data twice, as bytes and as numbers");
  }
  if (!rawBytes) {
    auto owned = std::make_shared<const std::vector<std::byte>>(typedBytes(result.dtype));
    result.bytes = *owned;
    result.owned = std::move(owned);
  } else {
    result.bytes = *rawBytes;
  }
  if (result.bytes.size() != *size) {
    fail(fmt::format("has {} bytes, expected {} for {} of {}", result.bytes.size(), *size,
                     formatShape(shape), infoOf(result.dtype).name));
  }
  return result;
}

} // namespace heddle
