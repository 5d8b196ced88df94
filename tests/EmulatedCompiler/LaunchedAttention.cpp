// SPDX-License-Identifier: Apache-2.0
///
/// Operands of attention on the emulated GPU. Memory that a kernel must not read contains NaN: the
/// other columns of wider rows, blocks of caches before a window, and positions that are not
/// appended yet.
#include "tests/EmulatedCompiler/LaunchedAttention.h"

#include "compiler/Parameters/FloatProducts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace heddle {

static constexpr float kHiddenNumber = -1.5F;
static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

static std::vector<float> randomNumbers(int64_t count, std::mt19937 &random) {
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values) {
    value = number(random);
  }
  return values;
}

/// Returns a scale of codes; 0 for numbers.
static float scaleOf(Kept kept, std::mt19937 &random) {
  return kept == Kept::Codes ? std::uniform_real_distribution<float>(0.5F, 1)(random) / 127 : 0;
}

/// Rounds numbers of `heads` of so many elements, as a cache stores them. Returns the scales.
static std::vector<float> keep(Kept kept, std::vector<float> &numbers, int64_t size,
                               std::mt19937 &random) {
  std::vector<float> scales;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    if (int64_t(i) % size == 0) {
      scales.push_back(scaleOf(kept, random));
    }
    switch (kept) {
    case Kept::F32:
      break;
    case Kept::Bf16:
      number = std::bit_cast<float>(std::bit_cast<uint32_t>(number) & 0xFFFF0000U);
      break;
    case Kept::Codes:
      number = std::clamp(std::rint(number / scales.back()), -127.0F, 127.0F) * scales.back();
      break;
    }
  }
  return scales;
}

AttentionSequence::AttentionSequence(const AttentionShape &shape, int64_t length, uint32_t seed)
    : length(length) {
  std::mt19937 random(seed);
  queries = randomNumbers(length * shape.queryWidth(), random);
  keys = randomNumbers(length * shape.keyWidth(), random);
  values = randomNumbers(length * shape.valueWidth(), random);
  keyScales = keep(shape.kept, keys, shape.keySize, random);
  valueScales = keep(shape.kept, values, shape.valueSize, random);
  for (const int64_t heads : shape.locationHeads) {
    locations.push_back(randomNumbers(length * heads * length, random));
  }
  if (shape.result == AttentionShape::Result::Sums) {
    weights = randomNumbers(length * shape.heads * length, random);
    for (int64_t i = 0; i < length * shape.heads * length; ++i) {
      if (!shape.visibility.sees(i / (shape.heads * length), i % length)) {
        weights[size_t(i)] = kNothing;
      }
    }
  }
  for (float &query : queries) {
    query *= 4;
  }
}

// --- expected results --------------------------------------------------------------------------

double CompiledAttention::biasOf(int64_t head, int64_t distance) const {
  const int64_t most = shape.biasDistance;
  const int64_t column = std::clamp(distance, -most, most) + most;
  return most == 0 ? 0 : double(biases[size_t(head * (2 * most + 1) + column)]);
}

double CompiledAttention::locationOf(const AttentionSequence &sequence, int64_t row, int64_t d,
                                     int64_t key) const {
  std::vector<double> near;
  for (size_t i = 0; i < shape.locationHeads.size(); ++i) {
    const int64_t heads = shape.locationHeads[i], taps = shape.locationTaps[i];
    for (int64_t number = 0; number < heads * taps; ++number) {
      const int64_t other = key + number % taps - taps / 2;
      const int64_t place = (row * heads + number / taps) * sequence.length + other;
      near.push_back(
          other < 0 || other >= sequence.length ? 0 : double(sequence.locations[i][size_t(place)]));
    }
  }
  double sum = 0;
  for (int64_t line = 0; line < shape.lines(); ++line) {
    double number = shape.locationFilters == 0 ? near[size_t(line)] : 0;
    for (int64_t i = 0; i < shape.near() && shape.locationFilters > 0; ++i) {
      number += double(filters[size_t(line * shape.near() + i)]) * near[size_t(i)];
    }
    sum += double(lineWeights[size_t(d * shape.lines() + line)]) * number;
  }
  return sum;
}

