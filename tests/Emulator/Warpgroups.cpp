// SPDX-License-Identifier: Apache-2.0
///
/// Implements wgmma. As for mma, the 16 products of an instruction are added to a sum in f64, and
/// the result is rounded once.
#include "tests/Emulator/Warpgroups.h"

#include "tests/Emulator/Blocks.h"
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/SharedMemory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::emulator {
namespace {
constexpr uint32_t rowsOfProduct = 64, stepsOfProduct = 16;
/// Rows of a core matrix, bytes of its rows, and the parts of a row that a product reads.
constexpr uint32_t coreRows = 8, partBytes = 16, partsOfProduct = 2;

/// Registers whose product is not awaited contain this NaN, with a number of sums and of a
/// register. It is a signalling one: any arithmetic makes it quiet.
constexpr uint32_t pendingMark = 0xFFA50000, quietBit = 0x00400000, markBits = 0xFFFF0000;
constexpr uint32_t registerBits = 7, mostSums = 512;
uint32_t pendingWord(uint32_t sums, int32_t index) {
  return pendingMark | sums << registerBits | uint32_t(index);
}
bool isPending(uint32_t word) { return (word & markBits) == pendingMark; }
bool isComputedEarly(uint32_t word) { return isPending(word & ~quietBit) && !isPending(word); }
uint32_t sumsOfWord(uint32_t word) { return (word & ~markBits) >> registerBits; }
int32_t indexOfWord(uint32_t word) { return int32_t(word & ((1U << registerBits) - 1)); }

/// Returns the place of a thread's register in [64][columns] sums.
size_t placeOfSum(int thread, int32_t index, int32_t columns) {
  const int row = thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8;
  const int column = index / 4 * 8 + thread % 4 * 2 + index % 2;
  return size_t(row) * size_t(columns) + size_t(column);
}

const Multiplying &operandsOf(const void *thread) {
  return *static_cast<const Multiplying *>(thread);
}

/// Returns an error if a register is the result of arithmetic on a sum that was not awaited.
std::string problemOfRegisters(const float *registers, int32_t count) {
  return std::any_of(registers, registers + count,
                     [](float each) { return isComputedEarly(std::bit_cast<uint32_t>(each)); })
             ? "has computed with a sum before its product was awaited"
             : "";
}
std::string problemOfRegisters(void *const *threads) {
  for (int thread = 0; thread < warpgroupThreads; ++thread) {
    const auto &own = *static_cast<const Awaiting *>(threads[thread]);
    if (std::string problem = problemOfRegisters(own.registers, own.count); !problem.empty()) {
      return problem;
    }
  }
  return "";
}

/// Returns the error in operands that all threads must pass alike.
std::string problemOfOperands(void *const *threads) {
  const Multiplying &first = operandsOf(threads[0]);
  for (int thread = 1; thread < warpgroupThreads; ++thread) {
    const Multiplying &other = operandsOf(threads[thread]);
    if (other.a != first.a || other.b != first.b || other.addsToSums != first.addsToSums) {
      return "multiplies other matrices than other threads of its warpgroup";
    }
  }
  return first.scaleA != 1 || first.scaleB != 1 || first.transposesA != 0 || first.transposesB != 0
             ? "multiplies negated or transposed matrices, which is not emulated"
             : "";
}

using Elements = std::vector<double>;

/// Returns the first matrix, [64][16], from the registers of all threads; empty if it is in memory.
/// The words of a thread: steps 2 t and 2 t + 1 of row g and of row g + 8, then those steps plus 8.
Elements elementsOfWords(void *const *threads) {
  if (operandsOf(threads[0]).words == nullptr) {
    return {};
  }
  Elements elements(size_t(rowsOfProduct) * stepsOfProduct);
  for (int thread = 0; thread < warpgroupThreads; ++thread) {
    for (int i = 0; i < 4; ++i) {
      const uint32_t word = operandsOf(threads[thread]).words[i];
      const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
      const int step = thread % 4 * 2 + i / 2 * 8;
      double *const two = &elements[size_t(row) * stepsOfProduct + size_t(step)];
      two[0] = std::bit_cast<float>(word << 16);
      two[1] = std::bit_cast<float>(word & 0xFFFF0000U);
    }
  }
  return elements;
}

/// Reads rows of a matrix, [rows][16].
Elements elementsOf(const MatrixInMemory &matrix, uint32_t rows) {
  Elements elements(size_t(rows) * stepsOfProduct);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t k = 0; k < stepsOfProduct; ++k) {
      const uint32_t inRow = k * 2;
      uint16_t bits = 0;
      const uint64_t address =
          SharedMemory::addressOf(matrix.placeOf(row, inRow / partBytes)) + inRow % partBytes;
      std::memcpy(&bits, reinterpret_cast<const void *>(address), sizeof bits);
      elements[size_t(row) * stepsOfProduct + k] = std::bit_cast<float>(uint32_t(bits) << 16);
    }
  }
  return elements;
}
} // namespace

