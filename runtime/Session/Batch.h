// SPDX-License-Identifier: Apache-2.0
///
/// The validated arguments of one run, which the executor relies on.
#ifndef HEDDLE_RUNTIME_SESSION_BATCH_H
#define HEDDLE_RUNTIME_SESSION_BATCH_H

#include "heddle/Session.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A batch for one entry. Refers to the caller's memory.
class Batch {
public:
  /// Checks all arguments of the caller against the entry.
  Status bind(const EntryInfo &entry, const SequenceSizes &sequences, std::span<const Input> inputs,
              std::span<const Output> outputs);

  std::span<const int32_t> lengths() const { return sequenceSizes.lengths; }
  /// Returns the lengths, and the widths if images may have any width.
  const SequenceSizes &sizes() const { return sequenceSizes; }
  int64_t tokens() const { return tokenCount; }
  /// Returns the number of tokens of the longest sequence.
  int64_t longest() const { return longestLength; }
  /// Returns the values of each input by its number, one row for each token; null: all zeros.
  const std::vector<const std::byte *> &inputs() const { return inputValues; }
  /// Returns the memory of each output by its number, observed outputs last; null unless requested.
  const std::vector<float *> &outputs() const { return outputValues; }
  /// Returns the row of a requested output at which a sequence begins.
  int64_t firstRow(size_t output, int64_t sequence) const {
    return firstRows[output][static_cast<size_t>(sequence)];
  }
  /// Returns which outputs are requested. (With no sequences their pointers may be null.)
  const std::vector<bool> &requested() const { return outputsRequested; }

private:
  Status bindLengths(const EntryInfo &entry);
  Status bindWidths(const EntryInfo &entry);
  Status bindInput(const EntryInfo &entry, const Input &input);
  Status bindOutput(const EntryInfo &entry, const Output &output);
  /// Checks that an input has the element type and the number of values of its port.
  Status checkValues(const PortInfo &port, const Input &input) const;
  Status checkIds(const PortInfo &port, std::span<const int32_t> values) const;

  SequenceSizes sequenceSizes;
  int64_t tokenCount = 0;
  int64_t longestLength = 0;
  std::vector<const std::byte *> inputValues;
  std::vector<bool> inputsGiven;
  std::vector<float *> outputValues;
  /// For each output: the first row of each sequence, followed by the number of all rows.
  std::vector<std::vector<int64_t>> firstRows;
  std::vector<bool> outputsRequested;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_BATCH_H
