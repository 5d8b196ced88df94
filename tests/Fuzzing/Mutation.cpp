// SPDX-License-Identifier: Apache-2.0
///
/// Numbers and texts that are likely to break readers.
#include "tests/Fuzzing/Mutation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace heddle::fuzzing {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

size_t mutate(uint8_t *data, size_t size, size_t maxSize, uint32_t seed, Mutation mutation) {
  Choice choice(seed);
  if (choice.oneIn(10)) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::string bytes(reinterpret_cast<const char *>(data), size);
  for (size_t rounds = choice.oneIn(2) ? 1 : choice.below(4) + 1; rounds > 0; --rounds) {
    mutation(bytes, choice);
  }
  if (bytes.size() > maxSize || bytes.empty()) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

uint64_t unusualNumber(uint64_t present, uint64_t limit, Choice &choice) {
  switch (choice.below(6)) {
  case 0:
    return present + choice.below(17) - 8;
  case 1:
    return limit + choice.below(17) - 8;
  case 2: {
    // Around a power of two: the limits of all types, and of their products with item sizes.
    return (uint64_t(1) << choice.below(64)) + choice.below(3) - 1;
  }
  case 3:
    return present ^ (uint64_t(1) << choice.below(64));
  case 4:
    return choice.below(10);
  default:
    return choice.oneIn(2) ? choice.bits() : 0 - static_cast<uint64_t>(choice.below(10));
  }
}

void changeNumber(std::string &bytes, size_t at, size_t width, Choice &choice) {
  if (width > sizeof(uint64_t) || at > bytes.size() || width > bytes.size() - at) {
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);
  value = unusualNumber(value, bytes.size(), choice);
  std::memcpy(bytes.data() + at, &value, width);
}

std::string unusualText(Choice &choice) {
  static const std::array<std::string, 14> texts = {
      "",
      std::string(1, '\0'),
      "\xFF",
      "\xC0\x80",
      "\xED\xA0\x80",
      "\xF4\x90\x80\x80",
      "\xF0\x9F\x99\x82",
      "e\xCC\x81\xCC\x81",
      "\xEF\xB7\xBA",
      "\xE2\x96\x81",
      "\r\n",
      "../x",
      "<unk>",
      "%s{}{0}",
  };
  std::string text = choice.of(texts);
  if (choice.oneIn(4)) {
    const std::string once = text.empty() ? "a" : text;
    while (text.size() < choice.below(3000)) {
      text += once;
    }
  }
  return text;
}

void changeBytes(std::string &bytes, Choice &choice) {
  const size_t most = bytes.size() * 2 + 8;
  std::string room = bytes;
  room.resize(most);
  auto *const data = reinterpret_cast<uint8_t *>(room.data());
  const size_t size = LLVMFuzzerMutate(data, bytes.size(), most);
  bytes = room.substr(0, std::min(size, most));
  static_cast<void>(choice);
}

void changePart(std::string &bytes, size_t begin, size_t end, Mutation mutation, Choice &choice) {
  std::string part = bytes.substr(begin, end - begin);
  mutation(part, choice);
  bytes.replace(begin, end - begin, part);
}

} // namespace heddle::fuzzing