double CompiledAttention::scoreOf(const AttentionSequence &sequence, int64_t row, int64_t head,
                                  int64_t key) const {
  double product = 0;
  for (int64_t d = 0; d < shape.keySize; ++d) {
    const int64_t ofQuery = head * shape.keySize + d;
    const int64_t ofKey = head / shape.keyShare * shape.keySize + d;
    const double q = double(sequence.queries[size_t(row * shape.queryWidth() + ofQuery)]);
    double k = double(sequence.keys[size_t(key * shape.keyWidth() + ofKey)]);
    if (!shape.locationHeads.empty()) {
      k += locationOf(sequence, row, d, key);
    }
    product += shape.hasPairs ? double(pairWeights[size_t(ofQuery)]) * std::tanh(q + k) : q * k;
  }
  product *= double(shape.scale);
  double bias = biasOf(head, key - row);
  if (shape.score == "tanh") {
    product = std::tanh(product);
  } else if (shape.score == "bias") {
    product = product * bias;
    bias = 0;
  }
  if (shape.visibility.sees(row, key)) {
    return product + bias;
  }
  return shape.hidden == "added"     ? product + bias + double(kHiddenNumber)
         : shape.hidden == "score"   ? double(kHiddenNumber)
         : shape.hidden == "product" ? double(kHiddenNumber) + bias
                                     : -std::numeric_limits<double>::infinity();
}

KernelOutcome CompiledAttention::runAlone(int64_t length, uint32_t sharedLess) const {
  const AttentionSequence sequence(shape, length, 1);
  const std::vector<AttentionPart> batch = {{&sequence, 0, length}};
  KernelLaunch launch = launchOf(batch);
  launch.shared -= sharedLess;
  return run(batch, launch);
}

std::vector<double> CompiledAttention::scoresOf(const AttentionSequence &sequence, int64_t row,
                                                int64_t head) const {
  std::vector<double> all;
  for (int64_t key = 0; key < sequence.length; ++key) {
    all.push_back(scoreOf(sequence, row, head, key));
  }
  return all;
}

std::vector<double> CompiledAttention::exponentials(const AttentionSequence &sequence, int64_t row,
                                                    int64_t head) const {
  std::vector<double> all = scoresOf(sequence, row, head);
  const double most = *std::max_element(all.begin(), all.end());
  std::ranges::transform(all, all.begin(), [&](double score) { return std::exp(score - most); });
  return all;
}

std::vector<double> CompiledAttention::expectedRow(const AttentionSequence &sequence,
                                                   int64_t row) const {
  const bool areGiven = shape.result == AttentionShape::Result::Sums;
  std::vector<double> result;
  for (int64_t head = 0; head < shape.heads; ++head) {
    std::vector<double> weights;
    if (areGiven) {
      const auto line = sequence.weights.begin() + (row * shape.heads + head) * sequence.length;
      weights.assign(line, line + sequence.length);
      std::ranges::replace_if(weights, [](double weight) { return std::isnan(weight); }, 0.0);
    } else {
      weights = exponentials(sequence, row, head);
    }
    const double sum = areGiven ? 1 : std::accumulate(weights.begin(), weights.end(), 0.0);
    for (int64_t element = 0; element < shape.valueSize; ++element) {
      const int64_t column = head / shape.valueShare * shape.valueSize + element;
      double values = 0;
      for (int64_t key = 0; key < sequence.length; ++key) {
        values += weights[size_t(key)] *
                  double(sequence.values[size_t(key * shape.valueWidth() + column)]);
      }
      result.push_back(values / sum);
    }
  }
  return result;
}

std::vector<double> CompiledAttention::expectedWeights(const AttentionSequence &sequence,
                                                       int64_t row, int64_t head) const {
  if (shape.result == AttentionShape::Result::Scores) {
    return scoresOf(sequence, row, head);
  }
  std::vector<double> weights = exponentials(sequence, row, head);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::ranges::transform(weights, weights.begin(), [&](double weight) { return weight / sum; });
  return weights;
}

// --- the program -------------------------------------------------------------------------------

