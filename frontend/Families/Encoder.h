// SPDX-License-Identifier: Apache-2.0
///
/// The entries around an encoder's layers: `encode`, `embed` and, with a classifier, `classify`.
/// Embeddings are pooled and mapped as the folder of a sentence encoder defines.
#ifndef HEDDLE_FRONTEND_FAMILIES_ENCODER_H
#define HEDDLE_FRONTEND_FAMILIES_ENCODER_H

#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/ClassifierHead.h"
#include "frontend/Families/Family.h"

#include <cstdint>
#include <string_view>

namespace heddle {

/// The interface of encoder families. Names begin at the root of the checkpoint.
class Encoder {
public:
  virtual ~Encoder() = default;

  /// The width of its states.
  virtual int64_t stateWidth() const = 0;
  /// From an entry's inputs to the last hidden states [t, width].
  virtual Tensor encode(const Scope &root, Entry &entry) const = 0;
  /// Returns the result of a pooler, [s, width]; an invalid tensor if the model has none.
  virtual Tensor summarize(const Scope &root, const Tensor &states, const Segments &rows) const = 0;
  /// Returns the scores of labels [rows, labels], of tokens or sequences.
  virtual Tensor classify(const Scope &root, const ClassifierHead &head, const Tensor &states,
                          const Segments &rows) const = 0;
};

/// Builds the model. Without modules.json an embedding is the mean of the states, as in
/// sentence-transformers.
Result<FamilyModel> buildEncoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const Encoder &encoder, const ModelSource &source,
                                 std::vector<std::string> unused, ConfigKeys keys);

/// Returns the keys of a family of encoders: its own `neutral` ones and the shared ones.
/// Pretraining heads are omitted, as is usual for text embeddings.
ConfigKeys encoderKeys(std::string_view family, std::vector<std::string_view> neutral);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_ENCODER_H
