// SPDX-License-Identifier: Apache-2.0
///
/// Checks the tables outside entries; EntryCheck.cpp checks entries.
#include "formats/Binary/ManifestCheck.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Binary/ImageCheck.h"
#include "formats/Binary/Manifest_generated.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/Abi.h"
#include "heddle/Limits.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <string_view>

namespace heddle {

static Status checkTargets(const manifest::Manifest &model) {
  if (model.targets()->size() == 0) {
    return HEDDLE_ERROR(DataLoss, "no target, expected at least one");
  }
  std::set<std::string_view> seen;
  for (const flatbuffers::String *const target : *model.targets()) {
    if (!seen.insert(target->string_view()).second) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("target {} appears twice", quote(target->string_view())));
    }
  }
  return {};
}

static Status checkKernel(const manifest::Kernel &kernel, size_t targets) {
  if (kernel.symbols()->size() != targets) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} symbols, expected one for each of {} targets",
                                              kernel.symbols()->size(), targets));
  }
  for (const flatbuffers::String *const symbol : *kernel.symbols()) {
    if (symbol->size() == 0) {
      return HEDDLE_ERROR(DataLoss, "an empty symbol");
    }
  }
  if (kernel.scratch() > largestScratch ||
      kernel.scratch_per_longest() > largestScratchPerLongest) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("scratch memory of {} bytes and {} per row of the longest "
                                    "sequence, expected at most {} and {}",
                                    kernel.scratch(), kernel.scratch_per_longest(), largestScratch,
                                    largestScratchPerLongest));
  }
  return {};
}

static Status checkParameter(const manifest::Parameter &parameter, uint64_t weightsSize) {
  if (!findElementType(parameter.element())) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("element type {}, expected at most {}", parameter.element(),
                                    std::size(elementTypeTable) - 1));
  }
  if (!isAligned(parameter.shape())) {
    return HEDDLE_ERROR(DataLoss, "misaligned shape");
  }
  uint64_t elements = 1;
  for (const uint64_t dimension : *parameter.shape()) {
    if (dimension == 0 || __builtin_mul_overflow(elements, dimension, &elements) ||
        !bytesOf(elementOf(parameter), elements)) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("dimension {} is zero or makes the shape too large", dimension));
    }
  }
  const std::optional<uint64_t> bytes = bytesOf(elementOf(parameter), elements);
  if (bytes != parameter.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} bytes, its shape has {}", parameter.size(), *bytes));
  }
  if (parameter.offset() % HEDDLE_ALIGNMENT != 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("offset {}, expected a multiple of {}",
                                              parameter.offset(), HEDDLE_ALIGNMENT));
  }
  if (parameter.offset() > weightsSize || parameter.size() > weightsSize - parameter.offset()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} bytes at offset {}, the weights have {}",
                                              parameter.size(), parameter.offset(), weightsSize));
  }
  return {};
}

/// Checks each element of a table and that their names are unique.
template <typename Table, typename Check>
static Status checkNamed(const Table &table, std::string_view kind, const Check &check) {
  std::set<std::string_view> seen;
  for (const auto *const element : table) {
    const std::string_view name = element->name()->string_view();
    if (name.empty() || !seen.insert(name).second) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{} {} appears twice or has no name", kind, quote(name)));
    }
    HEDDLE_TRY_WITH(check(*element), fmt::format("{} {}", kind, quote(name)));
  }
  return {};
}

/// Checks kept layers. Names are only displayed, so they need only be non-empty.
static Status checkKept(const manifest::KeptLayers &kept) {
  if (kept.layers()->size() == 0 || kept.precision()->size() == 0) {
    return HEDDLE_ERROR(DataLoss, fmt::format("pattern {} and precision {}, expected neither empty",
                                              quote(kept.layers()->string_view()),
                                              quote(kept.precision()->string_view())));
  }
  // Both are signed numbers in the interfaces.
  constexpr uint64_t most = std::numeric_limits<int64_t>::max();
  if (kept.tensors() == 0 || kept.tensors() > most || kept.bytes() > most) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} tensors of {} bytes, expected 1 to {} and at "
                                              "most as many bytes",
                                              kept.tensors(), kept.bytes(), most));
  }
  return {};
}