static std::string programOf(const AttentionShape &shape) {
  const auto rows = [&](int64_t width) {
    const int64_t stride = width + 2 * shape.before;
    return llvm::formatv("!dataflow.buffer<[tokens, {0}]{1}, f32>", width,
                         shape.before == 0 ? "" : " in " + std::to_string(stride))
        .str();
  };
  const auto keysOf = [&](int64_t width, int64_t size, bool areKeys) {
    return shape.isCached ? KeptBlock{shape.kept, width, size, areKeys}.type() : rows(width);
  };
  const bool hasValues = shape.hasValues();
  const bool hasWeights = shape.result == AttentionShape::Result::Sums;
  const std::string ofKeys =
      llvm::formatv("!dataflow.buffer<[tokens, {0}, longest(tokens)], f32>", shape.heads);
  std::string inputs = hasWeights ? ofKeys
                                  : rows(shape.queryWidth()) + ", " +
                                        keysOf(shape.keyWidth(), shape.keySize, /*areKeys=*/true);
  std::string options, note, pairs;
  if (hasValues) {
    inputs += ", " + keysOf(shape.valueWidth(), shape.valueSize, /*areKeys=*/false);
    options += llvm::formatv(", valueSize = {0}", shape.valueSize);
  }
  if (shape.biasDistance > 0) {
    inputs += llvm::formatv(", !dataflow.buffer<[{0}, {1}], f32>", shape.heads,
                            2 * shape.biasDistance + 1);
    options += llvm::formatv(", biasDistance = {0}", shape.biasDistance);
  }
  if (!shape.hidden.empty()) {
    options += llvm::formatv(", hidden = <{0} {1:f4} : f32>", shape.hidden, kHiddenNumber);
  }
  if (shape.keyShare > 1 || shape.valueShare > 1) {
    options += hasWeights ? "" : llvm::formatv(", keyShare = {0}", shape.keyShare).str();
    options += hasValues ? llvm::formatv(", valueShare = {0}", shape.valueShare).str() : "";
  }
  if (!shape.locationHeads.empty()) {
    const auto list = [](const std::vector<int64_t> &numbers) {
      return "[" +
             llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }),
                        ", ") +
             "]";
    };
    for (const int64_t heads : shape.locationHeads) {
      inputs += llvm::formatv(", !dataflow.buffer<[tokens, {0}, longest(tokens)], f32>", heads);
    }
    if (shape.locationFilters > 0) {
      inputs +=
          llvm::formatv(", !dataflow.buffer<[{0}, {1}], f32>", shape.locationFilters, shape.near());
      options += llvm::formatv(", locationFilters = {0}", shape.locationFilters);
    }
    inputs += llvm::formatv(", !dataflow.buffer<[{0}, {1}], f32>", shape.keySize, shape.lines());
    options += ", locationHeads = " + list(shape.locationHeads) +
               ", locationTaps = " + list(shape.locationTaps);
  }
  if (shape.hasPairs) {
    inputs += llvm::formatv(", !dataflow.buffer<[{0}, {1}], f32>", shape.heads, shape.keySize);
    options += ", pairs = true";
    pairs = R"( pairs {
^bb0(%q: f32, %k: f32):
  %sum = arith.addf %q, %k : f32
  %pair = math.tanh %sum : f32
  dataflow.yield %pair
})";
  }
  options += shape.result == AttentionShape::Result::Scores ? ", raw = true" : "";
  if (shape.products != FloatProducts::Exact) {
    note = " attributes {dataflow.float_products = \"" + floatProductsName(shape.products).str() +
           "\"}";
  }
  const std::string maths = shape.score == "tanh"   ? "%0 = math.tanh %x : f32"
                            : shape.score == "bias" ? "%0 = arith.mulf %x, %bias : f32"
                                                    : "";
  const std::string result =
      hasValues ? llvm::formatv("!dataflow.buffer<[tokens, {0}], f32>", shape.resultWidth()).str()
                : ofKeys;
  const std::string family = hasWeights ? "attend" : hasValues ? "attention" : "attention_weights";
  if (!hasWeights) {
    options += llvm::formatv(", keySize = {0}, scale = {1:f4} : f32", shape.keySize, shape.scale);
  }
  return llvm::formatv(R"(
dataflow.kernel @attention : ({0}) -> {1}
    computes #dataflow.{2}<heads = {3}, visibility = <{4}>{5}>{6} {{
^bb0(%x: f32{7}):
  {8}
  dataflow.yield %{9}
}{10}
)",
                       inputs, result, family, shape.heads, shape.visibility.text(), options, note,
                       shape.score == "bias" ? ", %bias: f32" : "", maths,
                       maths.empty() ? "x" : "0", pairs);
}

CompiledAttention::CompiledAttention(const AttentionShape &shape, const std::string &target)
    : shape(shape), kernel(programOf(shape), "attention", target) {
  std::mt19937 random(99);
  biases = randomNumbers(shape.heads * (2 * shape.biasDistance + 1), random);
  pairWeights = randomNumbers(shape.heads * shape.keySize, random);
  filters = randomNumbers(shape.locationFilters * shape.near(), random);
  lineWeights = randomNumbers(shape.keySize * shape.lines(), random);
}

