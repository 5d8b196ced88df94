// SPDX-License-Identifier: Apache-2.0
///
/// The walk records the places of all values; a change is made in place, so that every offset stays
/// valid.
#include "tests/Fuzzing/FlatBufferMutation.h"

#include <cstring>
#include <flatbuffers/reflection_generated.h>
#include <map>
#include <vector>

namespace heddle::fuzzing {

using reflection::BaseType;

namespace {

struct Number {
  size_t at;
  size_t width;
};

/// An offset, and the kind of its target: the number of an object of the schema, or another kind.
struct Reference {
  static constexpr int text = -1;
  static constexpr int list = -2;
  size_t at;
  size_t target;
  int kind;
};

struct Text {
  size_t begin;
  size_t size;
};

class Walk {
public:
  Walk(const std::string &buffer, const reflection::Schema &schema)
      : buffer(buffer), schema(schema) {}

  void run() {
    const size_t root = read<uint32_t>(0);
    table(root, *schema.root_table());
  }

  std::vector<Number> numbers;
  std::vector<Number> lengths;
  std::vector<Reference> references;
  std::vector<Text> texts;

private:
  template <typename T> T read(size_t at) const {
    T value;
    std::memcpy(&value, buffer.data() + at, sizeof value);
    return value;
  }
  static size_t widthOf(BaseType type);
  void table(size_t at, const reflection::Object &object);
  void structure(size_t at, const reflection::Object &object);
  void field(size_t at, size_t table, size_t vtable, const reflection::Field &field);
  void list(size_t at, const reflection::Type &type);
  void text(size_t at);
  void alternative(size_t at, uint8_t which, const reflection::Type &type);
  size_t follow(size_t at, int kind);

