// SPDX-License-Identifier: Apache-2.0
///
/// The limits are those of ManifestCheck.cpp, EntryCheck.cpp and GenerationCheck.cpp in
/// runtime/Artifact, which the
/// compiler does not link: only what a verified program can still exceed is checked.
#include "compiler/Link/ManifestLimits.h"

#include "heddle/Abi.h"
#include "runtime/Base/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace heddle {
namespace {

constexpr size_t mostPorts = 1024;
constexpr uint64_t widestCache = uint64_t(1) << 20;
constexpr int32_t mostBeams = 1 << 16;
constexpr uint64_t largestCoefficient = uint64_t(1) << 40;
constexpr uint64_t largestScratch = uint64_t(1) << 30;
constexpr uint64_t largestScratchPerLongest = uint64_t(1) << 20;
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

/// All entries mean the same by the name of a cache, and one of them appends to it.
Status checkSharedCaches(const manifest::Manifest &model) {
  std::map<std::string_view, std::vector<const manifest::CachePort *>> caches;
  for (const manifest::Entry *entry : *model.entries()) {
    for (const manifest::CachePort *cache : *entry->caches()) {
      caches[cache->name()->string_view()].push_back(cache);
    }
  }
  for (const auto &[name, ports] : caches) {
    ptrdiff_t writers = 0;
    for (const manifest::CachePort *port : ports) {
      writers += port->written() ? 1 : 0;
      if (port->width() != ports.front()->width() || port->layout() != ports.front()->layout()) {
        return HEDDLE_ERROR(InvalidArgument,
                            fmt::format("cache {} has widths {} and {} or different layouts",
                                        quote(name), ports.front()->width(), port->width()));
      }
    }
    if (writers != 1) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} entries append to cache {}, expected "
                                                       "one",
                                                       writers, quote(name)));
    }
  }
  return {};
}

/// The decoder of a model that generates: how many tokens it reads and gives.
struct Vocabularies {
  uint64_t read = 0;
  uint64_t generated = 0;
};

Result<Vocabularies> findVocabularies(const manifest::Manifest &model) {
  for (const manifest::Entry *entry : *model.entries()) {
    if (entry->name()->string_view() != "decode" || entry->inputs()->size() == 0) {
      continue;
    }
    for (const manifest::Port *port : *entry->outputs()) {
      if (port->name()->string_view() == "logits" && port->shape()->size() == 2) {
        return Vocabularies{entry->inputs()->Get(0)->limit(), port->shape()->Get(1)->constant()};
      }
    }
  }
  return HEDDLE_ERROR(InvalidArgument,
                      "it generates, but has no entry 'decode' with an input and the output "
                      "'logits' of rows");
}

Status checkTokens(std::string_view what, const flatbuffers::Vector<int32_t> &tokens,
                   uint64_t limit) {
  for (int32_t token : tokens) {
    if (token < 0 || static_cast<uint64_t>(token) >= limit) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} token {}, expected 0 to {}", what, token,
                                                       static_cast<int64_t>(limit) - 1));
    }
  }
  return {};
}

/// A token, or -1 for none.
Status checkOptional(std::string_view what, int32_t token, uint64_t limit) {
  if (token < -1 || (token >= 0 && static_cast<uint64_t>(token) >= limit)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} token {}, expected -1 to {}", what, token,
                                                     static_cast<int64_t>(limit) - 1));
  }
  return {};
}

Status checkSearch(const manifest::Generation &generation) {
  const std::string_view rules = generation.rules()->string_view();
  if (rules != "paper" && rules != "transformers" && rules != "ctranslate2") {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("rules {}, expected paper, transformers or ctranslate2", quote(rules)));
  }
  if (generation.max_length() < 0 || generation.no_repeat_ngram() < 0 || generation.beams() < 1 ||
      generation.beams() > mostBeams) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("max_length {}, no_repeat_ngram {} and num_beams {}, expected "
                                    "at least 0, 0 and 1 to {}",
                                    generation.max_length(), generation.no_repeat_ngram(),
                                    generation.beams(), mostBeams));
  }
  if (!std::isfinite(generation.length_penalty()) ||
      !std::isfinite(generation.repetition_penalty()) || generation.repetition_penalty() <= 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("length_penalty {} and repetition_penalty {}, "
                                    "expected a number and one above 0",
                                    generation.length_penalty(), generation.repetition_penalty()));
  }
  return {};
}

Status checkGeneration(const manifest::Manifest &model) {
  const manifest::Generation *generation = model.generation();
  if (generation == nullptr) {
    return {};
  }
  HEDDLE_ASSIGN(Vocabularies tokens, findVocabularies(model));
  if (generation->start()->size() == 0 || generation->end()->size() == 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} start tokens and {} end tokens, expected at least one of "
                                    "each",
                                    generation->start()->size(), generation->end()->size()));
  }
  HEDDLE_TRY(checkTokens("start", *generation->start(), tokens.read));
  HEDDLE_TRY(checkTokens("end", *generation->end(), tokens.generated));
  HEDDLE_TRY(checkTokens("suppressed", *generation->suppressed(), tokens.generated));
  HEDDLE_TRY(checkOptional("pad", generation->pad(), std::max(tokens.read, tokens.generated)));
  HEDDLE_TRY(checkOptional("forced first", generation->forced_first(), tokens.generated));
  HEDDLE_TRY(checkOptional("forced last", generation->forced_last(), tokens.generated));
  return checkSearch(*generation);
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