// --- matrices ------------------------------------------------------------------------------------

std::string MatrixInMemory::decode(uint64_t descriptor, MatrixInMemory &matrix) {
  constexpr uint64_t mustBeZero = 0x3FFFC000C000C000;
  if ((descriptor & mustBeZero) != 0) {
    return "multiplies a matrix whose descriptor has bits that must be zero";
  }
  const auto field = [&](int at) { return uint32_t(descriptor >> at & 0x3FFF) * 16; };
  constexpr uint32_t rowBytesOf[] = {16, 128, 64, 32};
  matrix = {field(0), field(32), field(16), rowBytesOf[descriptor >> 62]};
  const uint32_t bytes = matrix.rowBytes * coreRows;
  if (matrix.stride % bytes != 0 || (matrix.rowBytes == partBytes && matrix.start % bytes != 0)) {
    return "multiplies a matrix whose descriptor is not aligned to " + std::to_string(bytes) +
           " bytes";
  }
  return "";
}

uint32_t MatrixInMemory::placeOf(uint32_t row, uint32_t part) const {
  const uint32_t before = start + row / coreRows * stride + row % coreRows * rowBytes;
  if (rowBytes == partBytes) {
    return before + part * leading;
  }
  // The number of a part in its row is combined with bits of the address above it.
  const uint32_t place = before + part * partBytes;
  return place ^ (place >> 3 & (rowBytes - partBytes));
}

std::string Products::beginMatrix(int warpgroup, const MatrixInMemory &matrix, uint32_t rows) {
  const Clock known = order().commonOf(warpgroup * warpgroupThreads, warpgroupThreads);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t part = 0; part < partsOfProduct; ++part) {
      const uint64_t address = SharedMemory::addressOf(matrix.placeOf(row, part));
      if (std::string problem = sharedMemory().beginProduct(warpgroup, known, address);
          !problem.empty()) {
        return problem;
      }
    }
  }
  return "";
}

// --- products ------------------------------------------------------------------------------------

Products &products() {
  static Products products;
  return products;
}

void Products::begin(int threads) {
  warpgroups.clear();
  warpgroups.resize(size_t(threads + warpgroupThreads - 1) / warpgroupThreads);
  isUsed = false;
}

std::string Products::fence(int warpgroup, void *const *threads) {
  warpgroups[size_t(warpgroup)].isFenced = true;
  return problemOfRegisters(threads);
}

/// Returns the sums to which a product is added: those in flight, or new ones with the numbers in
/// the registers.
std::string Products::sumsOf(int warpgroup, void *const *threads, uint32_t &number) {
  Warpgroup &own = warpgroups[size_t(warpgroup)];
  const int32_t count = operandsOf(threads[0]).count, columns = 2 * count;
  int64_t pending = 0;
  std::vector<float> values(size_t(columns) * rowsOfProduct);
  number = sumsOfWord(std::bit_cast<uint32_t>(operandsOf(threads[0]).registers[0]));
  for (int thread = 0; thread < warpgroupThreads; ++thread) {
    const float *const registers = operandsOf(threads[thread]).registers;
    if (std::string problem = problemOfRegisters(registers, count); !problem.empty()) {
      return problem;
    }
    for (int32_t i = 0; i < count; ++i) {
      pending += std::bit_cast<uint32_t>(registers[i]) == pendingWord(number, i) ? 1 : 0;
      values[placeOfSum(thread, i, columns)] = registers[i];
    }
  }
  const auto found = own.sums.find(number);
  if (pending == int64_t(count) * warpgroupThreads && found != own.sums.end() &&
      found->second.columns == columns) {
    return "";
  }
  if (std::any_of(values.begin(), values.end(),
                  [](float value) { return isPending(std::bit_cast<uint32_t>(value)); })) {
    return "adds to registers that have sums of other products, which are not awaited";
  }
  if (!own.isFenced) {
    return "multiplies into registers without wgmma.fence since they were used otherwise";
  }
  number = own.created++ % mostSums;
  own.sums[number] = {columns, 0, std::move(values)};
  return "";
}

