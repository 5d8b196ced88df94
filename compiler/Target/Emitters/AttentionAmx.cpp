// SPDX-License-Identifier: Apache-2.0
///
/// Products of attention on AMX. A tile has 16 queries. A register holds 16 keys as pairs of
/// elements, or 16 columns of values as pairs of keys. All registers are full and are configured
/// once per call.
#include "compiler/Target/Emitters/Amx.h"
#include "compiler/Target/Emitters/AttentionPairs.h"

using namespace mlir;

namespace heddle {

// Registers for scores: sums and keys, one of each for every vector of keys that is computed
// together, and queries. Registers for values: sums of columns, weights, and values.
static constexpr int64_t kKeyVectors = kAmxBf16Steps / kRowWords;
static constexpr int64_t kSums = 0, kKeys = 2, kQueries = 4;
static constexpr int64_t kMostColumns = 4, kWeights = 4, kValues = 5, kValueRegisters = 2;

static_assert(kQueries + dataflow::mostBf16HeadSize / kAmxBf16Steps <= 8, "AMX has 8 registers");

static Value stride(VectorCode &code) { return code.integer(kAmxRowBytes); }

bool runsOnAmx(dataflow::AttentionAttr computes, const TargetDescription &target) {
  return target.hasAmx && computes.getArithmetic() == dataflow::Arithmetic::Bf16;
}

void enterAmx(const AttentionTile &a, func::FuncOp kernel) {
  constexpr int64_t all = 8;
  AmxRegisters registers;
  for (int64_t number = 0; number < all; ++number) {
    registers.set(number, kAmxRows, kAmxRowBytes);
  }
  enterAmx(a.code, kernel, registers);
}

// --- products --------------------------------------------------------------------------------

void multiplyKeys(AttentionTile &a, Value firstKey, Value from, Value end) {
  VectorCode &code = a.code;
  Value pitch = code.multiply(a.scorePitch, sizeof(float));
  for (int64_t step = 0; step < stepsOf(a); ++step) {
    loadAmx(code, kQueries + step, code.at(a.roundedQueries, step * kWords), stride(code));
  }
  code.loop(from, end, kAmxBf16Steps, [&](Value j) {
    Value keys = keysAt(a, code.add(firstKey, j));
    for (int64_t v = 0; v < kKeyVectors; ++v) {
      clearAmx(code, kSums + v);
      for (int64_t step = 0; step < stepsOf(a); ++step) {
        int64_t place = v * kRowWords * a.scratchOfKey() + step * kWords;
        loadAmx(code, kKeys + v, code.at(keys, place), stride(code));
        multiplyAmxBf16(code, kSums + v, kQueries + step, kKeys + v);
      }
    }
    for (int64_t v = 0; v < kKeyVectors; ++v) {
      storeAmx(code, kSums + v, code.at(code.at(a.products, j), v * code.lanes), pitch);
    }
  });
}

void multiplyValues(AttentionTile &a, Value sums, Value firstKey, Value from, Value end) {
  VectorCode &code = a.code;
  Value weightPitch = code.multiply(a.scorePitch, sizeof(float));
  Value sumPitch = code.integer(a.valueVectors() * kAmxRowBytes);
  for (int64_t first = 0; first < a.valueVectors(); first += kMostColumns) {
    int64_t count = std::min(kMostColumns, a.valueVectors() - first);
    for (int64_t v = 0; v < count; ++v) {
      loadAmx(code, kSums + v, code.at(sums, (first + v) * kRowWords), sumPitch);
    }
    code.loop(from, end, kAmxBf16Steps, [&](Value j) {
      Value place = code.storedAt(a.scores, j, code.builder.getBF16Type());
      loadAmx(code, kWeights, place, weightPitch);
      Value values = valuesAt(a, code.add(firstKey, j));
      for (int64_t v = 0; v < count; ++v) {
        int64_t to = kValues + v % kValueRegisters;
        loadAmx(code, to, code.at(values, (first + v) * kWords), stride(code));
        multiplyAmxBf16(code, kSums + v, kWeights, to);
      }
    });
    for (int64_t v = 0; v < count; ++v) {
      storeAmx(code, kSums + v, code.at(sums, (first + v) * kRowWords), sumPitch);
    }
  }
}

} // namespace heddle
