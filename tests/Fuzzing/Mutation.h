// SPDX-License-Identifier: Apache-2.0
///
/// What the mutators of all formats share: where randomness comes from, which numbers are likely to
/// break a reader, and the way into libFuzzer. A mutator knows its format, so that most of what it
/// makes gets past the first checks of the reader and meets the later ones.
#ifndef HEDDLE_TESTS_FUZZING_MUTATION_H
#define HEDDLE_TESTS_FUZZING_MUTATION_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace heddle::fuzzing {

/// Ends the program, which libFuzzer takes for a finding, if a reader broke what it promises.
void require(bool condition);

/// Random choices of one mutation; the same seed makes the same choices.
class Choice {
public:
  explicit Choice(uint32_t seed) : engine(seed) {}

  /// A number below `count`, which is not zero.
  size_t below(size_t count) { return static_cast<size_t>(engine() % count); }
  /// True once in so many times.
  bool oneIn(size_t count) { return below(count) == 0; }
  uint64_t bits() { return engine(); }
  template <typename List> auto &of(List &&list) { return list[below(std::size(list))]; }

private:
  std::mt19937_64 engine;
};

/// Changes `bytes` in place.
using Mutation = void (*)(std::string &bytes, Choice &choice);

/// The body of LLVMFuzzerCustomMutator: one to four mutations by `mutation`, or now and then
/// libFuzzer's own, which knows nothing of formats.
size_t mutate(uint8_t *data, size_t size, size_t maxSize, uint32_t seed, Mutation mutation);

/// A number near what is there, at the edge of a type, or near `limit` (the size of a file, say).
uint64_t unusualNumber(uint64_t present, uint64_t limit, Choice &choice);

/// Replaces the little-endian number of `width` bytes at `at` by an unusual one.
void changeNumber(std::string &bytes, size_t at, size_t width, Choice &choice);

/// A text that readers of text stumble over: empty, long, with NUL, not UTF-8, of astral
/// characters.
std::string unusualText(Choice &choice);

/// libFuzzer's mutation of a part of a file, at most twice as long afterwards.
void changeBytes(std::string &bytes, Choice &choice);

/// Applies a mutation to the bytes [begin, end) and puts the result, whatever its length, in their
/// place.
void changePart(std::string &bytes, size_t begin, size_t end, Mutation mutation, Choice &choice);

} // namespace heddle::fuzzing

/// Makes a mutation that of the fuzz target in whose source it stands.
#define HEDDLE_FUZZ_MUTATION(mutation)                                                             \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,            \
                                            unsigned int seed) {                                   \
    return heddle::fuzzing::mutate(data, size, maxSize, seed, mutation);                           \
  }

#endif // HEDDLE_TESTS_FUZZING_MUTATION_H
