// SPDX-License-Identifier: Apache-2.0
///
/// Walks that find the fields of a file, and changes to one of them.
#include "tests/Fuzzing/RecordMutation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace heddle::fuzzing {

namespace {

/// Bytes [begin, end) of a file.
struct Part {
  size_t begin = 0;
  size_t end = 0;
};

/// The places of the parts of a model.bin.
struct ModelBin {
  std::vector<Part> numbers;
  /// Without their lengths, which are the two bytes before; the NUL at the end is part of a name.
  std::vector<Part> names;
  std::vector<Part> data;
  /// Whole variables; `count` is the number in the file.
  std::vector<Part> variables;
  std::optional<Part> count;
};

/// Reads the well-formed part of a file.
class ModelBinWalk {
public:
  explicit ModelBinWalk(const std::string &file) : file(file) {}
  ModelBin walk();

private:
  bool number(size_t width, uint64_t &value);
  bool name();
  bool variable(uint64_t version);

  const std::string &file;
  size_t at = 0;
  ModelBin found;
};

} // namespace

bool ModelBinWalk::number(size_t width, uint64_t &value) {
  if (width > file.size() - at) {
    return false;
  }
  value = 0;
  std::memcpy(&value, file.data() + at, width);
  found.numbers.push_back({at, at + width});
  at += width;
  return true;
}

bool ModelBinWalk::name() {
  uint64_t length = 0;
  if (!number(2, length) || length > file.size() - at) {
    return false;
  }
  found.names.push_back({at, at + length});
  at += length;
  return true;
}

bool ModelBinWalk::variable(uint64_t version) {
  const size_t begin = at;
  uint64_t rank = 0;
  uint64_t value = 0;
  if (!name() || !number(1, rank)) {
    return false;
  }
  for (uint64_t i = 0; i < rank; ++i) {
    if (!number(4, value)) {
      return false;
    }
  }
  uint64_t type = 0;
  uint64_t size = 0;
  if (!number(1, type) || !number(4, size)) {
    return false;
  }
  // Before version 4 the type is the size of an item.
  size *= version >= 4 ? 1 : type;
  if (size > file.size() - at) {
    return false;
  }
  found.data.push_back({at, at + size});
  at += size;
  found.variables.push_back({begin, at});
  return true;
}

ModelBin ModelBinWalk::walk() {
  uint64_t version = 0;
  uint64_t value = 0;
  uint64_t count = 0;
  if (!number(4, version) || !name() || !number(4, value) || !number(4, count)) {
    return found;
  }
  found.count = found.numbers.back();
  for (uint64_t i = 0; i < count; ++i) {
    if (!variable(version)) {
      return found;
    }
  }
  uint64_t aliases = 0;
  if (version >= 3 && number(4, aliases)) {
    for (uint64_t i = 0; i < aliases && name() && name(); ++i) {
    }
  }
  return found;
}

/// Replaces a name by another one of the file or by bytes, and usually corrects its length.
static void changeName(std::string &file, const ModelBin &found, Choice &choice) {
  const Part place = choice.of(found.names);
  std::string name = file.substr(place.begin, place.end - place.begin);
  if (choice.oneIn(2)) {
    const Part other = choice.of(found.names);
    name = file.substr(other.begin, other.end - other.begin);
  } else if (choice.oneIn(2)) {
    changeBytes(name, choice);
  } else {
    name = unusualText(choice) + std::string(1, '\0');
  }
  file.replace(place.begin, place.end - place.begin, name);
  if (!choice.oneIn(8)) {
    const auto length = static_cast<uint16_t>(name.size());
    std::memcpy(file.data() + place.begin - sizeof length, &length, sizeof length);
  }
}

/// Duplicates, removes or moves a variable, and usually corrects their number.
static void changeVariables(std::string &file, const ModelBin &found, Choice &choice) {
  const Part one = choice.of(found.variables);
  const std::string whole = file.substr(one.begin, one.end - one.begin);
  uint32_t count = 0;
  std::memcpy(&count, file.data() + found.count->begin, sizeof count);
  switch (choice.below(3)) {
  case 0:
    file.insert(choice.of(found.variables).begin, whole);
    ++count;
    break;
  case 1:
    file.erase(one.begin, whole.size());
    --count;
    break;
  default: {
    const Part other = choice.of(found.variables);
    if (other.begin < one.begin) {
      file.erase(one.begin, whole.size());
      file.insert(other.begin, whole);
    }
  }
  }
  if (!choice.oneIn(8)) {
    std::memcpy(file.data() + found.count->begin, &count, sizeof count);
  }
}

