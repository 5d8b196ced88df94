// SPDX-License-Identifier: Apache-2.0
///
/// Places parameters, and evaluates them for passes that ask for their values.
#include "compiler/Link/Parameters.h"

#include "compiler/Link/ParameterValues.h"
#include "formats/Binary/Layout.h"
#include "heddle/Abi.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>

using namespace mlir;

namespace heddle {

using Values = std::vector<float>;

static bool isZero(std::byte byte) { return byte == std::byte(0); }

Result<Values> evaluateParameter(ModuleOp module, transformer::ParameterOp parameter,
                                 const ParameterSource &source) {
  return ParameterEvaluator(module, source).evaluate(parameter);
}

ParameterReader parameterReader(ParameterSource source) {
  return [source = std::move(source)](transformer::ParameterOp parameter) -> std::optional<Values> {
    auto module = parameter->getParentOfType<ModuleOp>();
    Result<Values> values = evaluateParameter(module, parameter, source);
    return values.ok() ? std::optional(std::move(*values)) : std::nullopt;
  };
}

namespace {
/// Hashes data that arrives in pieces.
class Hash128 {
public:
  Hash128() : state(XXH3_createState()) { XXH3_128bits_reset(state.get()); }
  void add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
  }
  XXH128_hash_t value() const { return XXH3_128bits_digest(state.get()); }

private:
  struct Free {
    void operator()(XXH3_state_t *state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state;
};
} // namespace

ParameterHasher parameterHasher(ParameterSource source) {
  return [source = std::move(source)](transformer::ParameterOp parameter, int64_t first,
                                      int64_t count) -> std::optional<ContentHash> {
    ParameterEvaluator evaluator(parameter->getParentOfType<ModuleOp>(), source);
    const int64_t slice = evaluator.rowsOfSlice(parameter);
    Hash128 hash;
    bool areZero = true;
    for (int64_t row = first; row < first + count; row += slice) {
      const int64_t rows = std::min(slice, first + count - row);
      Result<Values> values = evaluator.evaluateRows(parameter, row, rows);
      if (!values.ok()) {
        return std::nullopt;
      }
      const auto bytes = std::as_bytes(std::span(*values));
      hash.add(bytes);
      areZero = areZero && llvm::all_of(bytes, isZero);
    }
    return ContentHash{hash.value().low64, hash.value().high64, areZero};
  };
}

Result<Weights> Weights::place(ModuleOp module, ParameterSource source) {
  Weights weights(module, std::move(source));
  // By a 128-bit hash of the content, and size.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> offsets;
  ParameterEvaluator evaluator(module, weights.source);
  for (transformer::ParameterOp parameter : usedParameters(module)) {
    Hash128 content;
    ContentChecksum checksum;
    uint64_t size = 0;
    HEDDLE_TRY(evaluator.evaluateStored(parameter, [&](std::span<const std::byte> piece) {
      content.add(piece);
      checksum.add(piece);
      size += piece.size();
      return Status();
    }));
    const XXH128_hash_t hash = content.value();
    auto [found, isNew] = offsets.try_emplace({hash.low64, hash.high64, size}, weights.bytes);
    if (isNew) {
      weights.stored.push_back(weights.placed.size());
      weights.bytes += alignUp(size, HEDDLE_ALIGNMENT);
    }
    weights.placed.push_back({parameter, {found->second, size, checksum.value()}});
  }
  return weights;
}

Status Weights::write(const std::function<Status(std::span<const std::byte>)> &sink) const {
  static constexpr std::byte padding[HEDDLE_ALIGNMENT] = {};
  ParameterEvaluator evaluator(module, source);
  for (size_t index : stored) {
    HEDDLE_TRY(evaluator.evaluateStored(placed[index].parameter, sink));
    size_t rest = alignUp(placed[index].place.size, HEDDLE_ALIGNMENT) - placed[index].place.size;
    HEDDLE_TRY(sink(std::span(padding, rest)));
  }
  return {};
}

} // namespace heddle
