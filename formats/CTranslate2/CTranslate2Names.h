// SPDX-License-Identifier: Apache-2.0
///
/// Maps the tensor names of the project's own format to their places in model.bin.
#ifndef HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2NAMES_H
#define HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2NAMES_H

#include "formats/CTranslate2/CTranslate2Variables.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// The sizes of a Transformer and which optional tensors it has, derived from the variables.
struct CTranslate2Sizes {
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t width = 0;
  int64_t inner = 0;
  int64_t sourceWords = 0;
  int64_t targetWords = 0;
  /// The number of rows of the position tables; 0 if there are none.
  int64_t positions = 0;
  /// Whether one table serves both embeddings and the projection.
  bool isTied = false;
  bool hasOutputBias = false;
  bool hasFinalNorm = false;
  bool hasEmbeddingNorm = false;
};

/// Returns the variable of a stack's embeddings, in its new or old spelling.
std::string ctranslate2Embeddings(const CTranslate2Variables &variables, const std::string &stack);

/// Reads the sizes from the variables' shapes. A size that encoder and decoder must share is an
/// error if they differ.
Result<CTranslate2Sizes> readCTranslate2Sizes(CTranslate2Variables &variables);

/// Takes every tensor of the model and returns their views.
Result<std::vector<TensorView>> nameCTranslate2Tensors(CTranslate2Variables &variables,
                                                       const CTranslate2Sizes &sizes);

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2NAMES_H
