// SPDX-License-Identifier: Apache-2.0
///
/// Warp instructions, as the PTX manual defines them: which lane has which elements of a matrix.
/// The order in which tensor cores add is not specified. Here the 16 or 8 products of an
/// instruction are added to a sum in f64, and the result is rounded once. Integers are added
/// without error, modulo 2^32.
#include "tests/Emulator/Banks.h"
#include "tests/Emulator/Blocks.h"
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/SharedMemory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace heddle::emulator {
namespace {
/// Rows of a matrix of ldmatrix, and 16-bit elements per row.
constexpr int matrixSide = 8;
constexpr size_t matrixRowBytes = matrixSide * sizeof(uint16_t);
/// Lanes that hold the elements of a row.
constexpr int lanesOfRow = 4;

// --- ldmatrix ------------------------------------------------------------------------------------

struct Loading {
  int thread;
  uint64_t address;
  std::array<uint32_t, 4> words;
};

/// Loads one matrix: lanes from `matrix` * 8 on give the addresses of its rows, and all lanes get a
/// word.
template <bool isTransposed> std::string loadMatrix(void *const *lanes, int matrix) {
  const int first = static_cast<const Loading *>(lanes[0])->thread;
  std::array<uint64_t, matrixSide> rows;
  uint16_t elements[matrixSide][matrixSide];
  for (int row = 0; row < matrixSide; ++row) {
    const auto [thread, address, words] =
        *static_cast<const Loading *>(lanes[matrix * matrixSide + row]);
    if (address % matrixRowBytes != 0) {
      return "loads a row of a matrix at an address that is no multiple of 16";
    }
    if (!SharedMemory::contains(address)) {
      return "loads a row of a matrix that is not in shared memory";
    }
    if (std::string what =
            sharedMemory().readTogether(first, warpLanes, thread, address, matrixRowBytes);
        !what.empty()) {
      return what;
    }
    rows[size_t(row)] = address;
    std::memcpy(elements[row], reinterpret_cast<const void *>(address), matrixRowBytes);
  }
  bankCounter().useRows(rows);
  for (int lane = 0; lane < warpLanes; ++lane) {
    const int outer = lane / lanesOfRow, inner = lane % lanesOfRow * 2;
    const uint16_t lower = isTransposed ? elements[inner][outer] : elements[outer][inner];
    const uint16_t upper = isTransposed ? elements[inner + 1][outer] : elements[outer][inner + 1];
    static_cast<Loading *>(lanes[lane])->words[size_t(matrix)] = uint32_t(lower) | uint32_t(upper)
                                                                                       << 16;
  }
  return "";
}

/// Loads the four matrices of ldmatrix.x4.
template <bool isTransposed> std::string loadMatrices(void *const *lanes) {
  std::string what;
  for (int matrix = 0; matrix < 4 && what.empty(); ++matrix) {
    what = loadMatrix<isTransposed>(lanes, matrix);
  }
  return what;
}

template <bool isTransposed> void load(uint32_t *words, const void *from) {
  Loading own = {runningThread("ldmatrix"), reinterpret_cast<uint64_t>(from), {}};
  meetLanes("ldmatrix", &own, loadMatrices<isTransposed>);
  std::memcpy(words, own.words.data(), sizeof own.words);
}

// --- mma -----------------------------------------------------------------------------------------

template <typename Sum> struct Multiplying {
  std::array<uint32_t, 4> a;
  std::array<uint32_t, 2> b;
  std::array<Sum, 4> sums;
};
using MultiplyingFloats = Multiplying<float>;
using MultiplyingCodes = Multiplying<uint32_t>;

/// Widens the elements of a word of bf16, the lower half first.
void widen(uint32_t word, double *elements) {
  elements[0] = std::bit_cast<float>(word << 16);
  elements[1] = std::bit_cast<float>(word & 0xFFFF0000U);
}

/// The matrices of m16n8k16: [16][16], and the transposed second one, [8][16].
struct Factors {
  double a[16][16];
  double b[8][16];

  explicit Factors(void *const *lanes) {
    for (int lane = 0; lane < warpLanes; ++lane) {
      const auto &own = *static_cast<const MultiplyingFloats *>(lanes[lane]);
      const int group = lane / lanesOfRow, first = lane % lanesOfRow * 2;
      widen(own.a[0], &a[group][first]);
      widen(own.a[1], &a[group + 8][first]);
      widen(own.a[2], &a[group][first + 8]);
      widen(own.a[3], &a[group + 8][first + 8]);
      widen(own.b[0], &b[group][first]);
      widen(own.b[1], &b[group][first + 8]);
    }
  }
  float addTo(float sum, int row, int column) const {
    double all = sum;
    for (int k = 0; k < 16; ++k) {
      all += a[row][k] * b[column][k];
    }
    return static_cast<float>(all);
  }
};

/// The matrices of m16n8k8 in tf32: [16][8], and the transposed second one, [8][8].
struct ShortFactors {
  double a[16][8];
  double b[8][8];

  explicit ShortFactors(void *const *lanes) {
    for (int lane = 0; lane < warpLanes; ++lane) {
      const auto &own = *static_cast<const MultiplyingFloats *>(lanes[lane]);
      const int group = lane / lanesOfRow, first = lane % lanesOfRow;
      for (int i = 0; i < 4; ++i) {
        a[group + i % 2 * 8][first + i / 2 * 4] = std::bit_cast<float>(own.a[size_t(i)]);
      }
      for (int i = 0; i < 2; ++i) {
        b[group][first + i * 4] = std::bit_cast<float>(own.b[size_t(i)]);
      }
    }
  }
  float addTo(float sum, int row, int column) const {
    double all = sum;
    for (int k = 0; k < 8; ++k) {
      all += a[row][k] * b[column][k];
    }
    return static_cast<float>(all);
  }
};

/// Widens the four codes of a word, the lowest byte first.
template <bool isSigned> void widenCodes(uint32_t word, int32_t *codes) {
  constexpr int32_t range = 256;
  for (int i = 0; i < 4; ++i) {
    const auto code = static_cast<int32_t>(word >> 8 * i) & (range - 1);
    codes[i] = isSigned && code >= range / 2 ? code - range : code;
  }
}

/// The matrices of m16n8k32: [16][32], and the transposed second one, [8][32]. One of them has
/// signs.
template <bool areRowsSigned> struct Codes {
  int32_t a[16][32];
  int32_t b[8][32];

  explicit Codes(void *const *lanes) {
    for (int lane = 0; lane < warpLanes; ++lane) {
      const auto &own = *static_cast<const MultiplyingCodes *>(lanes[lane]);
      const int group = lane / lanesOfRow, first = lane % lanesOfRow * 4;
      widenCodes<areRowsSigned>(own.a[0], &a[group][first]);
      widenCodes<areRowsSigned>(own.a[1], &a[group + 8][first]);
      widenCodes<areRowsSigned>(own.a[2], &a[group][first + 16]);
      widenCodes<areRowsSigned>(own.a[3], &a[group + 8][first + 16]);
      widenCodes<!areRowsSigned>(own.b[0], &b[group][first]);
      widenCodes<!areRowsSigned>(own.b[1], &b[group][first + 16]);
    }
  }
  uint32_t addTo(uint32_t sum, int row, int column) const {
    for (int k = 0; k < 32; ++k) {
      sum += static_cast<uint32_t>(a[row][k] * b[column][k]);
    }
    return sum;
  }
};

/// Bits that tf32 does not have: the manual does not define their effect.
constexpr uint32_t beyondTf32 = 0x1FFF;
bool isTf32(uint32_t word) {
  return (word & beyondTf32) == 0 || std::isnan(std::bit_cast<float>(word));
}

template <typename Matrices, typename Sum> void addAll(void *const *lanes) {
  const Matrices factors(lanes);
  for (int lane = 0; lane < warpLanes; ++lane) {
    auto &own = *static_cast<Multiplying<Sum> *>(lanes[lane]);
    for (int i = 0; i < 4; ++i) {
      const int row = lane / lanesOfRow + i / 2 * 8, column = lane % lanesOfRow * 2 + i % 2;
      own.sums[size_t(i)] = factors.addTo(own.sums[size_t(i)], row, column);
    }
  }
}

std::string multiplyBf16(void *const *lanes) {
  addAll<Factors, float>(lanes);
  return "";
}

std::string multiplyTf32(void *const *lanes) {
  for (int lane = 0; lane < warpLanes; ++lane) {
    const auto &own = *static_cast<const MultiplyingFloats *>(lanes[lane]);
    for (const bool isFirst : {true, false}) {
      if (isFirst ? !std::ranges::all_of(own.a, isTf32) : !std::ranges::all_of(own.b, isTf32)) {
        return std::string("multiplies a number that is not rounded to tf32, in the ") +
               (isFirst ? "first" : "second") + " matrix";
      }
    }
  }
  addAll<ShortFactors, float>(lanes);
  return "";
}

template <bool areRowsSigned> std::string multiplyCodes(void *const *lanes) {
  addAll<Codes<areRowsSigned>, uint32_t>(lanes);
  return "";
}

template <bool areRowsSigned> void meetToMultiplyCodes(uint32_t *sums, MultiplyingCodes own) {
  meetLanes("mma.m16n8k32", &own, multiplyCodes<areRowsSigned>);
  std::memcpy(sums, own.sums.data(), sizeof own.sums);
}

// --- shfl ----------------------------------------------------------------------------------------

/// The word that a lane passes, and the operands `b` and `c` of the manual, which select the source
/// lane.
struct Shuffling {
  uint32_t word;
  uint32_t lane;
  uint32_t clamp;
  uint32_t result;
};

/// Returns the source lane that lane `own` selects, or `own` if that is outside its segment.
template <bool isOther> uint32_t sourceOf(uint32_t own, const Shuffling &of) {
  const uint32_t segment = of.clamp >> 8 & 31, inSegment = ~segment & 31;
  const uint32_t last = (own & segment) | (of.clamp & inSegment);
  const uint32_t named = isOther ? own ^ of.lane : (own & segment) | (of.lane & inSegment);
  return named > last ? own : named;
}

template <bool isOther> std::string exchange(void *const *lanes) {
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    if (lanes[lane] == nullptr) {
      continue;
    }
    auto &own = *static_cast<Shuffling *>(lanes[lane]);
    const uint32_t source = sourceOf<isOther>(lane, own) & 31;
    if (lanes[source] == nullptr) {
      return "wants the number of lane " + std::to_string(source) +
             ", which does not take part in the shuffle";
    }
    own.result = static_cast<const Shuffling *>(lanes[source])->word;
  }
  return "";
}

/// Exchanges a number of 32 bits.
template <bool isOther, typename Number>
Number shuffle(const char *name, uint32_t mask, Number number, uint32_t lane, uint32_t clamp) {
  Shuffling own = {std::bit_cast<uint32_t>(number), lane, clamp, 0};
  meetLanes(name, &own, exchange<isOther>, mask);
  return std::bit_cast<Number>(own.result);
}

// --- bar.warp.sync -------------------------------------------------------------------------------

/// Orders what the lanes have done before what they do next. Each passes its thread.
std::string synchronise(void *const *lanes) {
  order().use();
  Clock all = order().nothing();
  for (int lane = 0; lane < warpLanes; ++lane) {
    if (lanes[lane] != nullptr) {
      order().release(*static_cast<const int *>(lanes[lane]), all);
    }
  }
  for (int lane = 0; lane < warpLanes; ++lane) {
    if (lanes[lane] != nullptr) {
      order().acquire(*static_cast<const int *>(lanes[lane]), all);
    }
  }
  return "";
}

// --- numbers -------------------------------------------------------------------------------------

/// Returns a number rounded to tf32, ties away from zero, as bits of f32.
uint32_t roundedToTf32(float value) {
  return std::isnan(value) ? 0x7FFFFFFFU
                           : (std::bit_cast<uint32_t>(value) + (beyondTf32 + 1) / 2) & ~beyondTf32;
}

/// Returns a number rounded to bf16, ties to even.
uint32_t rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? 0x7FFFU : (bits + 0x7FFFU + (bits >> 16 & 1)) >> 16;
}
} // namespace
} // namespace heddle::emulator

