// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a compiled model: everything that is checked before the dynamic loader sees
/// the file. Checksums are usually corrected after a change, as an attacker would, so that the
/// later checks must reject the file.
#include "runtime/Artifact/Artifact.h"

#include "formats/Binary/Layout.h"
#include "formats/Binary/ManifestCheck.h"
#include "tests/Fuzzing/ElfMutation.h"
#include "tests/Fuzzing/FlatBufferMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;
using fuzzing::require;

/// Returns the test model's file.
static const std::string &seed() {
  static const std::string bytes = [] {
    const std::string path = fixture::temporaryPath("seed.so");
    require(fixture::write(fixture::model(), path).ok());
    return fixture::readBytes(path);
  }();
  return bytes;
}

/// The place of the manifest in a file, without the rest of its section.
struct ManifestPlace {
  size_t begin;
  size_t size;
  size_t trailer;
  Elf64_Shdr weights;
  uint64_t codeChecksum;
};

static std::optional<ManifestPlace> findManifest(const std::string &file) {
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(file)));
  if (!elf.ok()) {
    return std::nullopt;
  }
  const Result<ElfSection> section = elf->findSection(HEDDLE_MANIFEST_SECTION);
  const Result<ElfSection> weights = elf->findSection(HEDDLE_WEIGHTS_SECTION);
  if (!section.ok() || !weights.ok() || section->header.sh_size < sizeof(ManifestTrailer) ||
      section->header.sh_type != SHT_PROGBITS) {
    return std::nullopt;
  }
  const size_t trailer =
      section->header.sh_offset + section->header.sh_size - sizeof(ManifestTrailer);
  ManifestTrailer values;
  std::memcpy(&values, file.data() + trailer, sizeof values);
  if (values.manifestSize > trailer - section->header.sh_offset) {
    return std::nullopt;
  }
  return ManifestPlace{section->header.sh_offset, values.manifestSize, trailer, weights->header,
                       elf->codeChecksum()};
}

static bool isManifest(const std::string &bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  return manifest::VerifyManifestBuffer(verifier);
}

/// Corrects both checksums of the file.
static void correctChecksums(std::string &file) {
  const std::optional<ManifestPlace> place = findManifest(file);
  if (!place) {
    return;
  }
  std::string bytes = file.substr(place->begin, place->size);
  if (isManifest(bytes)) {
    auto *const table =
        reinterpret_cast<const flatbuffers::Table *>(manifest::GetManifest(bytes.data()));
    const uint8_t *const field = table->GetAddressOf(manifest::Manifest::VT_CODE_CHECKSUM);
    if (field != nullptr) {
      const auto at = static_cast<size_t>(field - reinterpret_cast<uint8_t *>(bytes.data()));
      std::memcpy(bytes.data() + at, &place->codeChecksum, sizeof place->codeChecksum);
      file.replace(place->begin, place->size, bytes);
    }
  }
  const uint64_t checksum = manifestChecksum(std::as_bytes(std::span(bytes)),
                                             place->weights.sh_offset, place->weights.sh_size);
  std::memcpy(file.data() + place->trailer + offsetof(ManifestTrailer, checksum), &checksum,
              sizeof checksum);
}

static void mutateBinary(std::string &file, fuzzing::Choice &choice) {
  static const std::string schema = fuzzing::readWhole(HEDDLE_MANIFEST_SCHEMA);
  if (file.size() < 64) {
    file = seed();
  }
  const std::optional<ManifestPlace> place = findManifest(file);
  if (!place || choice.oneIn(2)) {
    fuzzing::mutateElf(file, choice);
  } else if (choice.oneIn(16)) {
    fuzzing::changeNumber(file, place->trailer + 8 * choice.below(2), 8, choice);
    return;
  } else {
    std::string bytes = file.substr(place->begin, place->size);
    if (isManifest(bytes)) {
      fuzzing::mutateFlatBuffer(bytes, schema, choice);
      file.replace(place->begin, place->size, bytes);
    }
  }
  if (!choice.oneIn(8)) {
    correctChecksums(file);
  }
}

HEDDLE_FUZZ_MUTATION(mutateBinary)

/// Parses a file in memory, where the sanitizer detects accesses beyond its ends.
static void readInMemory(std::span<const std::byte> bytes) {
  const Result<ElfFile> elf = ElfFile::parse(bytes);
  if (!elf.ok()) {
    return require(!elf.status().message().empty());
  }
  (void)elf->checkLoadable();
  (void)elf->codeChecksum();
  size_t sum = 0;
  for (const ElfSection &section : elf->sections()) {
    sum += section.name.size() + (elf->isCode(section.header.sh_addr) ? 1 : 0);
    for (const std::byte each :
         elf->contents(section).first(std::min<size_t>(elf->contents(section).size(), 64))) {
      sum += std::to_integer<size_t>(each);
    }
  }
  require(sum < SIZE_MAX);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  readInMemory(std::as_bytes(std::span(data, size)));
  static const int file = ::memfd_create("model.so", MFD_CLOEXEC);
  require(::ftruncate(file, static_cast<off_t>(size)) == 0 &&
          ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto artifact =
      Artifact::load(path, {.isa = "", .verifyWeights = true, .describeOnly = true}, nullptr);
  require(artifact.ok() || artifact.status().message().starts_with(path + ": "));
  return 0;
}