std::string Products::multiply(int warpgroup, void *const *threads) {
  order().use();
  isUsed = true;
  const Multiplying &first = operandsOf(threads[0]);
  Warpgroup &own = warpgroups[size_t(warpgroup)];
  Product product = {0, {}, {}, first.addsToSums != 0, elementsOfWords(threads)};
  std::string problem = problemOfOperands(threads);
  const auto then = [&](auto step) {
    if (problem.empty()) {
      problem = step();
    }
  };
  if (product.words.empty()) {
    then([&] { return MatrixInMemory::decode(first.a, product.a); });
  } else {
    then([&]() -> std::string {
      return own.isFenced
                 ? ""
                 : "multiplies words in registers without wgmma.fence since they were written";
    });
  }
  then([&] { return MatrixInMemory::decode(first.b, product.b); });
  then([&] { return sumsOf(warpgroup, threads, product.sums); });
  if (product.words.empty()) {
    then([&] { return beginMatrix(warpgroup, product.a, rowsOfProduct); });
  }
  then([&] { return beginMatrix(warpgroup, product.b, uint32_t(first.count) * 2); });
  if (!problem.empty()) {
    return problem;
  }
  ++own.sums[product.sums].inFlight;
  own.open.push_back(product);
  for (int thread = 0; thread < warpgroupThreads; ++thread) {
    for (int32_t i = 0; i < first.count; ++i) {
      operandsOf(threads[thread]).registers[i] = std::bit_cast<float>(pendingWord(product.sums, i));
    }
  }
  return "";
}

std::string Products::commit(int warpgroup) {
  Warpgroup &own = warpgroups[size_t(warpgroup)];
  own.groups.push_back(std::move(own.open));
  own.open.clear();
  return "";
}

/// Reads the matrices of a product, and adds it.
void Products::finish(int warpgroup, const Product &product) {
  Sums &sums = warpgroups[size_t(warpgroup)].sums.at(product.sums);
  const auto columns = uint32_t(sums.columns);
  const bool areWords = !product.words.empty();
  const Elements a = areWords ? product.words : elementsOf(product.a, rowsOfProduct);
  const Elements b = elementsOf(product.b, columns);
  for (uint32_t row = 0; row < rowsOfProduct; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      float &sum = sums.values[size_t(row) * columns + column];
      double all = product.addsToSums ? sum : 0;
      for (uint32_t k = 0; k < stepsOfProduct; ++k) {
        all += a[size_t(row) * stepsOfProduct + k] * b[size_t(column) * stepsOfProduct + k];
      }
      sum = float(all);
    }
  }
  --sums.inFlight;
  // Each warp has read: one of its threads stands for it.
  std::vector<int> readers;
  for (int thread = 0; thread < warpgroupThreads; thread += warpLanes) {
    readers.push_back(warpgroup * warpgroupThreads + thread);
  }
  for (uint32_t part = 0; part < partsOfProduct; ++part) {
    for (uint32_t row = 0; row < rowsOfProduct && !areWords; ++row) {
      sharedMemory().endProduct(readers, SharedMemory::addressOf(product.a.placeOf(row, part)));
    }
    for (uint32_t row = 0; row < columns; ++row) {
      sharedMemory().endProduct(readers, SharedMemory::addressOf(product.b.placeOf(row, part)));
    }
  }
}

/// Puts sums into the registers that await them.
void Products::handOver(Warpgroup &of, void *const *threads) {
  for (int thread = 0; thread < warpgroupThreads; ++thread) {
    const auto &own = *static_cast<const Awaiting *>(threads[thread]);
    for (int32_t i = 0; i < own.count; ++i) {
      const auto word = std::bit_cast<uint32_t>(own.registers[i]);
      const auto found = isPending(word) ? of.sums.find(sumsOfWord(word)) : of.sums.end();
      if (found != of.sums.end() && found->second.inFlight == 0) {
        const Sums &sums = found->second;
        own.registers[i] = sums.values[placeOfSum(thread, indexOfWord(word), sums.columns)];
      }
    }
  }
}

std::string Products::await(int warpgroup, void *const *threads) {
  if (std::string problem = problemOfRegisters(threads); !problem.empty()) {
    return problem;
  }
  Warpgroup &own = warpgroups[size_t(warpgroup)];
  const auto &first = *static_cast<const Awaiting *>(threads[0]);
  while (int64_t(own.groups.size()) > first.running) {
    for (const Product &product : own.groups.front()) {
      finish(warpgroup, product);
    }
    own.groups.pop_front();
  }
  for (int reader = warpgroup * warpgroupThreads; reader < (warpgroup + 1) * warpgroupThreads;
       reader += warpLanes) {
    const uint32_t time = order().tick(reader);
    for (int lane = 0; order().isUsed() && lane < warpLanes; ++lane) {
      order().tell(reader + lane, reader, time);
    }
  }
  if (first.count != 0) {
    handOver(own, threads);
    own.isFenced = false;
    std::erase_if(own.sums, [](const auto &each) { return each.second.inFlight == 0; });
  }
  return "";
}

