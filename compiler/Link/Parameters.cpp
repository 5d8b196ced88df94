// SPDX-License-Identifier: Apache-2.0
///
/// Placement of parameters, and what passes may ask about their values.
#include "compiler/Link/Parameters.h"

#include "compiler/Link/ParameterValues.h"
#include "formats/Binary/Layout.h"
#include "heddle/Abi.h"

#include <xxhash.h>

#include <map>

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

ParameterHasher parameterHasher(ParameterSource source) {
  return [source = std::move(source)](transformer::ParameterOp parameter, int64_t first,
                                      int64_t count) -> std::optional<ContentHash> {
    auto module = parameter->getParentOfType<ModuleOp>();
    Result<Values> values = evaluateParameter(module, parameter, source);
    if (!values.ok()) {
      return std::nullopt;
    }
    int64_t row = ShapedType::getNumElements(parameter.getTensorType().getShape().drop_front());
    auto bytes = std::as_bytes(std::span(*values).subspan(first * row, count * row));
    XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return ContentHash{hash.low64, hash.high64, llvm::all_of(bytes, isZero)};
  };
}

Result<Weights> Weights::place(ModuleOp module, ParameterSource source) {
  Weights weights(module, std::move(source));
  // By content, 128 bits of it, and size.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> offsets;
  ParameterEvaluator evaluator(module, weights.source);
  for (transformer::ParameterOp parameter : usedParameters(module)) {
    HEDDLE_ASSIGN(const StoredValues values, evaluator.evaluateStored(parameter));
    const std::span<const std::byte> bytes = values.bytes();
    XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    auto [found, isNew] =
        offsets.try_emplace({hash.low64, hash.high64, bytes.size()}, weights.bytes);
    if (isNew) {
      weights.stored.push_back(weights.placed.size());
      weights.bytes += alignUp(bytes.size(), HEDDLE_ALIGNMENT);
    }
    weights.placed.push_back({parameter, {found->second, bytes.size(), contentChecksum(bytes)}});
  }
  return weights;
}

Status Weights::write(const std::function<Status(std::span<const std::byte>)> &sink) const {
  static constexpr std::byte padding[HEDDLE_ALIGNMENT] = {};
  ParameterEvaluator evaluator(module, source);
  for (size_t index : stored) {
    HEDDLE_ASSIGN(const StoredValues values, evaluator.evaluateStored(placed[index].parameter));
    HEDDLE_TRY(sink(values.bytes()));
    size_t rest = alignUp(placed[index].place.size, HEDDLE_ALIGNMENT) - placed[index].place.size;
    HEDDLE_TRY(sink(std::span(padding, rest)));
  }
  return {};
}

} // namespace heddle
