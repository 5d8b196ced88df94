// SPDX-License-Identifier: Apache-2.0
///
/// What the readers of quantised checkpoints share: the tensors that are the parts of one matrix,
/// looked up and checked, and what becomes of them.
#ifndef HEDDLE_FORMATS_QUANTIZED_QUANTIZEDPARTS_H
#define HEDDLE_FORMATS_QUANTIZED_QUANTIZEDPARTS_H

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "heddle/Status.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The parts of one layer of a checkpoint: "encoder.layer.0.output.dense" has ".qweight",
/// ".scales" and so on. Every part that is asked for becomes part of the result.
class LayerParts {
public:
  LayerParts(const Checkpoint &checkpoint, std::string layer)
      : checkpoint(checkpoint), layer(std::move(layer)) {}

  /// The part of that name, of one of these types and, if it is given, of this shape. DataLoss if
  /// it is missing or another one.
  Result<const StoredTensor *>
  part(std::string_view suffix, std::initializer_list<ElementType> types,
       const std::optional<std::vector<int64_t>> &shape = std::nullopt);
  /// The same, or null if there is none.
  Result<const StoredTensor *>
  optionalPart(std::string_view suffix, std::initializer_list<ElementType> types,
               const std::optional<std::vector<int64_t>> &shape = std::nullopt);
  /// A part whose rank is 2 and whose dimensions are positive.
  Result<const StoredTensor *> matrix(std::string_view suffix,
                                      std::initializer_list<ElementType> types);

  /// Scales must be finite and above zero: a damaged file would otherwise be a model that answers
  /// nonsense.
  Status checkScales(const StoredTensor &scales) const;
  /// Refuses an order of groups by activations: element i belongs to group i / `group`.
  Status checkOrder(std::string_view suffix, int64_t columns, int64_t group);

  /// Begins a message about a part.
  std::string where(std::string_view suffix) const;
  const std::string &name() const { return layer; }
  /// What the checkpoint shows instead of the parts: the matrix `layer.weight`.
  CodedTensor finish(std::shared_ptr<const QuantizedTensor> codes) &&;

private:
  const Checkpoint &checkpoint;
  std::string layer;
  std::vector<std::string> taken;
};

/// Item `index` of F32, F16 or BF16, which may be unaligned.
float realAt(const StoredTensor &tensor, int64_t index);
/// Items `index` of I32, as their bits.
uint32_t wordAt(const StoredTensor &tensor, int64_t index);

/// A line for each key of a quantization's configuration that was not read and is none of
/// `neutral`, which change nothing of what is computed.
void warnOfUnreadKeys(const Config &config, std::initializer_list<std::string_view> neutral,
                      std::vector<std::string> &warnings);

/// What a configuration and its tensors make of a checkpoint.
struct CodedTensors {
  Quantization quantization;
  std::vector<CodedTensor> tensors;
};

/// The readers, one for each "quant_method". `config` is the object "quantization_config".
Result<CodedTensors> readCompressedTensors(const Config &config, const Checkpoint &checkpoint);
Result<CodedTensors> readGptq(const Config &config, const Checkpoint &checkpoint);
Result<CodedTensors> readAwq(const Config &config, const Checkpoint &checkpoint);

} // namespace heddle

#endif // HEDDLE_FORMATS_QUANTIZED_QUANTIZEDPARTS_H
