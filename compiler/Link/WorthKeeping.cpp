// SPDX-License-Identifier: Apache-2.0
///
/// Candidates are all sequences of dotted parts in the names of tensors, so that a pattern stands
/// for a kind of sub-layer, a layer or a whole stack. Among patterns for the same matrices, takes
/// the shortest.
#include "compiler/Link/WorthKeeping.h"

#include "compiler/Parameters/LayerPrecisions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace mlir;

namespace heddle {

namespace {

struct Candidate {
  std::string pattern;
  /// Indices into the list of errors.
  std::vector<size_t> matrices;
  double gain = 0;
  int64_t bytes = 0;

  double gainByByte() const { return gain / static_cast<double>(std::max<int64_t>(bytes, 1)); }
};

/// The least share of errors that an option must remove to be suggested.
constexpr double leastShare = 0.05;
constexpr size_t mostOptions = 3;

} // namespace

/// Returns the precision with twice the bits and the same arithmetic, if there is one.
static std::optional<std::string> finerThan(const Precision &precision) {
  switch (precision.bits) {
  case 4:
    return "int8";
  case 8:
    return precision.narrowsRows ? "bf16" : "bf16-weights";
  case 16:
    return std::string(f32Precision);
  default:
    return std::nullopt;
  }
}

/// Returns sequences of parts that begin with a word and omit the last part, the tensor's role in
/// its layer.
static std::set<std::string> patternsOf(StringRef tensor) {
  SmallVector<StringRef> parts;
  tensor.split(parts, '.');
  if (parts.size() > 1) {
    parts.pop_back();
  }
  std::set<std::string> patterns;
  for (size_t begin = 0; begin < parts.size(); ++begin) {
    if (llvm::all_of(parts[begin], llvm::isDigit)) {
      continue;
    }
    for (size_t end = begin + 1; end <= parts.size(); ++end) {
      patterns.insert(llvm::join(ArrayRef(parts).slice(begin, end - begin), "."));
    }
  }
  return patterns;
}

static bool isKept(const RoundingError &error, ArrayRef<std::string> kept) {
  return llvm::any_of(error.tensors, [&](const std::string &tensor) {
    return llvm::any_of(kept, [&](const std::string &each) { return matchesLayer(each, tensor); });
  });
}

/// Returns all patterns that match either all or none of each matrix's tensors, and no tensor that
/// already has a pattern.
static std::vector<Candidate> findCandidates(ArrayRef<RoundingError> errors, unsigned bits,
                                             ArrayRef<std::string> kept) {
  std::map<std::string, std::map<size_t, size_t>> tensors;
  std::set<std::string> unfit;
  for (const auto &[place, error] : llvm::enumerate(errors)) {
    const bool hasPattern = isKept(error, kept);
    for (const std::string &tensor : error.tensors) {
      for (const std::string &pattern : patternsOf(tensor)) {
        if (hasPattern) {
          unfit.insert(pattern);
        } else if (error.bits <= bits && std::isfinite(error.relative)) {
          ++tensors[pattern][place];
        }
      }
    }
  }
  // By the matched matrices; the shortest pattern represents equal ones.
  std::map<std::vector<size_t>, Candidate> byMatrices;
  for (const auto &[pattern, matched] : tensors) {
    Candidate candidate;
    candidate.pattern = pattern;
    for (const auto &[place, count] : matched) {
      const RoundingError &error = errors[place];
      if (count != error.tensors.size()) {
        unfit.insert(pattern);
      }
      candidate.matrices.push_back(place);
      candidate.gain += error.relative * error.relative;
      candidate.bytes += error.bytesInFiner - error.bytes;
    }
    Candidate &known = byMatrices.try_emplace(candidate.matrices, candidate).first->second;
    if (!unfit.contains(pattern) &&
        (unfit.contains(known.pattern) || pattern.size() < known.pattern.size())) {
      known = candidate;
    }
  }
  std::vector<Candidate> candidates;
  for (auto &[matrices, candidate] : byMatrices) {
    if (!unfit.contains(candidate.pattern)) {
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

std::vector<WorthKeeping> worthKeeping(ArrayRef<RoundingError> errors, StringRef base,
                                       ArrayRef<std::string> kept) {
  const std::optional<Precision> precision = findPrecision(base);
  const std::optional<std::string> finer =
      precision ? finerThan(*precision) : std::optional<std::string>();
  double all = 0;
  for (const RoundingError &error : errors) {
    all += std::isfinite(error.relative) ? error.relative * error.relative : 0;
  }
  if (!finer || all == 0) {
    return {};
  }
  std::vector<Candidate> candidates = findCandidates(errors, precision->bits, kept);
  const bool hasGroups = llvm::any_of(
      candidates, [](const Candidate &candidate) { return candidate.matrices.size() > 1; });
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    // The table of errors already shows single matrices.
    return candidate.gain < leastShare * all || (hasGroups && candidate.matrices.size() == 1);
  });
  // Equal gains are ordered by the length of the pattern, then alphabetically.
  const auto key = [](const Candidate &candidate) {
    return std::tuple(-candidate.gainByByte(), candidate.pattern.size(),
                      StringRef(candidate.pattern));
  };
  llvm::sort(candidates, [&](const Candidate &a, const Candidate &b) { return key(a) < key(b); });
  std::vector<WorthKeeping> worth;
  std::set<size_t> taken;
  for (const Candidate &candidate : candidates) {
    if (worth.size() == mostOptions ||
        llvm::any_of(candidate.matrices, [&](size_t place) { return taken.contains(place); })) {
      continue;
    }
    taken.insert(candidate.matrices.begin(), candidate.matrices.end());
    worth.push_back({candidate.pattern + "=" + *finer, candidate.gain / all, candidate.bytes});
  }
  return worth;
}

} // namespace heddle
