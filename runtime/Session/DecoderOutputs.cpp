// SPDX-License-Identifier: Apache-2.0
///
/// The outputs of a decoder's step besides its logits, on request.
#include "runtime/Session/PagedDecoder.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

/// Returns the index of an output of rows among those of an entry; -1 if there is none of that
/// name.
static int64_t rowsPort(const EntryInfo &entry, std::string_view name) {
  const auto found =
      std::find_if(entry.outputs.begin(), entry.outputs.end(), [&](const PortInfo &port) {
        return port.name == name && port.shape.size() == 2 && port.shape[0] == tokensDimension;
      });
  return found == entry.outputs.end() ? -1 : found - entry.outputs.begin();
}

/// Determines the outputs of a step, in `chosen`.
Status PagedDecoder::chooseOutputs(const StepOutputs &wanted) {
  const size_t outputs = decoder.info->outputs.size();
  chosen.assign(decoder.table->outputs()->size(), false);
  chosen[static_cast<size_t>(logitsPort)] = true;
  if (wanted.attention != nullptr && attentionPort < 0) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: attention weights are asked for, and entry "
                                                 "\"decode\" has no output \"attention\"",
                                                 loaded.path()));
  }
  if (wanted.attention != nullptr) {
    chosen[static_cast<size_t>(attentionPort)] = true;
  }
  for (const ObservedWeights &each : wanted.observed) {
    if (each.number >= decoder.info->observed.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("observed output {} is asked for, entry \"decode\" has {}",
                                      each.number, decoder.info->observed.size()));
    }
    chosen[outputs + each.number] = true;
  }
  for (const Output &each : wanted.rows) {
    const int64_t port = rowsPort(*decoder.info, each.name);
    if (port < 0 || port == logitsPort) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("output {} is asked for, expected rows of tokens that entry "
                                      "\"decode\" gives beside its logits",
                                      quote(each.name)));
    }
    chosen[static_cast<size_t>(port)] = true;
  }
  return {};
}

/// Checks that the requested outputs have room for their rows.
Status PagedDecoder::checkRowOutputs(std::span<const Output> rows) const {
  for (const Output &each : rows) {
    const auto port = static_cast<size_t>(rowsPort(*decoder.info, each.name));
    const int64_t count = batch.tokens() * decoder.info->outputs[port].shape[1];
    if (each.values.size() != static_cast<size_t>(count)) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("room for {} values of output {}, expected {}",
                                      each.values.size(), quote(each.name), count));
    }
  }
  return {};
}

/// Reads observed weights: each row is truncated to the existing keys, and the rest is zero.
Status PagedDecoder::readWeights(const PlannedOutput &output, Observed keys, int64_t longestCached,
                                 AttentionWeights &weights) const {
  const bool ofHistory = keys == Observed::Decoder && keepsHistory();
  const bool ofMemory = keys == Observed::No || keys == Observed::Cross;
  weights.heads = static_cast<int64_t>(output.heads);
  weights.pitch = ofHistory ? historyRows.longest : ofMemory ? memoryRows.longest : batch.longest();
  const auto heads = static_cast<size_t>(weights.heads);
  const auto pitch = static_cast<size_t>(weights.pitch);
  weights.values.assign(static_cast<size_t>(batch.tokens()) * heads * pitch, 0.0f);
  HEDDLE_ASSIGN(const float *values,
                executor->kept(output, static_cast<uint64_t>(batch.tokens()) * heads *
                                           static_cast<uint64_t>(longestCached)));
  float *to = weights.values.data();
  size_t row = 0;
  for (size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    for (int32_t token = 0; token < lengths[sequence]; ++token, ++row) {
      const int64_t count = ofHistory ? historyRows.lengths[sequence]
                            : ofMemory
                                ? memoryRows.lengths[static_cast<size_t>(memoryRows.segmentOf[row])]
                                : lengths[sequence];
      for (size_t head = 0; head < heads; ++head) {
        std::copy_n(values, count, to);
        to += pitch;
        values += longestCached;
      }
    }
  }
  return {};
}

/// Reads the outputs of a step after which no other one has begun.
Status PagedDecoder::readOutputs(const BegunStep &step) const {
  const Plan &plan = *step.plan;
  const StepOutputs &wanted = step.wanted;
  if (wanted.attention != nullptr) {
    HEDDLE_TRY(readWeights(plan.outputs[static_cast<size_t>(attentionPort)], Observed::No,
                           step.longestCached, *wanted.attention));
  }
  for (ObservedWeights &each : wanted.observed) {
    const size_t port = decoder.info->outputs.size() + each.number;
    HEDDLE_TRY(readWeights(plan.outputs[port], decoder.info->observed[each.number].observed,
                           step.longestCached, each.weights));
  }
  for (const Output &each : wanted.rows) {
    const auto port = static_cast<size_t>(rowsPort(*decoder.info, each.name));
    HEDDLE_ASSIGN(const float *const values,
                  executor->kept(plan.outputs[port], each.values.size()));
    std::copy_n(values, each.values.size(), each.values.begin());
  }
  return {};
}

} // namespace heddle
