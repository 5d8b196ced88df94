// SPDX-License-Identifier: Apache-2.0
///
/// A walk that finds the fields of a file, and changes to one of them.
#include "tests/Fuzzing/GgufMutation.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace heddle::fuzzing {

namespace {

/// Bytes [begin, end) of a file.
struct Part {
  size_t begin = 0;
  size_t end = 0;
};

/// The places of the parts of a file.
struct GgufParts {
  std::vector<Part> numbers;
  /// Without their lengths, which are the eight bytes before.
  std::vector<Part> texts;
  /// Whole keys and whole tensors; their counts are at bytes 16 and 8.
  std::vector<Part> keys;
  std::vector<Part> tensors;
  /// The end of the header, if all of it is well-formed; otherwise 0.
  size_t end = 0;
};

/// Reads the well-formed part of a file.
class GgufWalk {
public:
  explicit GgufWalk(const std::string &file) : file(file) {}
  GgufParts walk();

private:
  bool number(size_t width, uint64_t &value);
  bool text();
  bool value(uint64_t kind, int depth);
  bool key();
  bool tensor();

  const std::string &file;
  size_t at = 0;
  GgufParts found;
};

} // namespace

bool GgufWalk::number(size_t width, uint64_t &value) {
  if (width > file.size() - at) {
    return false;
  }
  value = 0;
  std::memcpy(&value, file.data() + at, width);
  found.numbers.push_back({at, at + width});
  at += width;
  return true;
}

bool GgufWalk::text() {
  uint64_t length = 0;
  if (!number(8, length) || length > file.size() - at) {
    return false;
  }
  found.texts.push_back({at, at + length});
  at += length;
  return true;
}

bool GgufWalk::value(uint64_t kind, int depth) {
  // By kind; 0 for strings and arrays.
  static constexpr size_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  uint64_t ignored = 0;
  if (kind >= std::size(widths) || depth > 4) {
    return false;
  }
  if (widths[kind] > 0) {
    return number(widths[kind], ignored);
  }
  if (kind == 8) {
    return text();
  }
  uint64_t items = 0;
  uint64_t count = 0;
  if (!number(4, items) || !number(8, count)) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!value(items, depth + 1)) {
      return false;
    }
  }
  return true;
}

bool GgufWalk::key() {
  const size_t begin = at;
  uint64_t kind = 0;
  if (!text() || !number(4, kind) || !value(kind, 0)) {
    return false;
  }
  found.keys.push_back({begin, at});
  return true;
}

bool GgufWalk::tensor() {
  const size_t begin = at;
  uint64_t rank = 0;
  uint64_t ignored = 0;
  if (!text() || !number(4, rank)) {
    return false;
  }
  for (uint64_t i = 0; i < rank; ++i) {
    if (!number(8, ignored)) {
      return false;
    }
  }
  if (!number(4, ignored) || !number(8, ignored)) {
    return false;
  }
  found.tensors.push_back({begin, at});
  return true;
}

GgufParts GgufWalk::walk() {
  uint64_t ignored = 0;
  uint64_t tensors = 0;
  uint64_t keys = 0;
  if (!number(4, ignored) || !number(4, ignored) || !number(8, tensors) || !number(8, keys)) {
    return found;
  }
  for (uint64_t i = 0; i < keys; ++i) {
    if (!key()) {
      return found;
    }
  }
  for (uint64_t i = 0; i < tensors; ++i) {
    if (!tensor()) {
      return found;
    }
  }
  found.end = at;
  return found;
}

/// Replaces a text by another one of the file or by bytes, and usually corrects its length.
static void changeText(std::string &file, const GgufParts &found, Choice &choice) {
  const Part place = choice.of(found.texts);
  std::string text = file.substr(place.begin, place.end - place.begin);
  if (choice.oneIn(2)) {
    const Part other = choice.of(found.texts);
    text = file.substr(other.begin, other.end - other.begin);
  } else if (choice.oneIn(2)) {
    changeBytes(text, choice);
  } else {
    text = unusualText(choice);
  }
  file.replace(place.begin, place.end - place.begin, text);
  if (!choice.oneIn(8)) {
    const auto length = static_cast<uint64_t>(text.size());
    std::memcpy(file.data() + place.begin - sizeof length, &length, sizeof length);
  }
}

