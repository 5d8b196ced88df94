// SPDX-License-Identifier: Apache-2.0
///
/// Linux gives the registers of AMX to processes that ask: threads that use them have 8 KiB more to
/// save, which does not fit every stack for signals that a program has made before.
#include "runtime/Device/Cpu/Amx.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heddle {

#ifdef __x86_64__
bool mayUseAmx() {
  static const bool may = [] {
    // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA of Linux 5.16.
    constexpr int askForState = 0x1023, tileData = 18;
    __builtin_cpu_init();
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
           __builtin_cpu_supports("amx-bf16") &&
           ::syscall(SYS_arch_prctl, askForState, tileData) == 0;
  }();
  return may;
}

namespace {
/// How registers are set up, as the processor reads it.
struct alignas(64) Configuration {
  uint8_t palette = 1, firstRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
} // namespace

// An instruction takes 16 steps and its result 52: four chains just do.
static constexpr int chains = 4;
static constexpr int64_t roundsOfVectors = 16;
static constexpr int tileRows = 16, tileBytes = 64;

/// Sets up registers 0 to 3 for sums, 4 and 5 for factors, all zero.
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

/// Gives the registers back, after what must not be removed.
__attribute__((target("amx-tile"))) static void releaseTiles(float *sink) {
  alignas(64) float sums[tileRows][tileBytes / sizeof(float)];
  _tile_stored(0, sums, tileBytes);
  _tile_release();
  *sink += sums[0][0];
}

/// The operations of as many rounds with so many elements in 64 bytes.
static double operations(int64_t rounds, int elements) {
  return static_cast<double>(rounds / roundsOfVectors) * chains * 2 * tileRows * tileRows *
         elements;
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
bool mayUseAmx() { return false; }
double multiplyBf16OnAmx(int64_t, float *) { return 0; }
double multiplyIntegersOnAmx(int64_t, float *) { return 0; }
#endif

} // namespace heddle
