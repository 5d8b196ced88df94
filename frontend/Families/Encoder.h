// SPDX-License-Identifier: Apache-2.0
///
/// What families of encoders have around their layers: the entries `encode`, `embed` and, with a
/// classifier, `classify`. Embeddings are pooled and mapped as the folder of a sentence encoder
/// says.
#ifndef HEDDLE_FRONTEND_FAMILIES_ENCODER_H
#define HEDDLE_FRONTEND_FAMILIES_ENCODER_H

#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/ClassifierHead.h"
#include "frontend/Families/Family.h"

#include <cstdint>
#include <string_view>

namespace heddle {

/// A family of encoders: what a model of it answers. Names begin at the root of the checkpoint.
class Encoder {
public:
  virtual ~Encoder() = default;

  /// The width of its states.
  virtual int64_t stateWidth() const = 0;
  /// From an entry's inputs to the last hidden states [t, width].
  virtual Tensor encode(const Scope &root, Entry &entry) const = 0;
  /// What a pooler gives, [s, width]; an invalid tensor if the model has none.
  virtual Tensor summarize(const Scope &root, const Tensor &states, const Segments &rows) const = 0;
  /// The scores of labels [rows, labels], of tokens or sequences.
  virtual Tensor classify(const Scope &root, const ClassifierHead &head, const Tensor &states,
                          const Segments &rows) const = 0;
};

/// Writes the model. Without modules.json an embedding is the mean of the states, which is
/// sentence-transformers' default.
Result<FamilyModel> buildEncoder(mlir::MLIRContext &context, std::string_view modelType,
                                 const Encoder &encoder, const ModelSource &source,
                                 std::vector<std::string> unused, ConfigKeys keys);

/// The keys of a family of encoders: `neutral` ones of its own, and what all have. Pretraining
/// heads are left out, as is usual for embedding texts.
ConfigKeys encoderKeys(std::string_view family, std::vector<std::string_view> neutral);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_ENCODER_H
