// SPDX-License-Identifier: Apache-2.0
///
/// Sums the costs of the dispatches of two programs and computes their quotients.
#include "compiler/Cost/PredictedGain.h"

#include "compiler/Remarks/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr llvm::StringLiteral passName = "predicted-gain";

// Positions at a sentence of usual length, and after a long generation.
constexpr RunSize decoderSizes[] = {{1, 24, 24}, {1, 200, 24}};
constexpr RunSize sequenceSizes[] = {{16, 0, 0}, {128, 0, 0}};

constexpr struct {
  llvm::StringLiteral key;
  uint64_t EntryTotals::*value;
} totalFields[] = {
    {"flops_per_token", &EntryTotals::flopsPerToken},
    {"flops_per_token_and_row", &EntryTotals::flopsPerTokenAndRow},
    {"flops_per_token_and_history", &EntryTotals::flopsPerTokenAndHistory},
    {"flops_per_token_and_source", &EntryTotals::flopsPerTokenAndSource},
    {"weight_bytes", &EntryTotals::weightBytes},
    {"cache_bytes_per_token", &EntryTotals::cacheBytesPerToken},
    {"cache_bytes_per_source_token", &EntryTotals::cacheBytesPerSourceToken},
    {"state_bytes_per_sequence", &EntryTotals::stateBytesPerSequence},
    {"weight_bytes_read", &EntryTotals::weightBytesRead},
    {"lookup_bytes_per_token", &EntryTotals::lookupBytesPerToken},
    {"cache_bytes_read_per_history", &EntryTotals::cacheBytesReadPerHistory},
    {"cache_bytes_read_per_source", &EntryTotals::cacheBytesReadPerSource},
    {"state_bytes_read", &EntryTotals::stateBytesRead},
    {"activation_bytes_per_token", &EntryTotals::activationBytesPerToken},
    {"activation_bytes_per_token_and_row", &EntryTotals::activationBytesPerTokenAndRow},
    {"activation_bytes_per_token_and_history", &EntryTotals::activationBytesPerTokenAndHistory},
    {"activation_bytes_per_token_and_source", &EntryTotals::activationBytesPerTokenAndSource},
};

std::optional<double> quotient(uint64_t before, uint64_t after) {
  if (before == after) {
    return 1;
  }
  return after == 0 ? std::nullopt
                    : std::optional(static_cast<double>(before) / static_cast<double>(after));
}

/// Returns the sizes for which an entry is predicted, limited to the entry's longest sequence.
std::vector<RunSize> sizesOf(bool isDecoder, int64_t maxLength) {
  std::vector<RunSize> sizes;
  for (RunSize size : isDecoder ? llvm::ArrayRef(decoderSizes) : llvm::ArrayRef(sequenceSizes)) {
    if (maxLength > 0) {
      const auto most = static_cast<uint64_t>(maxLength);
      size = {std::min(size.rows, most), std::min(size.history, most), std::min(size.source, most)};
    }
    if (!llvm::is_contained(sizes, size)) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// Returns "1.16 times as fast as without the passes where arithmetic limits, 1.10 where memory
/// does, 1.12 where activations are in memory too, with 24 positions of history and 24 of source;
/// ...", with the limits that have a number at each size.
std::string sentenceOf(const EntryGain &entry) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const GainAt &gain : entry.sizes) {
    if (!gain.arithmetic && !gain.memory && !gain.traffic) {
      continue;
    }
    const char *separator = text.empty() ? "" : "; ";
    auto say = [&](std::optional<double> times, const char *where) {
      if (!times) {
        return;
      }
      const char *const unit = text.empty() ? " times as fast as without the passes" : "";
      stream << separator << llvm::format("%.2f", *times) << unit << " where " << where;
      separator = ", ";
    };
    say(gain.arithmetic, "arithmetic limits");
    say(gain.memory, gain.arithmetic ? "memory does" : "memory limits");
    if (gain.traffic != gain.memory) {
      say(gain.traffic, "activations are in memory too");
    }
    stream << ", with ";
    if (entry.isDecoder) {
      stream << gain.size.history << " positions of history and " << gain.size.source
             << " of source";
    } else {
      stream << gain.size.rows << " tokens";
    }
  }
  return text.empty() ? "nothing is left to do" : text;
}

void writeTotals(llvm::json::OStream &json, llvm::StringRef key, const EntryTotals &totals) {
  json.attributeObject(key, [&] {
    for (const auto &field : totalFields) {
      json.attribute(field.key, totals.*field.value);
    }
  });
}

