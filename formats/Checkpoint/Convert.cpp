// SPDX-License-Identifier: Apache-2.0
///
/// Plain loops that the C++ compiler vectorises: conversion is bound by memory.
#include "formats/Checkpoint/Convert.h"

#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace heddle {

static_assert(std::endian::native == std::endian::little, "files are little endian");

/// Item `index` of type T, at whatever alignment.
template <typename T> static T load(const std::byte *source, size_t index) {
  T value;
  std::memcpy(&value, source + index * sizeof(T), sizeof(T));
  return value;
}

static Status checkCount(Dtype dtype, size_t bytes, size_t expected) {
  if (bytes != expected * dtypeSize(dtype)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("holds {} values, the destination {}",
                                                     bytes / dtypeSize(dtype), expected));
  }
  return {};
}

Status convertToF32(Dtype dtype, std::span<const std::byte> source, std::span<float> destination) {
  HEDDLE_TRY(checkCount(dtype, source.size(), destination.size()));
  const std::byte *const from = source.data();
  float *const to = destination.data();
  const size_t count = destination.size();
  switch (dtype) {
  case Dtype::F32:
    // memcpy must not be given the null pointers of empty spans.
    if (count > 0) {
      std::memcpy(to, from, source.size());
    }
    return {};
  case Dtype::F16:
    for (size_t i = 0; i < count; ++i) {
      to[i] = f16ToF32(load<uint16_t>(from, i));
    }
    return {};
  case Dtype::BF16:
    for (size_t i = 0; i < count; ++i) {
      to[i] = bf16ToF32(load<uint16_t>(from, i));
    }
    return {};
  default:
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("has type {}, expected F32, F16 or BF16", dtypeName(dtype)));
  }
}

/// Runs of `each` items that share a scale.
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

Status convertScaledToF32(Dtype dtype, std::span<const std::byte> source,
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
  case Dtype::I8:
    divide<int8_t>(source.data(), scales, each, destination.data());
    return {};
  case Dtype::I16:
    divide<int16_t>(source.data(), scales, each, destination.data());
    return {};
  default:
    return HEDDLE_ERROR(
        Unsupported, fmt::format("has type {} and scales, expected I8 or I16", dtypeName(dtype)));
  }
}

Status convertToI32(Dtype dtype, std::span<const std::byte> source,
                    std::span<int32_t> destination) {
  HEDDLE_TRY(checkCount(dtype, source.size(), destination.size()));
  const std::byte *const from = source.data();
  const size_t count = destination.size();
  switch (dtype) {
  case Dtype::I32:
    if (count > 0) {
      std::memcpy(destination.data(), from, source.size());
    }
    return {};
  case Dtype::I64:
    for (size_t i = 0; i < count; ++i) {
      const auto value = load<int64_t>(from, i);
      destination[i] = static_cast<int32_t>(value);
      if (destination[i] != value) {
        return HEDDLE_ERROR(OutOfRange, fmt::format("value {} is {}, expected one from {} to {}", i,
                                                    value, std::numeric_limits<int32_t>::min(),
                                                    std::numeric_limits<int32_t>::max()));
      }
    }
    return {};
  default:
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("has type {}, expected I32 or I64", dtypeName(dtype)));
  }
}

} // namespace heddle
