// SPDX-License-Identifier: Apache-2.0
///
/// A trie in one array of 32-bit units, in the layout of Darts-clone, which SentencePiece writes:
/// the child of a node for a byte is at the node's base XOR that byte. Values belong to whole keys.
/// The compiler writes such arrays, and the runtime reads them.
#ifndef HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAY_H
#define HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAY_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace heddle {

/// One unit. Bits 0 to 7: the byte of the incoming edge; 8: a key ends here, and its value is at
/// the base; 9: the offset is in units of 256; 10 to 30: base XOR own index. Bit 31: this is a
/// value.
struct DoubleArrayUnit {
  uint32_t bits = 0;

  bool endsKey() const { return ((bits >> 8) & 1) != 0; }
  bool isValue() const { return bits >> 31 != 0; }
  uint32_t value() const { return bits & 0x7FFFFFFFU; }
  uint32_t offset() const { return ((bits >> 10) & 0x1FFFFFU) << ((bits >> 9 & 1) * 8); }
  bool hasLabel(unsigned char byte) const { return (bits & 0x800000FFU) == byte; }
};

/// Reads an array in place, at any alignment. Only an array that passed isSafe() may be walked.
class DoubleArray {
public:
  /// The position of a walk.
  struct Place {
    uint32_t base = 0;
    bool endsKey = false;
  };

  DoubleArray() = default;
  /// Takes the bytes of the units, little-endian.
  explicit DoubleArray(std::string_view bytes) : bytes(bytes) {}

  size_t size() const { return bytes.size() / sizeof(uint32_t); }

  /// Returns whether every walk stays inside the array and every value is less than `limit`.
  bool isSafe(uint32_t limit) const {
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) {
      const DoubleArrayUnit unit = at(i);
      if (unit.isValue()) {
        // SentencePiece does not mask that bit, so it would compute another offset for such a root.
        if (i == 0) {
          return false;
        }
        continue;
      }
      const size_t base = i ^ unit.offset();
      if ((base | 0xFF) >= count) {
        return false;
      }
      if (unit.endsKey() && at(base).value() >= limit) {
        return false;
      }
    }
    return count > 0;
  }

  /// Returns the place where every walk begins.
  Place root() const { return {at(0).offset(), false}; }

  /// Advances by one byte; false if no key continues with it.
  bool step(Place &place, unsigned char byte) const {
    const uint32_t index = place.base ^ byte;
    const DoubleArrayUnit unit = at(index);
    if (!unit.hasLabel(byte)) {
      return false;
    }
    place = {index ^ unit.offset(), unit.endsKey()};
    return true;
  }

  /// Returns the value of the key that ends at a place.
  uint32_t value(Place place) const { return at(place.base).value(); }

private:
  DoubleArrayUnit at(size_t index) const {
    DoubleArrayUnit unit;
    std::memcpy(&unit.bits, bytes.data() + index * sizeof(uint32_t), sizeof(uint32_t));
    return unit;
  }

  std::string_view bytes;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_DOUBLEARRAY_H
