// SPDX-License-Identifier: Apache-2.0
///
/// Shared by the readers of quantised checkpoints: finds and checks the tensors that are the parts
/// of one matrix, and combines them.
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

/// The parts of one layer of a checkpoint: "encoder.layer.0.output.dense" has ".qweight", ".scales"
/// and so on. Every part that is looked up becomes part of the result.
class LayerParts {
public:
  LayerParts(const Checkpoint &checkpoint, std::string layer)
      : checkpoint(checkpoint), layer(std::move(layer)) {}

  /// Returns the part of that name, which must have one of these types and, if given, this shape.
  /// DataLoss if it is missing or does not match.
  Result<const StoredTensor *>
  part(std::string_view suffix, std::initializer_list<ElementType> types,
       const std::optional<std::vector<int64_t>> &shape = std::nullopt);
  /// As part(), or null if there is none.
  Result<const StoredTensor *>
  optionalPart(std::string_view suffix, std::initializer_list<ElementType> types,
               const std::optional<std::vector<int64_t>> &shape = std::nullopt);
  /// Returns a part of rank 2 with positive dimensions.
  Result<const StoredTensor *> matrix(std::string_view suffix,
                                      std::initializer_list<ElementType> types);

  /// Checks that scales are finite and positive: a damaged file would otherwise give wrong results.
  Status checkScales(const StoredTensor &scales) const;
  /// Rejects a reordering of groups by activations: element i must belong to group i / `group`.
  Status checkOrder(std::string_view suffix, int64_t columns, int64_t group);

  /// Returns the beginning of a message about a part.
  std::string where(std::string_view suffix) const;
  const std::string &name() const { return layer; }
  /// Returns the matrix `layer.weight`, which replaces the parts in the checkpoint.
  CodedTensor finish(std::shared_ptr<const QuantizedTensor> codes) &&;

private:
  const Checkpoint &checkpoint;
  std::string layer;
  std::vector<std::string> taken;
};

/// Returns item `index` of F32, F16 or BF16, which may be unaligned.
float realAt(const StoredTensor &tensor, int64_t index);
/// Returns the bits of item `index` of I32.
uint32_t wordAt(const StoredTensor &tensor, int64_t index);

/// Adds a warning for each key of a quantisation's configuration that was not read, except the
/// `neutral` ones, which do not affect results.
void warnOfUnreadKeys(const Config &config, std::initializer_list<std::string_view> neutral,
                      std::vector<std::string> &warnings);

/// The result of applying a configuration to a checkpoint.
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
