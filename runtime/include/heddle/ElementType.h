// SPDX-License-Identifier: Apache-2.0
///
/// The element types of tensors and their properties. Compiler, runtime and file readers all use
/// this one table, heddle/ElementTypes.def, which C can include as well.
#ifndef HEDDLE_ELEMENTTYPE_H
#define HEDDLE_ELEMENTTYPE_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace heddle {

/// The type of one element of a tensor.
enum class ElementType : uint8_t {
#define HEDDLE_ELEMENT_TYPE(Name, name, bits, Kind, safetensors, numpy, ctranslate2) Name,
#include "heddle/ElementTypes.def"
};

/// How the bits of an element are interpreted.
enum class ElementKind : uint8_t { Float, Signed, Unsigned, Boolean };

/// One line of the table.
struct ElementTypeInfo {
  /// The name in messages, reports and `heddle info`, for example "bf16".
  std::string_view name;
  /// The bits of one element. A multiple of 8 except for I4, which packs two elements into a byte.
  uint32_t bits;
  ElementKind kind;
  /// The name in a safetensors header, for example "BF16"; empty if the format has no such type.
  std::string_view safetensors;
  /// The name in the header of an .npy file, for example "<f4"; empty if NumPy has no such type.
  std::string_view numpy;
  /// The number in CTranslate2's model.bin from version 4 on; -1 if the format has no such type.
  int32_t ctranslate2;

  constexpr bool isFloat() const { return kind == ElementKind::Float; }
  constexpr bool isInteger() const {
    return kind == ElementKind::Signed || kind == ElementKind::Unsigned;
  }
  /// Returns the size of a single element in bytes, rounded up.
  constexpr uint32_t bytes() const { return (bits + 7) / 8; }
};

/// The table, in the order of the enumerators.
inline constexpr ElementTypeInfo elementTypeTable[] = {
#define HEDDLE_ELEMENT_TYPE(Name, name, bits, Kind, safetensors, numpy, ctranslate2)               \
  {name, bits, ElementKind::Kind, safetensors, numpy, ctranslate2},
#include "heddle/ElementTypes.def"
};

/// All types, for loops over the table.
inline constexpr ElementType allElementTypes[] = {
#define HEDDLE_ELEMENT_TYPE(Name, name, bits, Kind, safetensors, numpy, ctranslate2)               \
  ElementType::Name,
#include "heddle/ElementTypes.def"
};

/// Returns the table's line for `type`, which must be one of the enumerators.
constexpr const ElementTypeInfo &infoOf(ElementType type) {
  return elementTypeTable[static_cast<size_t>(type)];
}

/// Returns the type with a number of manifests and the C interface; nullopt if there is none.
constexpr std::optional<ElementType> findElementType(uint64_t number) {
  return number < std::size(elementTypeTable) ? std::optional(static_cast<ElementType>(number))
                                              : std::nullopt;
}

/// Returns the type that a format calls `name`, as in `findElementType(&ElementTypeInfo::numpy,
/// "<f4")`; nullopt if there is none.
constexpr std::optional<ElementType> findElementType(std::string_view ElementTypeInfo::*format,
                                                     std::string_view name) {
  for (const ElementType type : allElementTypes) {
    // An empty string in the table means that the format lacks the type.
    if (!name.empty() && infoOf(type).*format == name) {
      return type;
    }
  }
  return std::nullopt;
}

/// Returns the size of a dense tensor in bytes, rounded up; nullopt if a dimension is negative or
/// the result exceeds INT64_MAX.
constexpr std::optional<uint64_t> byteSize(ElementType type, std::span<const int64_t> shape) {
  constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const uint32_t bits = infoOf(type).bits;
  uint64_t count = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count) ||
        count > most) {
      return std::nullopt;
    }
  }
  uint64_t size = 0;
  if (__builtin_mul_overflow(count / 8, uint64_t(bits), &size) ||
      __builtin_add_overflow(size, (count % 8 * bits + 7) / 8, &size) || size > most) {
    return std::nullopt;
  }
  return size;
}

} // namespace heddle

#endif // HEDDLE_ELEMENTTYPE_H