// --- operands ----------------------------------------------------------------------------------

namespace {
/// The row spaces of a batch, as kernels read them.
struct BatchRows {
  std::vector<int32_t> offsets = {0}, sequenceOf, positions, lengths;
  int64_t longest = 0;

  explicit BatchRows(const std::vector<AttentionPart> &batch) {
    for (const AttentionPart &part : batch) {
      for (int64_t row = 0; row < part.rows; ++row) {
        sequenceOf.push_back(static_cast<int32_t>(offsets.size() - 1));
        positions.push_back(static_cast<int32_t>(part.first + row));
      }
      offsets.push_back(static_cast<int32_t>(offsets.back() + part.rows));
      lengths.push_back(static_cast<int32_t>(part.first + part.rows));
      longest = std::max(longest, part.first + part.rows);
    }
  }
  int64_t count() const { return offsets.back(); }
};
} // namespace

/// Sends the rows of a batch, each within a wider row; returns the address of the first.
static uint64_t sendRows(EmulatedGpu &gpu, const std::vector<AttentionPart> &batch,
                         const std::vector<float> AttentionSequence::*member, int64_t width,
                         int64_t before) {
  std::vector<float> all;
  for (const AttentionPart &part : batch) {
    for (int64_t row = part.first; row < part.first + part.rows; ++row) {
      const float *const from = (part.sequence->*member).data() + row * width;
      all.insert(all.end(), size_t(before), kNothing);
      all.insert(all.end(), from, from + width);
      all.insert(all.end(), size_t(before), kNothing);
    }
  }
  return gpu.send(all) + size_t(before) * sizeof(float);
}

namespace {
/// The keys or values of a sequence in a cache: its numbers, and the scales of codes.
struct CachedRows {
  const std::vector<float> AttentionSequence::*numbers, AttentionSequence::*scales;
  KeptBlock layout;

  /// Stores element `d` of a position to a block.
  void store(const AttentionSequence &from, int64_t position, int64_t d, char *block) const {
    const int64_t inBlock = position % HEDDLE_BLOCK;
    const float number = (from.*numbers)[size_t(position * layout.width + d)];
    char *const to = block + layout.elementAt(inBlock, d);
    switch (layout.kept) {
    case Kept::F32:
      std::memcpy(to, &number, sizeof number);
      break;
    case Kept::Bf16: {
      const auto bits = uint16_t(std::bit_cast<uint32_t>(number) >> 16);
      std::memcpy(to, &bits, sizeof bits);
      break;
    }
    case Kept::Codes: {
      const int64_t groups = layout.width / layout.shared;
      const float scale = (from.*scales)[size_t(position * groups + d / layout.shared)];
      std::memcpy(block + layout.scaleAt(inBlock, d), &scale, sizeof scale);
      *to = char(int8_t(std::lround(number / scale)));
      break;
    }
    }
  }
};
} // namespace

/// Sends a cache with the positions of a batch up to its last rows. Blocks are stored in another
/// order than that of their positions; all other numbers and scales are NaN.
static uint64_t sendCache(EmulatedGpu &gpu, const std::vector<AttentionPart> &batch,
                          const BatchRows &rows, const CachedRows &cached) {
  constexpr int64_t size = HEDDLE_BLOCK;
  const int64_t blockBytes = cached.layout.bytes();
  const int64_t pitch = (rows.longest + size - 1) / size + 1;
  const auto segments = static_cast<int64_t>(batch.size());
  const int64_t blocks = segments * pitch;
  std::vector<char> memory(static_cast<size_t>(blocks * blockBytes), char(-1));
  std::vector<int32_t> list;
  for (int64_t block = 0; block < blocks; ++block) {
    list.push_back(static_cast<int32_t>((block * 7 + 3) % blocks));
  }
  // If 7 divides the number of blocks, multiples of 7 are no permutation; reverses the order
  // instead.
  if (blocks % 7 == 0) {
    for (int64_t block = 0; block < blocks; ++block) {
      list[size_t(block)] = static_cast<int32_t>(blocks - 1 - block);
    }
  }
  for (int64_t segment = 0; segment < segments; ++segment) {
    const AttentionPart &part = batch[size_t(segment)];
    for (int64_t position = 0; position < part.first + part.rows; ++position) {
      const int64_t block = list[size_t(segment * pitch + position / size)];
      for (int64_t d = 0; d < cached.layout.width; ++d) {
        cached.store(*part.sequence, position, d, memory.data() + block * blockBytes);
      }
    }
  }
  const auto pointer = [](uint64_t address) { return reinterpret_cast<int32_t *>(address); };
  const HeddleCache cache = {pointer(gpu.send(memory)),
                             blockBytes,
                             pointer(gpu.send(rows.offsets)),
                             pointer(gpu.send(rows.sequenceOf)),
                             pointer(gpu.send(rows.lengths)),
                             pointer(gpu.send(list)),
                             pitch,
                             segments};
  return gpu.send(&cache, sizeof cache);
}

