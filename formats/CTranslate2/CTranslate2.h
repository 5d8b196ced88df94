// SPDX-License-Identifier: Apache-2.0
///
/// A CTranslate2 folder of the Transformer specification (model.bin, vocabularies, from version 6
/// on config.json) as a model in the project's own format: its configuration, and where in
/// model.bin each of its tensors is. What computes such a model needs to know nothing of
/// CTranslate2.
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

/// The revisions of the Transformer's variable names that are read; the first is OpenNMT-tf's own.
inline constexpr uint32_t ctranslate2FirstRevision = 2;
inline constexpr uint32_t ctranslate2LastRevision = 7;
/// `max_positions` where positions are computed, which CTranslate2 does for any number of them.
inline constexpr int64_t ctranslate2ComputedPositions = 1024;

/// A folder in the words of the project's own format.
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
  /// The tensors by the names of the own format, for Checkpoint::withViews().
  std::vector<TensorView> tensors;
  CTranslate2Vocabularies vocabularies;
  /// The files that were read beside model.bin.
  std::vector<std::string> files;
  /// What a user may want to know, a line each.
  std::vector<std::string> notes;
};

/// Reads what is beside an open model.bin, and fits it together. What the own format cannot say is
/// Unsupported, with the option's name; so is a variable that nothing uses.
Result<CTranslate2Model> readCTranslate2Model(const std::string &folder,
                                              const CTranslate2File &file);

} // namespace heddle

#endif // HEDDLE_FORMATS_CTRANSLATE2_CTRANSLATE2_H
