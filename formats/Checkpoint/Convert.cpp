// SPDX-License-Identifier: Apache-2.0
///
/// Simple loops that the C++ compiler vectorises: conversion is memory-bound.
#include "formats/Checkpoint/Convert.h"

#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle {

static_assert(std::endian::native == std::endian::little, "files are little endian");

std::string typeChoices(std::span<const ElementType> types) {
  std::string choices;
  for (size_t i = 0; i < types.size(); ++i) {
    choices += i == 0 ? "" : i + 1 == types.size() ? " or " : ", ";
    choices += infoOf(types[i]).safetensors;
  }
  return choices;
}

/// Loads item `index`, which may be unaligned.
template <typename T> static T load(const std::byte *source, size_t index) {
  T value;
  std::memcpy(&value, source + index * sizeof(T), sizeof(T));
  return value;
}

static Status checkCount(ElementType dtype, size_t bytes, size_t expected) {
  if (bytes != expected * infoOf(dtype).bytes()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("holds {} values, the destination {}",
                                                     bytes / infoOf(dtype).bytes(), expected));
  }
  return {};
}

Status convertToF32(ElementType dtype, std::span<const std::byte> source,
                    std::span<float> destination) {
  HEDDLE_TRY(checkCount(dtype, source.size(), destination.size()));
  const std::byte *const from = source.data();
  float *const to = destination.data();
  const size_t count = destination.size();
  switch (dtype) {
  case ElementType::F32:
    // memcpy must not be passed the null pointers of empty spans.
    if (count > 0) {
      std::memcpy(to, from, source.size());
    }
    return {};
  case ElementType::F16:
    for (size_t i = 0; i < count; ++i) {
      to[i] = f16ToF32(load<uint16_t>(from, i));
    }
    return {};
  case ElementType::BF16:
    for (size_t i = 0; i < count; ++i) {
      to[i] = bf16ToF32(load<uint16_t>(from, i));
    }
    return {};
  default:
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("has type {}, expected {}", infoOf(dtype).safetensors, typeChoices(realTypes)));
  }
}

/// Converts runs of `each` items that share a scale.
template <typename T>
static void divide(const std::byte *from, std::span<const std::byte> scales, size_t each,
                   float *to) {
  for (size_t run = 0; run < scales.size() / sizeof(float); ++run) {
    const auto scale = load<float>(scales.data(), run);
    for (size_t i = run * each; i < (run + 1) * each; ++i) {
      to[i] = static_cast<float>(load<T>(from, i)) / scale;
    }
  }
}

Status convertScaledToF32(ElementType dtype, std::span<const std::byte> source,
                          std::span<const std::byte> scales, std::span<float> destination) {
  HEDDLE_TRY(checkCount(dtype, source.size(), destination.size()));
  const size_t runs = scales.size() / sizeof(float);
  if (runs == 0 || destination.size() % runs != 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("has {} scales, expected a divisor of its {} "
                                                     "values",
                                                     runs, destination.size()));
  }
  const size_t each = destination.size() / runs;
  switch (dtype) {
  case ElementType::I8:
    divide<int8_t>(source.data(), scales, each, destination.data());
    return {};
  case ElementType::I16:
    divide<int16_t>(source.data(), scales, each, destination.data());
    return {};
  default:
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("has type {} and scales, expected {}",
                                    infoOf(dtype).safetensors, typeChoices(scaledTypes)));
  }
}

Status convertToI32(ElementType dtype, std::span<const std::byte> source,
                    std::span<int32_t> destination) {
  HEDDLE_TRY(checkCount(dtype, source.size(), destination.size()));
  const std::byte *const from = source.data();
  const size_t count = destination.size();
  switch (dtype) {
  case ElementType::I32:
    if (count > 0) {
      std::memcpy(destination.data(), from, source.size());
    }
    return {};
  case ElementType::I64:
    for (size_t i = 0; i < count; ++i) {
      const auto value = load<int64_t>(from, i);
      destination[i] = static_cast<int32_t>(value);
      if (destination[i] != value) {
        return HEDDLE_ERROR(OutOfRange,
                            fmt::format("value {} is {}, expected one from {} to {}", i + 1, value,
                                        std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int32_t>::max()));
      }
    }
    return {};
  default:
    return HEDDLE_ERROR(Unsupported, fmt::format("has type {}, expected {}",
                                                 infoOf(dtype).safetensors, typeChoices(idTypes)));
  }
}

} // namespace heddle
