// SPDX-License-Identifier: Apache-2.0
///
/// Converts the tensors of a safetensors file (rectangles with padding and a mask) to the inputs of
/// an entry (the tokens of all sequences end to end), and its outputs to tensors of another file.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNTENSORS_H

#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// Where the tokens of a batch lie in its tensors.
struct PaddedBatch {
  /// Tensors begin with [sequences, S] (rectangular) or [tokens]; those of ids have nothing more,
  /// those of rows of floats their width.
  bool rectangular = false;
  /// The first dimensions of every tensor.
  std::vector<int64_t> shape;
  /// Tokens of every sequence.
  std::vector<int32_t> lengths;
  /// The position of every token in such a tensor; without padding, 0, 1, 2, ...
  std::vector<int64_t> positions;

  int64_t tokens() const { return static_cast<int64_t>(positions.size()); }
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }

  /// The values of the tokens of a tensor of ids.
  std::vector<int32_t> gather(std::span<const int32_t> values) const;
  /// The rows of the tokens of a tensor [shape..., width].
  std::vector<float> gather(std::span<const float> values, int64_t width) const;
  /// Rows of the tokens, [tokens, width], spread to [shape..., width]; rows of padding are zero.
  std::vector<float> scatter(std::span<const float> rows, int64_t width) const;
  /// "row 2, column 5" or "position 7" of a token.
  std::string placeOf(int64_t token) const;
};

/// [B,S] without a mask: every row is a sequence of S tokens.
Result<PaddedBatch> batchWithoutPadding(std::span<const int64_t> shape);

/// [B,S] with a mask of ones and zeros, [B,S] too. The ones of a row stand together, at its
/// beginning, at its end or between padding.
Result<PaddedBatch> batchWithMask(std::span<const int64_t> shape, std::span<const int32_t> mask);

/// [B,S], where every row ends in padding: the token `pad`, from the last other token on.
Result<PaddedBatch> batchWithPadding(std::span<const int64_t> shape, std::span<const int32_t> ids,
                                     int32_t pad);

/// [tokens], cut into sequences of these lengths.
Result<PaddedBatch> batchWithLengths(std::span<const int64_t> shape,
                                     std::span<const int32_t> lengths);

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
/// names. `where` begins every message.
Result<RunInputs> readRunInputs(const EntryInfo &entry, const PortInfo &shaping,
                                std::span<const SafetensorsTensor> tensors, std::string_view where,
                                int32_t pad = -1);

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
/// rows derive from tokens it is [B,R,width], R being the rows of S tokens, or [rows,width].
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