static Status checkPrecision(const manifest::Manifest &model) {
  if (model.precision()->size() == 0) {
    return HEDDLE_ERROR(DataLoss, "no precision, expected a name");
  }
  for (uint32_t i = 0; model.kept() != nullptr && i < model.kept()->size(); ++i) {
    HEDDLE_TRY_WITH(checkKept(*model.kept()->Get(i)), fmt::format("kept layers {}", i));
  }
  return {};
}

static Status checkCodes(const manifest::Codes &codes) {
  if (codes.format() > manifest::CodeFormat::MAX || codes.kinds()->size() == 0) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("codes of format {} and {} kinds, expected a format of at most "
                                    "{} and a kind",
                                    static_cast<int>(codes.format()), codes.kinds()->size(),
                                    static_cast<int>(manifest::CodeFormat::MAX)));
  }
  return {};
}

static Status checkTables(const manifest::Manifest &model, const DescribedSections &sections) {
  const uint64_t weightsSize = sections.weightsSize;
  if (model.weights_size() != weightsSize) {
    return HEDDLE_ERROR(DataLoss, fmt::format("the manifest says {} bytes of weights, the section "
                                              "has {}",
                                              model.weights_size(), weightsSize));
  }
  HEDDLE_TRY(checkTargets(model));
  HEDDLE_TRY(checkPrecision(model));
  HEDDLE_TRY(checkNamed(*model.kernels(), "kernel", [&](const manifest::Kernel &kernel) {
    return checkKernel(kernel, model.targets()->size());
  }));
  HEDDLE_TRY(checkImages(model, sections.images));
  HEDDLE_TRY(checkNamed(*model.parameters(), "parameter", [&](const manifest::Parameter &each) {
    return checkParameter(each, weightsSize);
  }));
  HEDDLE_TRY(checkNamed(*model.entries(), "entry",
                        [&](const manifest::Entry &entry) { return checkEntry(entry, model); }));
  HEDDLE_TRY(checkSharedCaches(model));
  HEDDLE_TRY(checkPrecedingRows(model));
  HEDDLE_TRY_WITH(checkGeneration(model), "generation");
  HEDDLE_TRY_WITH(checkClassification(model), "classification");
  HEDDLE_TRY_WITH(checkLanguages(model), "languages");
  if (model.codes() != nullptr) {
    HEDDLE_TRY(checkCodes(*model.codes()));
  }
  return {};
}

Status checkManifest(std::span<const std::byte> bytes, const DescribedSections &sections) {
  const auto *const data = reinterpret_cast<const uint8_t *>(bytes.data());
  // The verifier's own limit for one buffer.
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return HEDDLE_ERROR(DataLoss, fmt::format("damaged manifest: {} bytes, expected less than {}",
                                              bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE));
  }
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!manifest::VerifyManifestBuffer(verifier)) {
    return HEDDLE_ERROR(DataLoss, "damaged manifest: it is not a FlatBuffer of Heddle's schema");
  }
  const manifest::Manifest &model = *manifest::GetManifest(data);
  if (model.abi() != HEDDLE_ABI) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("compiled for binary interface {} by {}, this runtime has {}: "
                                 "compile the model again",
                                 model.abi(), quote(model.producer()->string_view()), HEDDLE_ABI));
  }
  HEDDLE_TRY_WITH(checkTables(model, sections), "damaged manifest");
  return {};
}

Status checkWrittenManifest(std::span<const std::byte> bytes, const DescribedSections &sections) {
  const auto *const data = reinterpret_cast<const uint8_t *>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !manifest::VerifyManifestBuffer(verifier)) {
    return HEDDLE_ERROR(InvalidArgument, "it has more tables or bytes than a reader accepts");
  }
  return checkTables(*manifest::GetManifest(data), sections);
}

} // namespace heddle