using namespace heddle::emulator;

// --- called by kernels: results of several elements are stored to the address in argument 1 -----

HEDDLE_EMULATED void heddle_emulated_ldmatrix_sync_aligned_m8n8_x4_b16_p3(uint32_t *words,
                                                                          const void *from) {
  load</*isTransposed=*/false>(words, from);
}
HEDDLE_EMULATED void heddle_emulated_ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3(uint32_t *words,
                                                                                const void *from) {
  load</*isTransposed=*/true>(words, from);
}

HEDDLE_EMULATED void heddle_emulated_mma_m16n8k16_row_col_bf16(float *sums, uint32_t a0,
                                                               uint32_t a1, uint32_t a2,
                                                               uint32_t a3, uint32_t b0,
                                                               uint32_t b1, float c0, float c1,
                                                               float c2, float c3) {
  MultiplyingFloats own = {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};
  meetLanes("mma.m16n8k16", &own, multiplyBf16);
  std::memcpy(sums, own.sums.data(), sizeof own.sums);
}

HEDDLE_EMULATED void heddle_emulated_mma_m16n8k8_row_col_tf32(float *sums, uint32_t a0, uint32_t a1,
                                                              uint32_t a2, uint32_t a3, uint32_t b0,
                                                              uint32_t b1, float c0, float c1,
                                                              float c2, float c3) {
  MultiplyingFloats own = {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};
  meetLanes("mma.m16n8k8", &own, multiplyTf32);
  std::memcpy(sums, own.sums.data(), sizeof own.sums);
}