/// Duplicates, removes or moves a key or a tensor, and usually corrects their number at `count`.
static void changeList(std::string &file, const std::vector<Part> &parts, size_t count,
                       Choice &choice) {
  const Part one = choice.of(parts);
  const std::string whole = file.substr(one.begin, one.end - one.begin);
  uint64_t number = 0;
  std::memcpy(&number, file.data() + count, sizeof number);
  switch (choice.below(3)) {
  case 0:
    file.insert(choice.of(parts).begin, whole);
    ++number;
    break;
  case 1:
    file.erase(one.begin, whole.size());
    --number;
    break;
  default: {
    const Part other = choice.of(parts);
    if (other.begin < one.begin) {
      file.erase(one.begin, whole.size());
      file.insert(other.begin, whole);
    }
  }
  }
  if (!choice.oneIn(8)) {
    std::memcpy(file.data() + count, &number, sizeof number);
  }
}

/// Changes a tensor's type, a size or its offset to a small number, which readers accept.
static void changeTensor(std::string &file, const GgufParts &found, Choice &choice) {
  static constexpr uint32_t types[] = {0, 1, 2, 3, 6, 7, 8, 10, 12, 13, 14, 30};
  static constexpr uint64_t sizes[] = {0, 1, 2, 32, 64, 256, 512};
  const Part one = choice.of(found.tensors);
  const uint64_t offset = choice.below(16) * 32;
  if (choice.oneIn(2)) {
    std::memcpy(file.data() + one.end - 12, &choice.of(types), 4);
  } else if (choice.oneIn(2)) {
    std::memcpy(file.data() + one.end - 8, &offset, 8);
  } else {
    uint64_t length = 0;
    uint32_t rank = 0;
    std::memcpy(&length, file.data() + one.begin, 8);
    std::memcpy(&rank, file.data() + one.begin + 8 + length, 4);
    if (rank > 0) {
      std::memcpy(file.data() + one.begin + 12 + length + 8 * choice.below(rank), &choice.of(sizes),
                  8);
    }
  }
}

/// Adds or removes bytes after the header, so that its padding to 32 bytes stays correct.
static void mendPadding(std::string &file, size_t before) {
  const size_t after = GgufWalk(file).walk().end;
  if (before == 0 || after == 0) {
    return;
  }
  const size_t wanted = (32 - after % 32) % 32;
  const size_t present = std::min((32 - before % 32) % 32, file.size() - after);
  file.replace(after, present, wanted, '\0');
}

void mutateGguf(std::string &file, Choice &choice) {
  const GgufParts found = GgufWalk(file).walk();
  const size_t kind = choice.below(10);
  if (kind < 3 && !found.numbers.empty()) {
    const Part place = choice.of(found.numbers);
    changeNumber(file, place.begin, place.end - place.begin, choice);
  } else if (kind < 5 && !found.texts.empty()) {
    changeText(file, found, choice);
  } else if (kind == 5 && !found.keys.empty()) {
    changeList(file, found.keys, 16, choice);
  } else if (kind == 6 && !found.tensors.empty()) {
    changeList(file, found.tensors, 8, choice);
  } else if (kind == 7 && !found.tensors.empty()) {
    changeTensor(file, found, choice);
  } else if (kind == 8 && found.end > 0) {
    changePart(file, found.end, file.size(), changeBytes, choice);
  } else {
    changeBytes(file, choice);
  }
  if (!choice.oneIn(8)) {
    mendPadding(file, found.end);
  }
}

} // namespace heddle::fuzzing
