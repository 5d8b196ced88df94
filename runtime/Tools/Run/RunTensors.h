// SPDX-License-Identifier: Apache-2.0
///
/// Converts the tensors of a safetensors file (rectangles with padding and a mask) to the inputs of
/// an entry (the tokens of all sequences end to end), and its outputs to tensors of another file.
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
/// are [B,S,width] or [tokens,width], of images [B,height,columns,width] and of spectra
/// [B,frames,bins]; F32, or F16 or BF16, which are converted. Other tensors are ignored. `shaping`
/// is the input that gives the batch its shape. In [B,S], its tensor NAME.length [B] says how many
/// tokens, or rows of pixels, each sequence has; else, if it has ids, then without a mask its rows
/// end in tokens `pad` that are none (-1: there are none such), or those that the input itself
/// names. Images of any width [B,height,width,channels] may have a tensor NAME.width [B] beside
/// that of their heights; [tokens,channels] need it. `where` begins every message.
Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> tensors, std::string_view where,
                                int32_t pad = -1);

/// The tensor of that name, or null.
const SafetensorsTensor *findTensor(std::span<const SafetensorsTensor> tensors,
                                    std::string_view name);

/// The rows of a batch of all tensors that are inputs of the entry, which must have the shape of
/// the input `shaping`.
Result<RunInputs> gatherInputs(const EntryInfo &entry, PaddedBatch batch, std::string_view shaping,
                               std::span<const SafetensorsTensor> tensors, std::string_view where);

/// Which task each sequence is for, [sequences].
inline constexpr std::string_view commandTensor = "command";

/// The tasks of a model: the tokens that it reads beyond those it has logits of.
int64_t commandsOf(const EntryInfo &decode);

/// The commands of a file for so many sequences; empty without that tensor, or where the model has
/// one task.
Result<std::vector<int32_t>> readCommands(const EntryInfo &decode, size_t sequences,
                                          std::span<const SafetensorsTensor> tensors,
                                          std::string_view where);

/// Puts readCommands() in the place of the first token of every target; without any, the targets
/// stay what they are.
Status putCommands(RunInputs &targets, const EntryInfo &decode,
                   std::span<const SafetensorsTensor> tensors, std::string_view where);

/// The shape of an output in the file: [B,S,width] or [tokens,width], and [sequences,width]. Where
/// rows derive from tokens it is [B,R,width], R being the rows of S tokens, or of images of any
/// width the most that one has, or [rows,width].
std::vector<int64_t> outputShape(const PortInfo &output, const PaddedBatch &batch);

/// The rows of an output as the file has them: in a rectangle those of a sequence that has fewer
/// than its line are at their tokens' places or, where they derive from tokens, at its beginning.
std::vector<float> spreadRows(const PortInfo &output, const PaddedBatch &batch,
                              std::vector<float> rows);

/// The tensor that has the derivedLengths() of an output.
inline std::string rowsTensorName(const std::string &output) { return output + ".lengths"; }

/// Refuses outputs of which one has the name that the lengths of another would get.
Status checkLengthsNames(std::span<const PortInfo> outputs);

/// The rows of each sequence, where they derive from its tokens: what the lengths do not say.
std::vector<int32_t> derivedLengths(const PortInfo &output, const PaddedBatch &batch);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
