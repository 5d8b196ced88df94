// SPDX-License-Identifier: Apache-2.0
///
/// A GGUF file as the folder of the same model would describe it: configuration, tensors under the
/// family's names, pooling and tokenizer. The code that builds the model then needs no knowledge of
/// GGUF. One architecture is supported: "bert", encoders with word pieces.
#ifndef HEDDLE_FORMATS_GGUF_GGUFMODEL_H
#define HEDDLE_FORMATS_GGUF_GGUFMODEL_H

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "formats/Config/SentenceTransformers.h"
#include "formats/Gguf/GgufFile.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "heddle/Status.h"

#include <string>
#include <vector>

namespace heddle {

/// A file, described as a folder of Hugging Face's Bert family.
struct GgufModel {
  /// model_type, vocab_size, hidden_size, num_hidden_layers, num_attention_heads,
  /// intermediate_size, max_position_embeddings, type_vocab_size, layer_norm_eps, hidden_act.
  Config config;
  /// The tensors under the family's names, for Checkpoint::withViews(). One that the model does
  /// not use keeps its name.
  std::vector<TensorView> tensors;
  /// The pooling; embeddings are normalized, as llama.cpp does by default.
  SentenceTransformers sentence;
  TokenizerFile tokenizer;
  /// Notes for the user, one line each: what the file does not say.
  std::vector<std::string> notes;
};

/// Translates an open file. Unsupported for another architecture, tokenizer or pooling, and for one
/// file of several; a key, tensor or token that is missing or does not fit the others is named.
Result<GgufModel> readGgufModel(const GgufFile &file);

/// The numbers, booleans and strings among the metadata, by their keys. Numbers of 32 bits are the
/// shortest decimal that reads as the same number, as it was written before it was stored.
Result<Config> ggufConfig(const GgufFile &file);

// --- the parts of readGgufModel() ---------------------------------------------------------------

/// The sizes of a "bert" file.
struct GgufSizes {
  int64_t words = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  int64_t positions = 0;
  int64_t tokenTypes = 0;
};

/// Every tensor of the file; checks that those of the model are there, with their shapes.
Result<std::vector<TensorView>> nameGgufTensors(const GgufFile &file, const GgufSizes &sizes);

/// The word pieces. A note says what the file does not.
Result<TokenizerFile> readGgufTokenizer(const GgufFile &file, const Config &keys,
                                        std::vector<std::string> &notes);

} // namespace heddle

#endif // HEDDLE_FORMATS_GGUF_GGUFMODEL_H
