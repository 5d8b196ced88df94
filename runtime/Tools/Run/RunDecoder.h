// SPDX-License-Identifier: Apache-2.0
///
/// `heddle run` for encoder-decoder models: sources through "encode", given targets through
/// "decode".
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNDECODER_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNDECODER_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// One output as it goes into the file.
struct RunOutput {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// All outputs of a run, and the names of the tensors that no entry takes.
struct RunOutputs {
  std::vector<RunOutput> outputs;
  std::vector<std::string> ignored;
};

/// Whether a model is run by runDecoder() when no entry is asked for.
bool isDecoderModel(const Model &model);

/// Sources are [B,S], or [S] for one; targets [B,T] or [T]. The source's padding is said by
/// "attention_mask", or without one by the model's pad id; every column of the target is computed.
/// The outputs are those of both entries, but for the attention weights.
Result<RunOutputs> runDecoder(const Model &model, const SessionOptions &options,
                              std::span<const SafetensorsTensor> tensors, std::string_view where);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNDECODER_H
