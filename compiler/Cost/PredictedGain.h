// SPDX-License-Identifier: Apache-2.0
///
/// Predicts the speedup of a program by the passes, from counts only: by its products if arithmetic
/// is the limit, by the weights and caches that it reads if memory is, and by these plus its
/// activations if no data stays in a cache of the machine. The prediction uses no machine model.
/// The speedup of a machine that only does the counted work is between these limits; work that is
/// not counted (norms, kernel calls) can move it outside.
#ifndef HEDDLE_COMPILER_COST_PREDICTEDGAIN_H
#define HEDDLE_COMPILER_COST_PREDICTEDGAIN_H

#include "compiler/Cost/ProgramCosts.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The sizes of a run of an entry.
struct RunSize {
  /// New rows of one sequence: 1 in a step of a decoder.
  uint64_t rows = 0;
  /// Positions in the caches that the entry appends to, including the new ones; 0 if it reads none.
  uint64_t history = 0;
  /// Positions in the caches that it only reads.
  uint64_t source = 0;

  bool operator==(const RunSize &) const = default;
};

/// The work and traffic of an entry over all of its dispatches, in a run that requests no
/// probabilities of attention.
struct EntryTotals {
  uint64_t flopsPerToken = 0;
  /// For each token and key: among the rows of the run, in its history, in the source.
  uint64_t flopsPerTokenAndRow = 0;
  uint64_t flopsPerTokenAndHistory = 0;
  uint64_t flopsPerTokenAndSource = 0;
  /// Stored bytes: each parameter once, as in the binary; each cache once, per position of caches
  /// that the entry appends to, and of caches that it only reads. Not part of any limit.
  uint64_t weightBytes = 0;
  uint64_t cacheBytesPerToken = 0;
  uint64_t cacheBytesPerSourceToken = 0;
  uint64_t stateBytesPerSequence = 0;
  /// Bytes read, by each dispatch separately: one row per token of look-up tables, and each
  /// position of the history and of the source in caches.
  uint64_t weightBytesRead = 0;
  uint64_t lookupBytesPerToken = 0;
  uint64_t cacheBytesReadPerHistory = 0;
  uint64_t cacheBytesReadPerSource = 0;
  uint64_t stateBytesRead = 0;
  /// Activations read and written, only part of the last limit.
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

/// The speedup at one size; nothing if no work is left.
struct GainAt {
  RunSize size;
  std::optional<double> arithmetic;
  std::optional<double> memory;
  std::optional<double> traffic;
};

struct EntryGain {
  std::string name;
  /// If so, sizes are steps of one row, else whole sequences of rows.
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

/// Compares the costs of a program without and with the passes. Steps of decoders have 24 and 200
/// positions of history and 24 of source, sequences of other entries 16 and 128 rows, limited to
/// the entry's longest sequence; equal sizes are merged. Entries that only one of the programs has
/// are left out.
PredictedGain predictGain(llvm::ArrayRef<EntryCosts> before, llvm::ArrayRef<EntryCosts> after);

/// Writes an element for each entry, or one for the reason, as Report::writeEntry() under the name
/// "predicted-gain"; each entry also with "before", "after" and "predicted", see docs/report.md.
/// Their savings are zero, because the elements of the passes have them.
void writeGain(llvm::json::OStream &json, const PredictedGain &gain);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_PREDICTEDGAIN_H