std::string Products::problemAtEnd() const {
  for (size_t i = 0; i < warpgroups.size(); ++i) {
    const auto isBusy = [](const std::vector<Product> &group) { return !group.empty(); };
    if (isBusy(warpgroups[i].open) ||
        std::any_of(warpgroups[i].groups.begin(), warpgroups[i].groups.end(), isBusy)) {
      return "ends while products of warpgroup " + std::to_string(i) +
             " are under way that it has not awaited";
    }
  }
  return "";
}

std::string Products::problemOfRead(uint64_t address, size_t bytes) const {
  for (uint64_t at = address; isUsed && at + sizeof(uint32_t) <= address + bytes;
       at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void *>(at), sizeof word);
    if (isPending(word) || isComputedEarly(word)) {
      return "reads a sum that was stored before its product was awaited";
    }
  }
  return "";
}

} // namespace heddle::emulator

using namespace heddle::emulator;

// --- functions that kernels call -----------------------------------------------------------------

static std::string fenceAll(int warpgroup, void *const *threads) {
  return products().fence(warpgroup, threads);
}
static std::string commitAll(int warpgroup, void *const *) { return products().commit(warpgroup); }
static std::string awaitAll(int warpgroup, void *const *threads) {
  return products().await(warpgroup, threads);
}
static std::string multiplyAll(int warpgroup, void *const *threads) {
  return products().multiply(warpgroup, threads);
}

HEDDLE_EMULATED void heddle_emulated_wgmma_fence_sync_aligned(void) {
  Awaiting own = {nullptr, 0, 0};
  meetWarpgroup("wgmma.fence", &own, fenceAll);
}
HEDDLE_EMULATED void heddle_emulated_wgmma_commit_group_sync_aligned(void) {
  meetWarpgroup("wgmma.commit_group", nullptr, commitAll);
}
HEDDLE_EMULATED void heddle_emulated_wgmma_wait_group_sync_aligned(int64_t running) {
  Awaiting own = {nullptr, 0, running};
  meetWarpgroup("wgmma.wait_group", &own, awaitAll);
}

// Inline assembly: the first two arguments are registers that it writes, and perhaps reads.
HEDDLE_EMULATED void heddle_emulated_asm_wgmma_fence_sync_aligned(float *registers, int32_t count) {
  Awaiting own = {registers, count, 0};
  meetWarpgroup("wgmma.fence", &own, fenceAll);
}
HEDDLE_EMULATED void heddle_emulated_asm_wgmma_wait_group_sync_aligned(float *registers,
                                                                       int32_t count,
                                                                       int32_t running) {
  Awaiting own = {registers, count, running};
  meetWarpgroup("wgmma.wait_group", &own, awaitAll);
}

// Both forms: the first matrix in shared memory, or in registers, where it cannot be transposed.
#define HEDDLE_WGMMA(columns)                                                                      \
  HEDDLE_EMULATED void                                                                             \
  heddle_emulated_asm_wgmma_mma_async_sync_aligned_m64n##columns##k16_f32_bf16_bf16(               \
      float *registers, int32_t count, uint64_t a, uint64_t b, int32_t addsToSums, int32_t scaleA, \
      int32_t scaleB, int32_t transposesA, int32_t transposesB) {                                  \
    Multiplying own = {registers,  count,  nullptr, a,           b,                                \
                       addsToSums, scaleA, scaleB,  transposesA, transposesB};                     \
    meetWarpgroup("wgmma.m64n" #columns "k16", &own, multiplyAll);                                 \
  }                                                                                                \
  HEDDLE_EMULATED void                                                                             \
  heddle_emulated_asm_wgmma_mma_async_sync_aligned_m64n##columns##k16_f32_bf16_bf16_words(         \
      float *registers, int32_t count, uint32_t word0, uint32_t word1, uint32_t word2,             \
      uint32_t word3, uint64_t b, int32_t addsToSums, int32_t scaleA, int32_t scaleB,              \
      int32_t transposesB) {                                                                       \
    const uint32_t words[] = {word0, word1, word2, word3};                                         \
    Multiplying own = {registers, count, words, 0, b, addsToSums, scaleA, scaleB, 0, transposesB}; \
    meetWarpgroup("wgmma.m64n" #columns "k16", &own, multiplyAll);                                 \
  }
HEDDLE_WGMMA(8)
HEDDLE_WGMMA(16)
HEDDLE_WGMMA(32)
HEDDLE_WGMMA(48)
HEDDLE_WGMMA(64)
HEDDLE_WGMMA(80)
HEDDLE_WGMMA(96)
HEDDLE_WGMMA(112)
HEDDLE_WGMMA(128)
HEDDLE_WGMMA(144)
HEDDLE_WGMMA(192)
HEDDLE_WGMMA(256)
#undef HEDDLE_WGMMA