void writeSizes(llvm::json::OStream &json, const EntryGain &entry) {
  json.attributeArray("predicted", [&] {
    for (const GainAt &gain : entry.sizes) {
      json.object([&] {
        if (entry.isDecoder) {
          json.attribute("history", gain.size.history);
          json.attribute("source", gain.size.source);
        } else {
          json.attribute("tokens", gain.size.rows);
        }
        json.attribute("arithmetic", gain.arithmetic);
        json.attribute("memory", gain.memory);
        json.attribute("memory_with_activations", gain.traffic);
      });
    }
  });
}

} // namespace

EntryTotals::EntryTotals(const EntryCosts &entry)
    : weightBytes(entry.weightBytes), activationBytesPerToken(entry.activationBytesPerToken),
      activationBytesPerTokenAndRow(entry.activationBytesPerTokenAndRow),
      activationBytesPerTokenAndHistory(entry.activationBytesPerTokenAndHistory),
      activationBytesPerTokenAndSource(entry.activationBytesPerTokenAndSource) {
  for (const DispatchCosts &dispatch : entry.dispatches) {
    if (!dispatch.isUsual) {
      continue;
    }
    flopsPerToken += dispatch.flopsPerToken;
    (dispatch.keys == KeyPlace::Rows           ? flopsPerTokenAndRow
     : dispatch.keys == KeyPlace::WrittenCache ? flopsPerTokenAndHistory
                                               : flopsPerTokenAndSource) +=
        dispatch.flopsPerTokenKey;
    weightBytesRead += dispatch.reads.weightBytes;
    lookupBytesPerToken += dispatch.reads.lookupBytesPerToken;
    (dispatch.keys == KeyPlace::WrittenCache ? cacheBytesReadPerHistory
                                             : cacheBytesReadPerSource) +=
        dispatch.reads.cacheBytesPerPosition;
    stateBytesRead += dispatch.reads.stateBytesPerSequence;
  }
  for (const CacheCosts &cache : entry.caches) {
    (cache.written ? cacheBytesPerToken : cacheBytesPerSourceToken) += cache.bytesPerToken;
    stateBytesPerSequence += cache.bytesPerSequence;
  }
}

uint64_t EntryTotals::flops(const RunSize &size) const {
  return size.rows *
         (flopsPerToken + size.rows * flopsPerTokenAndRow + size.history * flopsPerTokenAndHistory +
          size.source * flopsPerTokenAndSource);
}

uint64_t EntryTotals::bytes(const RunSize &size) const {
  return weightBytesRead + size.rows * lookupBytesPerToken +
         size.history * cacheBytesReadPerHistory + size.source * cacheBytesReadPerSource +
         stateBytesRead;
}

uint64_t EntryTotals::traffic(const RunSize &size) const {
  return bytes(size) +
         size.rows * (activationBytesPerToken + size.rows * activationBytesPerTokenAndRow +
                      size.history * activationBytesPerTokenAndHistory +
                      size.source * activationBytesPerTokenAndSource);
}

PredictedGain predictGain(llvm::ArrayRef<EntryCosts> before, llvm::ArrayRef<EntryCosts> after) {
  PredictedGain gain;
  for (const EntryCosts &entry : after) {
    const EntryCosts *same =
        llvm::find_if(before, [&](const EntryCosts &each) { return each.name == entry.name; });
    if (same == before.end()) {
      continue;
    }
    EntryGain &made = gain.entries.emplace_back();
    made.name = entry.name;
    made.isDecoder = same->readsCaches;
    made.before = EntryTotals(*same);
    made.after = EntryTotals(entry);
    for (const RunSize &size : sizesOf(made.isDecoder, entry.maxLength)) {
      made.sizes.push_back({size, quotient(made.before.flops(size), made.after.flops(size)),
                            quotient(made.before.bytes(size), made.after.bytes(size)),
                            quotient(made.before.traffic(size), made.after.traffic(size))});
    }
  }
  return gain;
}

void writeGain(llvm::json::OStream &json, const PredictedGain &gain) {
  if (!gain.reason.empty()) {
    Report::writeEntry(json, {passName.str(), "the program", false, gain.reason, {}});
  }
  for (const EntryGain &entry : gain.entries) {
    Report::writeEntry(json, {passName.str(), entry.name, true, sentenceOf(entry), {}}, [&] {
      writeTotals(json, "before", entry.before);
      writeTotals(json, "after", entry.after);
      writeSizes(json, entry);
    });
  }
}

} // namespace heddle