HEDDLE_EMULATED void
heddle_emulated_mma_m16n8k32_row_col_u8_s8(uint32_t *sums, uint32_t a0, uint32_t a1, uint32_t a2,
                                           uint32_t a3, uint32_t b0, uint32_t b1, uint32_t c0,
                                           uint32_t c1, uint32_t c2, uint32_t c3) {
  meetToMultiplyCodes</*areRowsSigned=*/false>(sums,
                                               {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}});
}

HEDDLE_EMULATED void
heddle_emulated_mma_m16n8k32_row_col_s8_u8(uint32_t *sums, uint32_t a0, uint32_t a1, uint32_t a2,
                                           uint32_t a3, uint32_t b0, uint32_t b1, uint32_t c0,
                                           uint32_t c1, uint32_t c2, uint32_t c3) {
  meetToMultiplyCodes</*areRowsSigned=*/true>(sums, {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}});
}

HEDDLE_EMULATED void heddle_emulated_bar_warp_sync(uint32_t mask) {
  int thread = runningThread("bar.warp.sync");
  meetLanes("bar.warp.sync", &thread, synchronise, mask);
}

HEDDLE_EMULATED float heddle_emulated_shfl_sync_idx_f32(uint32_t mask, float number, uint32_t lane,
                                                        uint32_t clamp) {
  return shuffle</*isOther=*/false>("shfl.idx", mask, number, lane, clamp);
}
HEDDLE_EMULATED float heddle_emulated_shfl_sync_bfly_f32(uint32_t mask, float number, uint32_t lane,
                                                         uint32_t clamp) {
  return shuffle</*isOther=*/true>("shfl.bfly", mask, number, lane, clamp);
}

HEDDLE_EMULATED uint32_t heddle_emulated_shfl_sync_bfly_i32(uint32_t mask, uint32_t number,
                                                            uint32_t lane, uint32_t clamp) {
  return shuffle</*isOther=*/true>("shfl.bfly", mask, number, lane, clamp);
}

HEDDLE_EMULATED uint32_t heddle_emulated_f2tf32_rna(float value) { return roundedToTf32(value); }

HEDDLE_EMULATED void heddle_emulated_ff2bf16x2_rn(uint32_t *pair, float upper, float lower) {
  *pair = rounded(upper) << 16 | rounded(lower);
}
