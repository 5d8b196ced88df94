// SPDX-License-Identifier: Apache-2.0
///
/// Loops of AMX instructions on the tile registers, which processorTargets() has enabled.
#include "runtime/Device/Cpu/Amx.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle {

#ifdef __x86_64__
namespace {
/// The tile configuration in the format of the processor.
struct alignas(64) Configuration {
  uint8_t palette = 1, firstRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
} // namespace

// An instruction is issued every 16 cycles and takes 52: four chains suffice.
static constexpr int chains = 4;
static constexpr int64_t roundsOfVectors = 16;
static constexpr int tileRows = 16, tileBytes = 64;

/// Configures registers 0 to 3 for sums, 4 and 5 for factors, all zero.
__attribute__((target("amx-tile"))) static void clearTiles() {
  Configuration registers;
  for (int number = 0; number < chains + 2; ++number) {
    registers.rowBytes[number] = tileBytes;
    registers.rows[number] = tileRows;
  }
  _tile_loadconfig(&registers);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
}

/// Releases the registers, after a use of the result that the compiler cannot remove.
__attribute__((target("amx-tile"))) static void releaseTiles(float *sink) {
  alignas(64) float sums[tileRows][tileBytes / sizeof(float)];
  _tile_stored(0, sums, tileBytes);
  _tile_release();
  *sink += sums[0][0];
}

/// Returns the operations of `rounds` rounds with `elements` elements in 64 bytes.
static double operations(int64_t rounds, int elements) {
  const int64_t done = rounds / roundsOfVectors;
  return static_cast<double>(done) * chains * 2 * tileRows * tileRows * elements;
}

__attribute__((target("amx-tile,amx-bf16"))) double multiplyBf16OnAmx(int64_t rounds, float *sink) {
  clearTiles();
  for (int64_t i = 0; i < rounds / roundsOfVectors; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  releaseTiles(sink);
  return operations(rounds, tileBytes / sizeof(uint16_t));
}

__attribute__((target("amx-tile,amx-int8"))) double multiplyIntegersOnAmx(int64_t rounds,
                                                                          float *sink) {
  clearTiles();
  for (int64_t i = 0; i < rounds / roundsOfVectors; ++i) {
    _tile_dpbusd(0, 4, 5);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbusd(2, 4, 5);
    _tile_dpbusd(3, 4, 5);
  }
  releaseTiles(sink);
  return operations(rounds, tileBytes);
}
#else
double multiplyBf16OnAmx(int64_t, float *) { return 0; }
double multiplyIntegersOnAmx(int64_t, float *) { return 0; }
#endif

} // namespace heddle
