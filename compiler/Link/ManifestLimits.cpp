// SPDX-License-Identifier: Apache-2.0
///
/// What ManifestCheck.cpp and EntryCheck.cpp in runtime/Artifact check, which the compiler does not
/// link, as far as a verified program can still exceed it. What concerns several entries is checked
/// by the same code.
#include "compiler/Link/ManifestLimits.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "heddle/Abi.h"
#include "heddle/Limits.h"

#include <fmt/format.h>
#include <limits>
#include <set>
#include <string_view>

namespace heddle {
namespace {

constexpr uint64_t largestLength = std::numeric_limits<int32_t>::max();

Status checkCoefficients(const manifest::SizeExpression &size, std::string_view what) {
  for (uint64_t coefficient : {size.tokens(), size.sequences(), size.tokens_longest()}) {
    if (coefficient > largestCoefficient || coefficient % HEDDLE_ALIGNMENT != 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{} has the coefficient {}, expected multiples of {} of at "
                                      "most {}",
                                      what, coefficient, HEDDLE_ALIGNMENT, largestCoefficient));
    }
  }
  return {};
}

Status checkBuffer(const manifest::Buffer &buffer, const manifest::SizeExpression &arena) {
  uint64_t bytes = 4;
  unsigned symbols[3] = {};
  for (const manifest::Dimension *dimension : *buffer.shape()) {
    if (dimension->constant() == 0) {
      ++symbols[static_cast<unsigned>(dimension->symbol())];
    } else if (__builtin_mul_overflow(bytes, dimension->constant(), &bytes) ||
               bytes > largestCoefficient) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("has more than {} bytes for each of its rows", largestCoefficient));
    }
  }
  auto [tokens, sequences, longest] = symbols;
  bool isFixed = buffer.location() == manifest::Location::Parameter ||
                 buffer.location() == manifest::Location::Cache;
  bool isConstant = tokens + sequences + longest == 0;
  bool isRows = (tokens == 1 && sequences == 0 && longest <= 1) ||
                (tokens == 0 && sequences == 1 && longest == 0);
  if (isFixed ? !isConstant : !isRows) {
    return HEDDLE_ERROR(
        InvalidArgument,
        "has a shape of the wrong kind: expected constants for a parameter or cache; else "
        "one dimension of tokens or sequences, or one of tokens and one of longest");
  }
  if (buffer.location() != manifest::Location::Arena) {
    return {};
  }
  const manifest::SizeExpression &offset = *buffer.offset();
  HEDDLE_TRY(checkCoefficients(offset, "its offset"));
  uint64_t perToken = tokens == 1 && longest == 0 ? bytes : 0;
  uint64_t perSequence = sequences == 1 ? bytes : 0;
  uint64_t perPair = longest == 1 ? bytes : 0;
  if (offset.tokens() + perToken > arena.tokens() ||
      offset.sequences() + perSequence > arena.sequences() ||
      offset.tokens_longest() + perPair > arena.tokens_longest()) {
    return HEDDLE_ERROR(InvalidArgument, "ends outside of the arena");
  }
  return {};
}

Status checkEntry(const manifest::Entry &entry) {
  if (entry.max_length() > largestLength) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("longest sequence {}, expected at most {}",
                                                     entry.max_length(), largestLength));
  }
  if (entry.inputs()->size() > mostPorts || entry.outputs()->size() > mostPorts) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} inputs and {} outputs, expected at most {}",
                                    entry.inputs()->size(), entry.outputs()->size(), mostPorts));
  }
  if (entry.caches()->size() > mostPorts) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} caches, expected at most {}",
                                                     entry.caches()->size(), mostPorts));
  }
  for (const manifest::CachePort *cache : *entry.caches()) {
    if (cache->width() > widestCache) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("cache {} of {} elements a position, expected at most {}",
                                      quote(cache->name()->string_view()), cache->width(),
                                      widestCache));
    }
  }
  HEDDLE_TRY(checkCoefficients(*entry.arena(), "the arena"));
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    HEDDLE_TRY_WITH(checkBuffer(*entry.buffers()->Get(i), *entry.arena()),
                    fmt::format("buffer {}", i));
  }
  return {};
}

Status checkKernels(const manifest::Manifest &model) {
  std::set<std::string_view> names;
  for (const manifest::Kernel *kernel : *model.kernels()) {
    const std::string_view name = kernel->name()->string_view();
    if (name.empty() || !names.insert(name).second) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("kernel {} is there twice or has no name", quote(name)));
    }
    if (kernel->scratch() > largestScratch ||
        kernel->scratch_per_longest() > largestScratchPerLongest) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("kernel {} has scratch memory of {} bytes and {} per row of "
                                      "the longest sequence, expected at most {} and {}",
                                      quote(name), kernel->scratch(), kernel->scratch_per_longest(),
                                      largestScratch, largestScratchPerLongest));
    }
  }
  return {};
}

} // namespace

Status checkManifestLimits(const uint8_t *bytes, size_t size) {
  flatbuffers::Verifier verifier(bytes, size);
  if (!manifest::VerifyManifestBuffer(verifier)) {
    return HEDDLE_ERROR(InvalidArgument, "it has more tables than a reader accepts");
  }
  const manifest::Manifest &model = *manifest::GetManifest(bytes);
  HEDDLE_TRY(checkKernels(model));
  for (const manifest::Entry *entry : *model.entries()) {
    HEDDLE_TRY_WITH(checkEntry(*entry),
                    fmt::format("entry {}", quote(entry->name()->string_view())));
  }
  HEDDLE_TRY(checkSharedCaches(model));
  HEDDLE_TRY_WITH(checkGeneration(model), "generation");
  return {};
}

} // namespace heddle
