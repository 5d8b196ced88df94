// SPDX-License-Identifier: Apache-2.0
///
/// Translates a CTranslate2 folder of the Transformer specification (model.bin, vocabularies,
/// config.json from version 6 on) into the project's own format: a configuration, and the place of
/// each tensor in model.bin. The code that builds the model is then independent of CTranslate2.
#ifndef HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2_H
#define HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2_H

#include "formats/CTranslate2/CTranslate2Vocabulary.h"
#include "formats/Checkpoint/CTranslate2File.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// The supported revisions of the Transformer's variable names; the first is OpenNMT-tf's own.
inline constexpr uint32_t ctranslate2FirstRevision = 2;
inline constexpr uint32_t ctranslate2LastRevision = 7;
/// `max_positions` for models whose positions are computed. CTranslate2 itself sets no limit.
inline constexpr int64_t ctranslate2ComputedPositions = 1024;

/// A folder, described in the project's own format.
struct CTranslate2Model {
  /// Always: model_type, rules, vocab_size, d_model, encoder_layers, decoder_layers, heads, d_ff,
  /// norm, layer_norm_eps, positions, max_positions, tie_embeddings, activation, pad_token_id,
  /// bos_token_id (what a target starts with), eos_token_id, and beyond the own models:
  ///
  ///     output_bias           whether the projection has a bias, "output.bias"
  ///     scale_embeddings      whether embeddings are multiplied by sqrt(d_model)
  ///     unk_token_id          of the target, as are bos and eos
  ///     source_unk_token_id, source_bos_token_id, source_eos_token_id
  ///     add_source_bos, add_source_eos     what is put around a source
  ///     alignment_layer, alignment_heads   attention of a target token: the mean over the first
  ///                                        heads of this decoder layer's cross-attention
  ///
  /// Only where a model has them:
  ///
  ///     target_vocab_size     if it differs from that of the source, which is vocab_size
  ///     positions_offset      1 with sinusoidal-split: the first token is at position 1
  ///     final_norm            the stacks' last norm, where `norm` would say otherwise
  ///     embedding_norm        a norm after the sum of embedding and position,
  ///                           "encoder.embedding_norm", "decoder.embedding_norm"
  ///     start_from_zero_embedding    the first target token has a zero for its embedding, before
  ///                                  the position is added
  Config config;
  /// The tensors under their names in our format, for Checkpoint::withViews().
  std::vector<TensorView> tensors;
  CTranslate2Vocabularies vocabularies;
  /// The files that were read in addition to model.bin.
  std::vector<std::string> files;
  /// Notes for the user, one line each.
  std::vector<std::string> notes;
};

/// Reads the files next to an open model.bin and combines them with it. An option that our format
/// cannot express is Unsupported and named in the message; so is an unused variable.
Result<CTranslate2Model> readCTranslate2Model(const std::string &folder,
                                              const CTranslate2File &file);

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2_H
