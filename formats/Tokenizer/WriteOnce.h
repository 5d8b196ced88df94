// SPDX-License-Identifier: Apache-2.0
///
/// Writes each vector of a FlatBuffer only once: the two tokenizers of a translation model often
/// share a vocabulary.
#ifndef HEDDLE_FORMATS_TOKENIZER_WRITEONCE_H
#define HEDDLE_FORMATS_TOKENIZER_WRITEONCE_H

#include <cstdint>
#include <cstring>
#include <flatbuffers/flatbuffers.h>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle {

/// Returns the offset of a vector's bytes if the builder has them already, otherwise 0. Equal bytes
/// with the right alignment are an equal vector, whatever they were written as.
inline flatbuffers::uoffset_t findVector(const flatbuffers::FlatBufferBuilder &builder,
                                         std::string_view elements, uint32_t count) {
  // Before its first byte, a builder has no memory to point to.
  if (builder.GetSize() == 0) {
    return 0;
  }
  std::string wanted(reinterpret_cast<const char *>(&count), sizeof count);
  wanted += elements;
  const std::string_view written(reinterpret_cast<const char *>(builder.GetCurrentBufferPointer()),
                                 builder.GetSize());
  for (size_t from = 0;;) {
    const void *const found =
        memmem(written.data() + from, written.size() - from, wanted.data(), wanted.size());
    if (found == nullptr) {
      return 0;
    }
    // Offsets are counted from the end, which never moves.
    const size_t at = static_cast<const char *>(found) - written.data();
    if ((written.size() - at) % alignof(uint32_t) == 0) {
      return static_cast<flatbuffers::uoffset_t>(written.size() - at);
    }
    from = at + 1;
  }
}

/// Writes a vector of numbers or structs, or refers to an equal existing one. Their alignment is at
/// most that of a length.
template <typename Element, typename Elements>
flatbuffers::Offset<flatbuffers::Vector<Element>> writeOnce(flatbuffers::FlatBufferBuilder &builder,
                                                            const Elements &elements) {
  using Stored = typename Elements::value_type;
  static_assert(alignof(Stored) <= alignof(uint32_t));
  const std::string_view bytes(reinterpret_cast<const char *>(elements.data()),
                               elements.size() * sizeof(Stored));
  if (const auto known = findVector(builder, bytes, static_cast<uint32_t>(elements.size()))) {
    return flatbuffers::Offset<flatbuffers::Vector<Element>>(known);
  }
  if constexpr (std::is_pointer_v<Element>) {
    return builder.CreateVectorOfStructs(elements.data(), elements.size());
  } else {
    return builder.CreateVector(reinterpret_cast<const Element *>(elements.data()),
                                elements.size());
  }
}

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_WRITEONCE_H