void mutateCTranslate2(std::string &file, Choice &choice) {
  const ModelBin found = ModelBinWalk(file).walk();
  const size_t kind = choice.below(8);
  if (kind < 4 && !found.numbers.empty()) {
    const Part place = choice.of(found.numbers);
    changeNumber(file, place.begin, place.end - place.begin, choice);
  } else if (kind == 4 && !found.names.empty()) {
    changeName(file, found, choice);
  } else if (kind == 5 && !found.data.empty()) {
    const Part place = choice.of(found.data);
    changePart(file, place.begin, place.end, changeBytes, choice);
  } else if (kind == 6 && !found.variables.empty()) {
    changeVariables(file, found, choice);
  } else {
    changeBytes(file, choice);
  }
}

namespace {

/// A field of a message in the wire format.
struct WireField {
  uint64_t tag = 0;
  /// The value of a number.
  uint64_t value = 0;
  /// The bytes of all other types.
  std::string bytes;

  unsigned kind() const { return tag & 7; }
};

} // namespace

static bool readVarint(std::string_view &rest, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    value |= uint64_t(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return false;
}

static void writeVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(value | 0x80);
  }
  out += static_cast<char>(value);
}

/// Returns the fields of a message; nullopt if it is malformed.
static std::optional<std::vector<WireField>> readMessage(std::string_view rest) {
  std::vector<WireField> fields;
  while (!rest.empty()) {
    WireField field;
    if (!readVarint(rest, field.tag)) {
      return std::nullopt;
    }
    uint64_t length = 0;
    switch (field.kind()) {
    case 0:
      if (!readVarint(rest, field.value)) {
        return std::nullopt;
      }
      fields.push_back(field);
      continue;
    case 1:
      length = 8;
      break;
    case 2:
      if (!readVarint(rest, length)) {
        return std::nullopt;
      }
      break;
    case 5:
      length = 4;
      break;
    default:
      return std::nullopt;
    }
    if (length > rest.size()) {
      return std::nullopt;
    }
    field.bytes = rest.substr(0, length);
    rest.remove_prefix(length);
    fields.push_back(std::move(field));
  }
  return fields;
}

static std::string writeMessage(const std::vector<WireField> &fields) {
  std::string out;
  for (const WireField &field : fields) {
    writeVarint(out, field.tag);
    if (field.kind() == 0) {
      writeVarint(out, field.value);
      continue;
    }
    if (field.kind() == 2) {
      writeVarint(out, field.bytes.size());
    }
    out += field.bytes;
  }
  return out;
}

/// Changes the content of a field.
static void changeContent(WireField &field, Choice &choice) {
  if (field.kind() == 0) {
    field.value = unusualNumber(field.value, field.value, choice);
  } else if (field.kind() != 2) {
    changeNumber(field.bytes, 0, field.bytes.size(), choice);
  } else if (choice.oneIn(3)) {
    field.bytes = unusualText(choice);
  } else {
    changeBytes(field.bytes, choice);
  }
}

void mutateProtobuf(std::string &message, Choice &choice) {
  std::optional<std::vector<WireField>> fields = readMessage(message);
  if (!fields || fields->empty() || choice.oneIn(16)) {
    return changeBytes(message, choice);
  }
  const size_t at = choice.below(fields->size());
  WireField &field = (*fields)[at];
  const bool isMessage =
      field.kind() == 2 && !field.bytes.empty() && readMessage(field.bytes).has_value();
  if (isMessage && !choice.oneIn(4)) {
    mutateProtobuf(field.bytes, choice);
  } else {
    switch (choice.below(6)) {
    case 0:
      fields->insert(fields->begin() + static_cast<ptrdiff_t>(choice.below(fields->size())),
                     WireField(field));
      break;
    case 1:
      fields->erase(fields->begin() + static_cast<ptrdiff_t>(at));
      break;
    case 2:
      std::swap(field, (*fields)[choice.below(fields->size())]);
      break;
    case 3:
      // Another number or another kind of field.
      field.tag =
          choice.oneIn(2) ? field.tag ^ (choice.below(8)) : unusualNumber(field.tag, 8, choice);
      break;
    default:
      changeContent(field, choice);
    }
  }
  message = writeMessage(*fields);
}

} // namespace heddle::fuzzing
