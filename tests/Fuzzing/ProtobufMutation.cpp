// SPDX-License-Identifier: Apache-2.0
///
/// Splits a message into its fields, changes one and joins them again.
#include "tests/Fuzzing/ProtobufMutation.h"

#include <optional>
#include <vector>

namespace heddle::fuzzing {

namespace {

enum WireType : uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message. `number` holds the value of a varint or of a fixed number.
struct Field {
  uint64_t tag = 0;
  std::string value;

  uint64_t type() const { return tag & 7; }
};

std::string varintOf(uint64_t number) {
  std::string bytes;
  do {
    const auto low = static_cast<unsigned char>(number & 0x7f);
    number >>= 7;
    bytes.push_back(static_cast<char>(number != 0 ? low | 0x80 : low));
  } while (number != 0);
  return bytes;
}

std::optional<uint64_t> readVarint(const std::string &bytes, size_t &at) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return number;
    }
  }
  return std::nullopt;
}

/// Returns the fields of a message; nullopt if it is malformed.
std::optional<std::vector<Field>> fieldsOf(const std::string &bytes) {
  std::vector<Field> fields;
  for (size_t at = 0; at < bytes.size();) {
    const auto tag = readVarint(bytes, at);
    if (!tag || *tag < 8) {
      return std::nullopt;
    }
    size_t size = 0;
    const size_t begin = at;
    switch (*tag & 7) {
    case Varint:
      if (!readVarint(bytes, at)) {
        return std::nullopt;
      }
      fields.push_back({*tag, bytes.substr(begin, at - begin)});
      continue;
    case Fixed64:
      size = 8;
      break;
    case Fixed32:
      size = 4;
      break;
    case Bytes: {
      const auto length = readVarint(bytes, at);
      if (!length || *length > bytes.size() - at) {
        return std::nullopt;
      }
      size = static_cast<size_t>(*length);
      break;
    }
    default:
      return std::nullopt;
    }
    if (size > bytes.size() - at) {
      return std::nullopt;
    }
    fields.push_back({*tag, bytes.substr(at, size)});
    at += size;
  }
  return fields;
}

std::string join(const std::vector<Field> &fields) {
  std::string bytes;
  for (const Field &field : fields) {
    bytes += varintOf(field.tag);
    if (field.type() == Bytes) {
      bytes += varintOf(field.value.size());
    }
    bytes += field.value;
  }
  return bytes;
}

/// Changes the value of a field, or of one inside it.
void changeValue(Field &field, Choice &choice, int depth) {
  if (field.type() == Varint) {
    size_t at = 0;
    field.value = varintOf(unusualNumber(readVarint(field.value, at).value_or(0), 64, choice));
    return;
  }
  if (field.type() != Bytes) {
    changeNumber(field.value, 0, field.value.size(), choice);
    return;
  }
  if (auto inner = fieldsOf(field.value);
      inner && !inner->empty() && depth < 12 && !choice.oneIn(6)) {
    changeValue(choice.of(*inner), choice, depth + 1);
    field.value = join(*inner);
    return;
  }
  if (choice.oneIn(3)) {
    field.value = unusualText(choice);
  } else {
    changeBytes(field.value, choice);
  }
}

void changeFields(std::vector<Field> &fields, Choice &choice, int depth) {
  const size_t at = choice.below(fields.size());
  // Usually deeper: there are few fields at the top.
  if (auto inner = fields[at].type() == Bytes ? fieldsOf(fields[at].value) : std::nullopt;
      inner && !inner->empty() && depth < 12 && !choice.oneIn(4)) {
    changeFields(*inner, choice, depth + 1);
    fields[at].value = join(*inner);
    return;
  }
  switch (choice.below(6)) {
  case 0:
    fields.erase(fields.begin() + static_cast<long>(at));
    break;
  case 1:
    fields.insert(fields.begin() + static_cast<long>(choice.below(fields.size() + 1)),
                  Field(fields[at]));
    break;
  case 2:
    std::swap(fields[at], choice.of(fields));
    break;
  case 3:
    fields[at].tag = (1 + choice.below(26)) << 3 | fields[at].type();
    break;
  default:
    changeValue(fields[at], choice, depth);
  }
}

} // namespace

void mutateProtobuf(std::string &message, Choice &choice) {
  auto fields = fieldsOf(message);
  if (!fields || fields->empty() || choice.oneIn(16)) {
    // Wrong lengths, and invalid wire types.
    changeBytes(message, choice);
    return;
  }
  changeFields(*fields, choice, 0);
  message = join(*fields);
}

} // namespace heddle::fuzzing
