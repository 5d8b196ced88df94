// SPDX-License-Identifier: Apache-2.0
///
/// How much faster a program is than without the passes, as far as counting tells: by its products
/// where arithmetic limits, by the weights and caches that it reads where memory does, and by these
/// and its activations where nothing stays in a cache of the machine. Nothing is known of a machine
/// here, and nothing assumed: these are the limits between which one lies that does what is
/// counted. What is not counted (norms, calls of kernels) can move it beyond them.
#ifndef HEDDLE_COMPILER_COST_PREDICTEDGAIN_H
#define HEDDLE_COMPILER_COST_PREDICTEDGAIN_H

#include "compiler/Cost/ProgramCosts.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// What a run of an entry is made of.
struct RunSize {
  /// New rows of one sequence: 1 in a step of a decoder.
  uint64_t rows = 0;
  /// Positions in the caches that the entry appends to, the new ones among them; 0 where it reads
  /// none.
  uint64_t history = 0;
  /// Positions in the caches that it only reads.
  uint64_t source = 0;

  bool operator==(const RunSize &) const = default;
};

/// What an entry does and reads in a run that asks for no probabilities of attention, over all of
/// its dispatches.
struct EntryTotals {
  uint64_t flopsPerToken = 0;
  /// For each token and key: among the rows of the run, in its history, in the source.
  uint64_t flopsPerTokenAndRow = 0;
  uint64_t flopsPerTokenAndHistory = 0;
  uint64_t flopsPerTokenAndSource = 0;
  /// Stored, each parameter once, as the binary has it; then each cache once, for each position of
  /// those that the entry appends to and of those that it only reads; in neither limit.
  uint64_t weightBytes = 0;
  uint64_t cacheBytesPerToken = 0;
  uint64_t cacheBytesPerSourceToken = 0;
  uint64_t stateBytesPerSequence = 0;
  /// Read, by each dispatch anew; of tables that are looked up a row for each token, of caches what
  /// each position of the history and of the source has.
  uint64_t weightBytesRead = 0;
  uint64_t lookupBytesPerToken = 0;
  uint64_t cacheBytesReadPerHistory = 0;
  uint64_t cacheBytesReadPerSource = 0;
  uint64_t stateBytesRead = 0;
  /// Activations read and written: in the last limit alone.
  uint64_t activationBytesPerToken = 0;
  uint64_t activationBytesPerTokenAndRow = 0;
  uint64_t activationBytesPerTokenAndHistory = 0;
  uint64_t activationBytesPerTokenAndSource = 0;

  explicit EntryTotals(const EntryCosts &entry);
  EntryTotals() = default;

  /// rows * (flopsPerToken + rows * flopsPerTokenAndRow + history * flopsPerTokenAndHistory +
  /// source * flopsPerTokenAndSource)
  uint64_t flops(const RunSize &size) const;
  /// weightBytesRead + rows * lookupBytesPerToken + history * cacheBytesReadPerHistory +
  /// source * cacheBytesReadPerSource + stateBytesRead
  uint64_t bytes(const RunSize &size) const;
  /// bytes + rows * (activationBytesPerToken + ..., as flops)
  uint64_t traffic(const RunSize &size) const;
};

/// Times as fast at one size; none where nothing is left to do.
struct GainAt {
  RunSize size;
  std::optional<double> arithmetic;
  std::optional<double> memory;
  std::optional<double> traffic;
};

struct EntryGain {
  std::string name;
  /// Then sizes are steps of one row, else whole sequences of rows.
  bool isDecoder = false;
  EntryTotals before;
  EntryTotals after;
  std::vector<GainAt> sizes;
};

/// The predicted gain of all entries, or the reason why there is none.
struct PredictedGain {
  std::vector<EntryGain> entries;
  std::string reason;
};

/// The costs of a program without the passes and with them. Steps of decoders have 24 and 200
/// positions of history and 24 of source, sequences of other entries 16 and 128 rows, but none of
/// it more than the entry's longest sequence; sizes that this makes equal are one. An entry that
/// only one of both has is left out.
PredictedGain predictGain(llvm::ArrayRef<EntryCosts> before, llvm::ArrayRef<EntryCosts> after);

/// An element for each entry, or one for the reason, as Report::writeEntry() has them by the name
/// "predicted-gain"; each entry also with "before", "after" and "predicted", docs/report.md. Their
/// savings are zero: it is the passes that save, and the other elements say what.
void writeGain(llvm::json::OStream &json, const PredictedGain &gain);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_PREDICTEDGAIN_H
