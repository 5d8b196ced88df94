// SPDX-License-Identifier: Apache-2.0
///
/// Converts the tensors of a safetensors file to the inputs of an entry, and its outputs to the
/// tensors of another file.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"
#include "runtime/Tools/Run/PaddedBatch.h"

#include <string>
#include <vector>

namespace heddle::tools {

/// The values of all tokens for one input of the entry: their ids, or rows of floats.
struct RunInput {
  std::string name;
  std::vector<int32_t> ids;
  std::vector<float> rows;
  /// The type that the file has the rows in.
  ElementType stored;

  Input values() const { return rows.empty() ? Input(name, ids) : Input(name, rows); }
};

/// Everything Session::run needs; owns the values.
struct RunInputs {
  PaddedBatch batch;
  std::vector<RunInput> inputs;
  /// Names of tensors that are no inputs of the entry, in the order of the file.
  std::vector<std::string> ignored;
};

/// Checks the tensors of a file against an entry, and takes the padding away. The tensors are the
/// inputs of the entry by name. Those of ids are [B,S] with an optional "attention_mask" [B,S], or
/// [tokens] with optional "lengths" [sequences] (one sequence without); I32 or I64. Those of rows
/// are [B,S,width] or [tokens,width]; F32, or F16 or BF16, which are converted. Other tensors are
/// ignored. `shaping` is the input that gives the batch its shape; if it has ids, then without a
/// mask its rows end in tokens `pad` that are none (-1: there are none such). `where` begins every
/// message.
Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> tensors, std::string_view where,
                                int32_t pad = -1);

/// The shape of an output in the file: [B,S,width] or [tokens,width], and [sequences,width].
std::vector<int64_t> outputShape(const PortInfo &output, const PaddedBatch &batch);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
