// SPDX-License-Identifier: Apache-2.0
///
/// Checks everything about images except the behaviour of their code.
#include "formats/Binary/ImageCheck.h"

#include "base/Utf8.h"
#include "formats/Binary/Layout.h"
#include "heddle/Abi.h"
#include "heddle/Limits.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <vector>

namespace heddle {
using manifest::ImageKind;
using manifest::LaunchUnit;

std::string_view imageKindName(ImageKind kind) {
  switch (kind) {
  case ImageKind::Ptx:
    return "ptx";
  case ImageKind::Cubin:
    return "cubin";
  case ImageKind::Host:
    return "host";
  }
  return "";
}

std::span<const std::byte> imageBytes(const manifest::Image &image,
                                      std::span<const std::byte> section) {
  return section.subspan(image.offset(), image.size());
}

/// Checks PTX text, which a driver reads up to the first zero byte.
static Status checkPtx(std::span<const std::byte> bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), std::byte(0));
  if (zero == bytes.end() || zero + 1 != bytes.end()) {
    const auto where = zero == bytes.end() ? std::string("none")
                                           : fmt::format("one at byte {}", zero - bytes.begin());
    return HEDDLE_ERROR(DataLoss, fmt::format("PTX of {} bytes, of zero bytes {}, expected one at "
                                              "the end",
                                              bytes.size(), where));
  }
  return {};
}

static Status checkElf(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("{} bytes that do not begin as an ELF file does", bytes.size()));
  }
  return {};
}

static Status checkKind(ImageKind kind, std::span<const std::byte> bytes) {
  switch (kind) {
  case ImageKind::Ptx:
    return checkPtx(bytes);
  case ImageKind::Cubin:
  case ImageKind::Host:
    return checkElf(bytes);
  }
  return HEDDLE_ERROR(DataLoss, fmt::format("kind {}, expected at most {}", unsigned(kind),
                                            unsigned(ImageKind::MAX)));
}

/// Checks an image that must begin at `begin`.
static Status checkImage(const manifest::Image &image, size_t targets, uint64_t begin,
                         std::span<const std::byte> section) {
  if (image.target() >= targets) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("target number {}, there are {}", image.target(), targets));
  }
  if (image.offset() != begin) {
    return HEDDLE_ERROR(DataLoss, fmt::format("begins at byte {}, expected {}, the first multiple "
                                              "of {} after the image before it",
                                              image.offset(), begin, HEDDLE_ALIGNMENT));
  }
  if (image.offset() > section.size() || image.size() > section.size() - image.offset()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} bytes at byte {}, the section {} has {}", image.size(),
                                    image.offset(), HEDDLE_DEVICE_SECTION, section.size()));
  }
  if (image.compiler()->size() == 0) {
    return HEDDLE_ERROR(DataLoss, "no name of its compiler");
  }
  return checkKind(image.kind(), imageBytes(image, section));
}

/// Returns whether a name is one that PTX allows, excluding names that begin with a digit and
/// single characters other than letters.
static bool isEntryName(std::string_view name) {
  const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto isInside = [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '$';
  };
  return !name.empty() && (isLetter(name[0]) || (name.size() > 1 && name[0] == '_')) &&
         std::all_of(name.begin(), name.end(), isInside);
}

