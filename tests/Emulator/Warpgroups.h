// SPDX-License-Identifier: Apache-2.0
///
/// Products of warpgroups: wgmma, as the PTX manual defines it. A product reads its matrices in
/// shared memory at any time until its group is awaited, so they are read then, and not earlier.
/// Until then its sums are not in the registers of the threads: these contain numbers by which the
/// emulator knows them again, even if a thread has computed with them.
#ifndef HEDDLE_TESTS_EMULATOR_WARPGROUPS_H
#define HEDDLE_TESTS_EMULATOR_WARPGROUPS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace heddle::emulator {

/// A matrix in shared memory with k along its rows, as a descriptor gives it.
struct MatrixInMemory {
  uint32_t start = 0;
  /// Bytes from eight rows to the next eight, and from 16 bytes of a row to the next, which is only
  /// used if nothing is swizzled.
  uint32_t stride = 0, leading = 0;
  /// Bytes of a swizzled row: 32, 64 or 128; 16 if nothing is swizzled.
  uint32_t rowBytes = 16;

  /// Decodes a descriptor. Returns the description of an error, or an empty string.
  static std::string decode(uint64_t descriptor, MatrixInMemory &matrix);
  /// Returns the lower 18 bits of the address of 16 bytes of a row.
  uint32_t placeOf(uint32_t row, uint32_t part) const;
};

/// The operands of wgmma.mma_async, as a thread passes them. The first matrix is in memory, or its
/// elements are in registers: four words of bf16 for each thread.
struct Multiplying {
  float *registers;
  int32_t count;
  const uint32_t *words;
  uint64_t a;
  uint64_t b;
  int32_t addsToSums;
  int32_t scaleA, scaleB, transposesA, transposesB;
};

/// Registers that a thread hands over at a fence, or while it waits; none if `count` is 0.
struct Awaiting {
  float *registers;
  int32_t count;
  int64_t running;
};

/// The products of the running block. Functions that return text return the description of an
/// error, or an empty string. `threads` are the operands of all threads of the warpgroup.
class Products {
public:
  void begin(int threads);
  std::string fence(int warpgroup, void *const *threads);
  std::string multiply(int warpgroup, void *const *threads);
  std::string commit(int warpgroup);
  std::string await(int warpgroup, void *const *threads);
  /// Returns an error if products are in flight.
  std::string problemAtEnd() const;
  /// Returns an error if memory contains a sum that was stored before it was awaited.
  std::string problemOfRead(uint64_t address, size_t bytes) const;

private:
  /// Sums, [64][columns], to which products in flight are added.
  struct Sums {
    int32_t columns;
    int inFlight = 0;
    std::vector<float> values;
  };
  struct Product {
    uint32_t sums;
    MatrixInMemory a, b;
    bool addsToSums;
    /// The elements of the first matrix, if it is in registers, which must not change before the
    /// product is awaited; otherwise empty.
    std::vector<double> words = {};
  };
  struct Warpgroup {
    bool isFenced = false;
    std::vector<Product> open;
    std::deque<std::vector<Product>> groups;
    std::map<uint32_t, Sums> sums;
    uint32_t created = 0;
  };

  std::string beginMatrix(int warpgroup, const MatrixInMemory &matrix, uint32_t rows);
  std::string sumsOf(int warpgroup, void *const *threads, uint32_t &number);
  void finish(int warpgroup, const Product &product);
  void handOver(Warpgroup &of, void *const *threads);

  std::vector<Warpgroup> warpgroups;
  /// Whether there was any product in this block.
  bool isUsed = false;
};

/// Returns the products of the running block.
Products &products();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_WARPGROUPS_H
