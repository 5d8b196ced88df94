// SPDX-License-Identifier: Apache-2.0
///
/// Caches and states of a trial: drawn in blocks as numbers, halves or codes, read by the twin, and
/// compared with the memory that a kernel has written.
#include "formats/Checkpoint/Convert.h"
#include "tests/EndToEnd/KernelTrial.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

int64_t keptWidth(Type type) {
  auto state = dyn_cast<StateType>(type);
  return state ? state.getWidth() : cast<CacheType>(type).getWidth();
}

/// Returns whether it is a state without keys, which has one position; others have those of
/// sequences.
static bool isRowState(Type type) {
  auto state = dyn_cast<StateType>(type);
  return state && !state.getKeyed();
}

/// Returns whether it is a cache of halves.
static bool isInHalves(Type type) {
  auto cache = dyn_cast<CacheType>(type);
  return cache && cache.getElementType().isBF16();
}

/// Returns the codes of a quantised cache; null for numbers.
static transformer::QuantizedType codesOf(Type type) {
  auto cache = dyn_cast<CacheType>(type);
  return cache ? dyn_cast<transformer::QuantizedType>(cache.getElementType()) : nullptr;
}

/// Returns the bytes of an element, or of a code.
static int64_t bytesOf(Type type) {
  return codesOf(type) ? 1 : isInHalves(type) ? int64_t(sizeof(uint16_t)) : int64_t(sizeof(float));
}

static bool isTransposed(Type type) {
  auto cache = dyn_cast<CacheType>(type);
  return cache ? cache.getLayout() == CacheLayout::Keys : cast<StateType>(type).getKeyed();
}

KernelTrial::Place KernelTrial::placeInBlock(const Operand &operand, int64_t block,
                                             int64_t position, int64_t column) {
  const int64_t width = keptWidth(operand.type), first = block * operand.view.block_stride;
  const bool areKeys = isTransposed(operand.type);
  const int64_t inRows = areKeys ? column * HEDDLE_BLOCK + position : position * width + column;
  transformer::QuantizedType codes = codesOf(operand.type);
  if (!codes) {
    return {first / bytesOf(operand.type) + inRows, 0};
  }
  const int64_t group = column / codes.getGroupOf(width), scales = codes.getCodesOffset(width);
  constexpr auto scaleBytes = int64_t(sizeof(float));
  if (areKeys) {
    return {first + scales * HEDDLE_BLOCK + inRows,
            first + (group * HEDDLE_BLOCK + position) * scaleBytes};
  }
  const int64_t row = first + position * codes.getRowBytes(width);
  return {row + scales + column, row + group * scaleBytes};
}

KernelTrial::Place KernelTrial::placeInCache(const Operand &operand, int64_t sequence,
                                             int64_t position, int64_t column) const {
  const int64_t list = sequence * operand.view.blocks_pitch;
  const int32_t block = operand.blocks[list + position / HEDDLE_BLOCK];
  return placeInBlock(operand, block, position % HEDDLE_BLOCK, column);
}

int64_t KernelTrial::cachedPositions(unsigned input, int64_t row) const {
  return operands[input].lengths[tokens().sequenceOf[row]];
}

double KernelTrial::atPosition(unsigned input, int64_t row, int64_t position,
                               int64_t column) const {
  const Operand &operand = operands[input];
  return operand.values.at(
      placeInCache(operand, tokens().sequenceOf[row], position, column).element);
}

// --- drawing ---------------------------------------------------------------------------------

template <typename T> static T loadAt(const std::vector<float> &memory, int64_t byte) {
  T value{};
  std::memcpy(&value, reinterpret_cast<const std::byte *>(memory.data()) + byte, sizeof(T));
  return value;
}

template <typename T> static void storeAt(std::vector<float> &memory, int64_t byte, T value) {
  std::memcpy(reinterpret_cast<std::byte *>(memory.data()) + byte, &value, sizeof(T));
}

/// Computes what the twin reads of a cache in fewer bits: the drawn values, rounded as stored.
void KernelTrial::drawKept(Operand &operand) {
  const bool areCodes = static_cast<bool>(codesOf(operand.type));
  for (const int32_t block : operand.blocks) {
    for (int64_t position = 0; position < HEDDLE_BLOCK; ++position) {
      for (int64_t column = 0; column < keptWidth(operand.type); ++column) {
        const Place place = placeInBlock(operand, block, position, column);
        double &value = operand.values[place.element];
        if (areCodes) {
          storeAt(operand.memory, place.element,
                  static_cast<int8_t>(static_cast<int64_t>(random() % 255) - 127));
          storeAt(operand.memory, place.scale, static_cast<float>(random() % 100 + 1) / 6400);
        } else {
          const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
          storeAt(operand.memory, 2 * place.element, static_cast<uint16_t>(bits >> 16));
        }
      }
      // The last element of a group has drawn its scale.
      for (int64_t column = 0; column < keptWidth(operand.type); ++column) {
        const Place place = placeInBlock(operand, block, position, column);
        operand.values[place.element] = keptAt(operand, place);
      }
    }
  }
}