/// Checks how a kernel runs on a target; if the target has images, its kernels are their entry
/// points.
static Status checkLaunch(const manifest::LaunchShape &launch, std::string_view symbol,
                          bool hasImages) {
  if (launch.unit() > LaunchUnit::MAX) {
    return HEDDLE_ERROR(DataLoss, fmt::format("launch unit {}, expected at most {}",
                                              unsigned(launch.unit()), unsigned(LaunchUnit::MAX)));
  }
  if ((launch.unit() != LaunchUnit::None) != hasImages) {
    return HEDDLE_ERROR(DataLoss, hasImages
                                      ? "no launch unit, expected one for a target with images"
                                      : fmt::format("launch unit {} for a target without images",
                                                    unsigned(launch.unit())));
  }
  if (!hasImages) {
    return launch.threads() == 0 && launch.shared() == 0 && launch.section_keys() == 0 &&
                   launch.partial_bytes() == 0 && launch.rounded_from() == 0 &&
                   launch.rounded_bytes() == 0 && launch.piece_rows() == 0 &&
                   launch.piece_columns() == 0
               ? Status()
               : HEDDLE_ERROR(DataLoss,
                              fmt::format("{} threads, {} bytes of shared memory, sections of {} "
                                          "keys and rounded rows of {} bytes for a target without "
                                          "images",
                                          launch.threads(), launch.shared(), launch.section_keys(),
                                          launch.rounded_bytes()));
  }
  if (launch.threads() == 0 || launch.threads() > mostBlockThreads ||
      launch.threads() % blockThreadsStep != 0 || launch.shared() > largestShared) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("blocks of {} threads with {} bytes of shared memory, expected "
                                    "a multiple of {} up to {}, and at most {} bytes",
                                    launch.threads(), launch.shared(), blockThreadsStep,
                                    mostBlockThreads, largestShared));
  }
  // Offsets of partial results of up to 2^32 sections of a row fit into 64 bits.
  const bool hasSections = launch.section_keys() != 0;
  if (hasSections != (launch.partial_bytes() != 0) || (hasSections && launch.shared() == 0) ||
      launch.partial_bytes() % sizeof(float) != 0 || launch.partial_bytes() > largestPartialBytes) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("sections of {} keys with partial results of {} bytes and {} "
                                    "bytes of shared memory, expected all or none, and a multiple "
                                    "of {} up to {} bytes",
                                    launch.section_keys(), launch.partial_bytes(), launch.shared(),
                                    sizeof(float), largestPartialBytes));
  }
  // A kernel reads either description through the address of its scratch memory.
  const bool hasRounded = launch.rounded_from() != 0;
  if (hasRounded != (launch.rounded_bytes() != 0) ||
      (hasRounded && (hasSections || launch.shared() == 0)) ||
      launch.rounded_bytes() % roundedBytesStep != 0 ||
      launch.rounded_bytes() > largestRoundedBytes) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("rows of {} bytes that are rounded for launches of {} rows, "
                              "sections of {} keys and {} bytes of shared memory, expected "
                              "no sections, shared memory, and a multiple of {} up to {} "
                              "bytes",
                              launch.rounded_bytes(), launch.rounded_from(), launch.section_keys(),
                              launch.shared(), roundedBytesStep, largestRoundedBytes));
  }
  if (hasSections != (launch.piece_rows() != 0) || hasSections != (launch.piece_columns() != 0)) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("sections of {} keys and pieces of {} rows and {} columns, "
                              "expected all or none",
                              launch.section_keys(), launch.piece_rows(), launch.piece_columns()));
  }
  if (!isEntryName(symbol)) {
    return HEDDLE_ERROR(DataLoss, fmt::format("entry {}, expected a name of letters, digits, _ "
                                              "and $ that begins with a letter",
                                              quote(symbol)));
  }
  return {};
}

static Status checkLaunches(const manifest::Kernel &kernel, const std::vector<bool> &hasImages) {
  if (kernel.launches()->size() != hasImages.size()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{} launch shapes, expected one for each of {} targets",
                                    kernel.launches()->size(), hasImages.size()));
  }
  for (uint32_t target = 0; target < hasImages.size(); ++target) {
    HEDDLE_TRY_WITH(checkLaunch(*kernel.launches()->Get(target),
                                kernel.symbols()->Get(target)->string_view(), hasImages[target]),
                    fmt::format("target {}", target));
  }
  return {};
}

Status checkImages(const manifest::Manifest &model, std::span<const std::byte> section) {
  std::vector<bool> hasImages(model.targets()->size(), false);
  uint64_t end = 0;
  for (uint32_t i = 0; model.images() != nullptr && i < model.images()->size(); ++i) {
    const manifest::Image &image = *model.images()->Get(i);
    HEDDLE_TRY_WITH(checkImage(image, hasImages.size(), alignUp(end, HEDDLE_ALIGNMENT), section),
                    fmt::format("image {}", i));
    hasImages[image.target()] = true;
    end = image.offset() + image.size();
  }
  if (end != section.size()) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{} bytes of images, the section {} has {}", end,
                                              HEDDLE_DEVICE_SECTION, section.size()));
  }
  for (const manifest::Kernel *const kernel : *model.kernels()) {
    HEDDLE_TRY_WITH(checkLaunches(*kernel, hasImages),
                    fmt::format("kernel {}", quote(kernel->name()->string_view())));
  }
  return {};
}

Status checkImageContent(const manifest::Manifest &model, uint32_t number,
                         std::span<const std::byte> section) {
  const manifest::Image &image = *model.images()->Get(number);
  const uint64_t checksum = contentChecksum(imageBytes(image, section));
  if (checksum != image.checksum()) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("damaged image {} for target {}: its checksum is {:016x}, expected "
                              "{:016x}",
                              number, model.targets()->Get(image.target())->string_view(), checksum,
                              image.checksum()));
  }
  return {};
}

} // namespace heddle
