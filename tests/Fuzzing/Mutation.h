// SPDX-License-Identifier: Apache-2.0
///
/// Shared by the mutators of all formats: the source of randomness, numbers that are likely to
/// break a reader, and the interface to libFuzzer. A mutator knows its format, so that most mutants
/// pass the first checks of the reader and reach the later ones.
#ifndef HEDDLE_TESTS_FUZZING_MUTATION_H
#define HEDDLE_TESTS_FUZZING_MUTATION_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace heddle::fuzzing {

/// Ends the program, which libFuzzer reports as a finding, if a reader broke a guarantee.
void require(bool condition);

/// Random choices of one mutation; the same seed makes the same choices.
class Choice {
public:
  explicit Choice(uint32_t seed) : engine(seed) {}

  /// Returns a number less than `count`, which is not zero.
  size_t below(size_t count) { return static_cast<size_t>(engine() % count); }
  /// Returns true once in `count` times.
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

/// Returns a number near the present one, at the limit of a type, or near `limit` (such as the size
/// of a file).
uint64_t unusualNumber(uint64_t present, uint64_t limit, Choice &choice);

/// Replaces the little-endian number of `width` bytes at `at` by an unusual one.
void changeNumber(std::string &bytes, size_t at, size_t width, Choice &choice);

/// Returns a text that is difficult for readers: empty, long, with NUL, invalid UTF-8, or with
/// astral characters.
std::string unusualText(Choice &choice);

/// Applies libFuzzer's mutation to a part of a file, which becomes at most twice as long.
void changeBytes(std::string &bytes, Choice &choice);

/// Applies a mutation to the bytes [begin, end) and replaces them by the result, whatever its
/// length.
void changePart(std::string &bytes, size_t begin, size_t end, Mutation mutation, Choice &choice);

} // namespace heddle::fuzzing

/// Uses a mutation in the fuzz target whose source contains this line.
#define HEDDLE_FUZZ_MUTATION(mutation)                                                             \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,            \
                                            unsigned int seed) {                                   \
    return heddle::fuzzing::mutate(data, size, maxSize, seed, mutation);                           \
  }

#endif // HEDDLE_TESTS_FUZZING_MUTATION_H