/// Draws blocks in random order, with gaps between them.
void KernelTrial::drawCache(unsigned index) {
  Operand &operand = operands[index];
  const bool isState = isRowState(operand.type);
  const auto codes = codesOf(operand.type);
  const int64_t places =
      codes ? codes.getRowBytes(keptWidth(operand.type)) : keptWidth(operand.type);
  const int64_t stride = places * (isState ? 1 : HEDDLE_BLOCK) + 32;
  const int64_t pitch = isState ? 1 : (tokens().longest + HEDDLE_BLOCK - 1) / HEDDLE_BLOCK;
  const int64_t sequences = tokens().sequences();
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    operand.lengths.push_back(tokens().positions[tokens().offsets[sequence + 1] - 1] + 1);
  }
  for (int64_t i = 0; i < sequences * pitch; ++i) {
    operand.blocks.push_back(static_cast<int32_t>(i));
  }
  std::shuffle(operand.blocks.begin(), operand.blocks.end(), random);
  operand.values.resize(stride * sequences * pitch);
  draw(operand.values, 1);
  operand.memory.assign(operand.values.begin(), operand.values.end());
  operand.memory.resize(operand.memory.size() + slack);
  operand.view = {operand.memory.data(),
                  stride * bytesOf(operand.type),
                  tokens().offsets.data(),
                  tokens().sequenceOf.data(),
                  operand.lengths.data(),
                  operand.blocks.data(),
                  pitch,
                  sequences};
  if (codes || isInHalves(operand.type)) {
    drawKept(operand);
  }
}

// --- comparing -------------------------------------------------------------------------------

float KernelTrial::keptAt(const Operand &operand, const Place &place) {
  if (codesOf(operand.type)) {
    return static_cast<float>(loadAt<int8_t>(operand.memory, place.element)) *
           loadAt<float>(operand.memory, place.scale);
  }
  return isInHalves(operand.type) ? bf16ToF32(loadAt<uint16_t>(operand.memory, 2 * place.element))
                                  : operand.memory[place.element];
}

void KernelTrial::takeOver(const Operand &operand, const Place &place, std::vector<float> &memory) {
  const int64_t bytes = bytesOf(operand.type);
  std::memcpy(reinterpret_cast<std::byte *>(memory.data()) + place.element * bytes,
              reinterpret_cast<const std::byte *>(operand.memory.data()) + place.element * bytes,
              static_cast<size_t>(bytes));
  if (codesOf(operand.type)) {
    storeAt(memory, place.scale, loadAt<float>(operand.memory, place.scale));
  }
}

/// Compares the rows that are written, and checks that nothing else has changed.
std::string KernelTrial::compareKept(unsigned number, unsigned changed, std::vector<float> before) {
  const Operand &operand = operands[changed];
  auto state = dyn_cast<StateType>(operand.type);
  const RunRows &appended = state ? tokens() : rowsOf(kernel.getRows());
  const int64_t width = keptWidth(operand.type);
  for (int64_t row = 0; row < (state ? tokens().sequences() : appended.count()); ++row) {
    // A state with keys stores all elements of one position after another.
    const int64_t keys = state && state.getKeyed() ? operand.lengths[row] : 1;
    auto place = [&](int64_t column) {
      return state
                 ? placeInCache(operand, row, column / width, column % width)
                 : placeInCache(operand, appended.sequenceOf[row], appended.positions[row], column);
    };
    std::string difference = compareRow(number, row, [&](int64_t column) {
      return column < keys * width ? keptAt(operand, place(column))
                                   : std::bit_cast<float>(untouched);
    });
    if (!difference.empty()) {
      return difference;
    }
    for (int64_t column = 0; column < keys * width; ++column) {
      takeOver(operand, place(column), before);
    }
  }
  const bool isSame =
      std::memcmp(before.data(), operand.memory.data(), before.size() * sizeof(float)) == 0;
  return isSame ? "" : "it has changed more than the positions of its rows";
}

} // namespace heddle
