// SPDX-License-Identifier: Apache-2.0
///
/// Describes a GGUF file like the folder of the same model: configuration, tensors under the
/// family's names, pooling and tokenizer. The code that builds the model is then independent of
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
  /// The tensors under the family's names, for Checkpoint::withViews(). A tensor that the model
  /// does not use keeps its name.
  std::vector<TensorView> tensors;
  /// The pooling; embeddings are normalised, as in llama.cpp by default.
  SentenceTransformers sentence;
  TokenizerFile tokenizer;
  /// Notes for the user, one line each, on what the file does not specify.
  std::vector<std::string> notes;
};

/// Translates an open file. Unsupported for another architecture, tokenizer or pooling, and for one
/// file of several; messages name a key, tensor or token that is missing or does not fit the
/// others.
Result<GgufModel> readGgufModel(const GgufFile &file);

/// Returns the numbers, booleans and strings of the metadata, by their keys. A 32-bit float becomes
/// the shortest decimal that parses to the same number, as it was written originally.
Result<Config> ggufConfig(const GgufFile &file);

// --- The parts of readGgufModel() ---------------------------------------------------------------

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

/// Returns the views of every tensor of the file; checks that those of the model exist, with their
/// shapes.
Result<std::vector<TensorView>> nameGgufTensors(const GgufFile &file, const GgufSizes &sizes);

/// Reads the word pieces. A note lists what the file does not specify.
Result<TokenizerFile> readGgufTokenizer(const GgufFile &file, const Config &keys,
                                        std::vector<std::string> &notes);

} // namespace heddle

#endif // HEDDLE_FORMATS_GGUF_GGUFMODEL_H