  const std::string &buffer;
  const reflection::Schema &schema;
};

} // namespace

size_t Walk::widthOf(BaseType type) {
  switch (type) {
  case BaseType::Short:
  case BaseType::UShort:
    return 2;
  case BaseType::Int:
  case BaseType::UInt:
  case BaseType::Float:
    return 4;
  case BaseType::Long:
  case BaseType::ULong:
  case BaseType::Double:
    return 8;
  default:
    return 1;
  }
}

size_t Walk::follow(size_t at, int kind) {
  const size_t target = at + read<uint32_t>(at);
  references.push_back({at, target, kind});
  return target;
}

void Walk::text(size_t at) {
  lengths.push_back({at, 4});
  texts.push_back({at + 4, read<uint32_t>(at)});
}

void Walk::structure(size_t at, const reflection::Object &object) {
  for (const reflection::Field *const each : *object.fields()) {
    const reflection::Type &type = *each->type();
    if (type.base_type() == BaseType::Obj) {
      structure(at + each->offset(), *schema.objects()->Get(static_cast<uint32_t>(type.index())));
    } else {
      numbers.push_back({at + each->offset(), widthOf(type.base_type())});
    }
  }
}

void Walk::alternative(size_t at, uint8_t which, const reflection::Type &type) {
  const auto &values = *schema.enums()->Get(static_cast<uint32_t>(type.index()))->values();
  for (const reflection::EnumVal *const value : values) {
    if (value->value() == which && value->union_type() != nullptr &&
        value->union_type()->base_type() == BaseType::Obj) {
      const int kind = value->union_type()->index();
      table(follow(at, kind), *schema.objects()->Get(static_cast<uint32_t>(kind)));
      return;
    }
  }
}

void Walk::list(size_t at, const reflection::Type &type) {
  const uint32_t count = read<uint32_t>(at);
  lengths.push_back({at, 4});
  const size_t first = at + 4;
  if (type.element() == BaseType::String) {
    for (uint32_t i = 0; i < count; ++i) {
      text(follow(first + 4 * size_t(i), Reference::text));
    }
    return;
  }
  if (type.element() != BaseType::Obj) {
    const size_t width = widthOf(type.element());
    // Long lists count as one: their items are not more likely to be changed than a field.
    for (uint32_t i = 0; i < std::min<uint32_t>(count, 16); ++i) {
      numbers.push_back({first + width * i, width});
    }
    return;
  }
  const reflection::Object &object = *schema.objects()->Get(static_cast<uint32_t>(type.index()));
  for (uint32_t i = 0; i < count; ++i) {
    if (object.is_struct()) {
      structure(first + static_cast<size_t>(object.bytesize()) * i, object);
    } else {
      table(follow(first + 4 * size_t(i), type.index()), object);
    }
  }
}

void Walk::field(size_t at, size_t tableAt, size_t vtable, const reflection::Field &each) {
  const reflection::Type &type = *each.type();
  switch (type.base_type()) {
  case BaseType::String:
    return text(follow(at, Reference::text));
  case BaseType::Vector:
    return list(follow(at, Reference::list), type);
  case BaseType::Obj: {
    const reflection::Object &object = *schema.objects()->Get(static_cast<uint32_t>(type.index()));
    return object.is_struct() ? structure(at, object) : table(follow(at, type.index()), object);
  }
  case BaseType::Union: {
    // The field before it holds the type of the union.
    const auto place = read<uint16_t>(vtable + each.offset() - 2U);
    if (place != 0) {
      alternative(at, read<uint8_t>(tableAt + place), type);
    }
    return;
  }
  default:
    numbers.push_back({at, widthOf(type.base_type())});
  }
}

void Walk::table(size_t at, const reflection::Object &object) {
  const size_t vtable = at - static_cast<size_t>(static_cast<int64_t>(read<int32_t>(at)));
  const auto size = read<uint16_t>(vtable);
  for (const reflection::Field *const each : *object.fields()) {
    if (each->offset() + 2U > size) {
      continue;
    }
    if (const auto place = read<uint16_t>(vtable + each->offset()); place != 0) {
      field(at + place, at, vtable, *each);
    }
    // Omitted, or taken from another field.
    numbers.push_back({vtable + each->offset(), 2});
  }
}

/// Redirects an offset to the target of another one of the same kind. Offsets only point forwards.
static void redirect(std::string &buffer, const Walk &walk, Choice &choice) {
  const Reference &reference = choice.of(walk.references);
  for (int attempt = 0; attempt < 32; ++attempt) {
    const Reference &other = choice.of(walk.references);
    if (other.kind == reference.kind && other.target > reference.at) {
      const auto distance = static_cast<uint32_t>(other.target - reference.at);
      std::memcpy(buffer.data() + reference.at, &distance, sizeof distance);
      return;
    }
  }
}

/// Replaces letters, or the text by part of another one that is at least as long.
static void changeText(std::string &buffer, const Walk &walk, Choice &choice) {
  const Text &text = choice.of(walk.texts);
  if (text.size == 0) {
    return;
  }
  const Text &other = choice.of(walk.texts);
  if (choice.oneIn(2) && other.size >= text.size) {
    std::memmove(buffer.data() + text.begin, buffer.data() + other.begin, text.size);
  } else {
    buffer[text.begin + choice.below(text.size)] = static_cast<char>(choice.bits());
  }
}

void mutateFlatBuffer(std::string &buffer, std::string_view schema, Choice &choice) {
  Walk walk(buffer, *reflection::GetSchema(schema.data()));
  walk.run();
  const size_t kind = choice.below(10);
  if (kind < 6 && !walk.numbers.empty()) {
    const Number &number = choice.of(walk.numbers);
    const Number &other = choice.of(walk.numbers);
    if (choice.oneIn(4) && other.width == number.width) {
      std::memmove(buffer.data() + number.at, buffer.data() + other.at, number.width);
    } else {
      changeNumber(buffer, number.at, number.width, choice);
    }
  } else if (kind == 6 && !walk.lengths.empty()) {
    const Number &length = choice.of(walk.lengths);
    changeNumber(buffer, length.at, length.width, choice);
  } else if (kind < 9 && !walk.references.empty()) {
    redirect(buffer, walk, choice);
  } else if (!walk.texts.empty()) {
    changeText(buffer, walk, choice);
  }
}

} // namespace heddle::fuzzing
