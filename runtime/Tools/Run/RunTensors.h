// SPDX-License-Identifier: Apache-2.0
///
/// Converts the tensors of a safetensors file (rectangles with padding and a mask) to the inputs of
/// an entry (the concatenated tokens of all sequences), and its outputs to tensors of another file.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"
#include "heddle/Status.h"
#include "runtime/Tools/Run/PaddedBatch.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// The values of all tokens for one input of the entry: their ids, or rows of floats.
struct RunInput {
  std::string name;
  std::vector<int32_t> ids;
  std::vector<float> rows;
  /// The element type of the rows in the file.
  ElementType stored;

  Input values() const { return rows.empty() ? Input(name, ids) : Input(name, rows); }
};

/// All arguments of Session::run(); owns the values.
struct RunInputs {
  PaddedBatch batch;
  std::vector<RunInput> inputs;
  /// The names of tensors that are not inputs of the entry, in the order of the file.
  std::vector<std::string> ignored;
};

/// Checks the tensors of a file against an entry, and removes the padding. The tensors are the
/// inputs of the entry by name. Ids are [B,S] with an optional "attention_mask" [B,S], or [tokens]
/// with optional "lengths" [sequences] (one sequence if absent); I32 or I64. Rows are [B,S,width]
/// or [tokens,width], for images [B,height,columns,width] and for spectra [B,frames,bins]; F32, or
/// F16 or BF16, which are converted. Other tensors are ignored. `shaping` is the input that gives
/// the batch its shape. For [B,S], the tensor NAME.length [B] gives the number of tokens, or rows
/// of pixels, of each sequence; if it is absent and there is no mask, rows of ids may end in
/// padding: the token `pad` (-1: none), or the one that the input declares. Images of any width
/// [B,height,width,channels] may have a tensor NAME.width [B] in addition to that of their heights;
/// [tokens,channels] need it. `where` begins every message.
Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> tensors, std::string_view where,
                                int32_t pad = -1);

/// Returns the tensor of that name, or null.
const SafetensorsTensor *findTensor(std::span<const SafetensorsTensor> tensors,
                                    std::string_view name);

/// Gathers the rows of a batch from all tensors that are inputs of the entry; they must have the
/// shape of the input `shaping`.
Result<RunInputs> gatherInputs(const EntryInfo &entry, PaddedBatch batch, std::string_view shaping,
                               std::span<const SafetensorsTensor> tensors, std::string_view where);

/// The tensor of the task of each sequence, [sequences].
inline constexpr std::string_view commandTensor = "command";

/// Returns the number of tasks of a model: the tokens that it reads but has no logits for.
int64_t commandsOf(const EntryInfo &decode);

/// Returns the commands in a file for `sequences` sequences; empty if the tensor is absent or the
/// model has one task.
Result<std::vector<int32_t>> readCommands(const EntryInfo &decode, size_t sequences,
                                          std::span<const SafetensorsTensor> tensors,
                                          std::string_view where);

/// Replaces the first token of every target by its command from readCommands(); targets stay
/// unchanged if there are none.
Status putCommands(RunInputs &targets, const EntryInfo &decode,
                   std::span<const SafetensorsTensor> tensors, std::string_view where);

/// Returns the shape of an output in the file: [B,S,width] or [tokens,width], and
/// [sequences,width]. If rows are derived from tokens it is [B,R,width], R being the number of rows
/// of S tokens or, for images of any width, the maximum of one image, or [rows,width].
std::vector<int64_t> outputShape(const PortInfo &output, const PaddedBatch &batch);

/// Spreads the rows of an output to their places in the file: in a rectangle, rows are at the
/// places of their tokens or, if they are derived from tokens, at the beginning of their line.
std::vector<float> spreadRows(const PortInfo &output, const PaddedBatch &batch,
                              std::vector<float> rows);

/// Returns the name of the tensor with the derivedLengths() of an output.
inline std::string rowsTensorName(const std::string &output) { return output + ".lengths"; }

/// Rejects outputs if one has the name of the tensor for another's lengths.
Status checkLengthsNames(std::span<const PortInfo> outputs);

/// Returns the number of rows of each sequence if they are derived from its tokens; otherwise
/// empty.
std::vector<int32_t> derivedLengths(const PortInfo &output, const PaddedBatch &batch);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