/// Sends numbers of keys, [rows][heads][longest]; `of` returns those of a sequence.
static uint64_t sendNumbersOfKeys(EmulatedGpu &gpu, const std::vector<AttentionPart> &batch,
                                  int64_t longest, int64_t heads,
                                  llvm::function_ref<const float *(const AttentionSequence &)> of) {
  std::vector<float> all;
  for (const AttentionPart &part : batch) {
    const int64_t length = part.sequence->length;
    for (int64_t line = part.first * heads; line < (part.first + part.rows) * heads; ++line) {
      const float *const from = of(*part.sequence) + line * length;
      all.insert(all.end(), from, from + std::min(length, longest));
      all.insert(all.end(), size_t(std::max<int64_t>(longest - length, 0)), kNothing);
    }
  }
  return gpu.send(all);
}

KernelLaunch CompiledAttention::launchOf(const std::vector<AttentionPart> &batch) const {
  return kernel.launchOf(BatchRows(batch).count(), shape.heads);
}

KernelOutcome CompiledAttention::run(const std::vector<AttentionPart> &batch,
                                     const KernelLaunch &launch) const {
  const BatchRows rows(batch);
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    const auto operand = [&](const CachedRows &own) {
      return shape.isCached ? sendCache(gpu, batch, rows, own)
                            : sendRows(gpu, batch, own.numbers, own.layout.width, shape.before);
    };
    std::vector<uint64_t> operands = {result};
    if (shape.result == AttentionShape::Result::Sums) {
      operands.push_back(sendNumbersOfKeys(
          gpu, batch, rows.longest, shape.heads,
          [](const AttentionSequence &sequence) { return sequence.weights.data(); }));
    } else {
      operands.push_back(
          sendRows(gpu, batch, &AttentionSequence::queries, shape.queryWidth(), shape.before));
      operands.push_back(
          operand({&AttentionSequence::keys,
                   &AttentionSequence::keyScales,
                   {shape.kept, shape.keyWidth(), shape.keySize, /*areKeys=*/true}}));
    }
    if (shape.hasValues()) {
      operands.push_back(
          operand({&AttentionSequence::values,
                   &AttentionSequence::valueScales,
                   {shape.kept, shape.valueWidth(), shape.valueSize, /*areKeys=*/false}}));
    }
    if (shape.biasDistance > 0) {
      operands.push_back(gpu.send(biases));
    }
    for (size_t i = 0; i < shape.locationHeads.size(); ++i) {
      operands.push_back(sendNumbersOfKeys(
          gpu, batch, rows.longest, shape.locationHeads[i],
          [i](const AttentionSequence &sequence) { return sequence.locations[i].data(); }));
    }
    if (!shape.locationHeads.empty()) {
      if (shape.locationFilters > 0) {
        operands.push_back(gpu.send(filters));
      }
      operands.push_back(gpu.send(lineWeights));
    }
    if (shape.hasPairs) {
      operands.push_back(gpu.send(pairWeights));
    }
    const auto list = [&](const std::vector<int32_t> &values) {
      return reinterpret_cast<const int32_t *>(gpu.send(values));
    };
    HeddleRows space = {};
    space.count = rows.count();
    space.longest = rows.longest;
    space.offsets = list(rows.offsets);
    space.sequence_of = list(rows.sequenceOf);
    space.positions = list(rows.positions);
    return gpu.sendLaunch(operands, {gpu.send(&space, sizeof space)}, launch);
  };
  const int64_t width = shape.resultWidth(rows.longest);
  return kernel.run(launch, size_t(rows.count() * width), width, send);
}

} // namespace heddle
