// SPDX-License-Identifier: Apache-2.0
///
/// Writes compiled models.
#include "formats/Binary/AppendSections.h"

#include "base/AtomicFile.h"
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/Layout.h"
#include "heddle/Abi.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace heddle {

/// The file being written, and the current offset.
class Output {
public:
  static Result<Output> open(const std::string &path) {
    HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(path));
    return Output(std::move(file));
  }

  Status write(std::span<const std::byte> bytes) {
    position += bytes.size();
    while (!bytes.empty()) {
      const size_t taken = std::min(bytes.size(), writeSize - block.size());
      block.insert(block.end(), bytes.begin(), bytes.begin() + taken);
      bytes = bytes.subspan(taken);
      if (block.size() == writeSize) {
        HEDDLE_TRY(flush());
      }
    }
    return {};
  }

  /// Writes zeros up to a multiple of `alignment`.
  Status pad(uint64_t alignment) {
    const std::vector<std::byte> zeros(alignUp(position, alignment) - position);
    return write(zeros);
  }

  Status finish(const Elf64_Ehdr &header) {
    HEDDLE_TRY(flush());
    HEDDLE_TRY(file.overwrite(0, std::as_bytes(std::span(&header, 1))));
    return file.commit();
  }

  uint64_t offset() const { return position; }

private:
  // If an aligned 2 MiB of a file is written at once, the page cache can hold it as one page, and a
  // mapping needs one TLB entry for it. This makes passes over few rows, which read all weights, 4
  // % faster (docs/decisions/0005-weights-written-in-large-pages.md).
  static constexpr size_t writeSize = size_t(2) << 20;

  explicit Output(AtomicFile file) : file(std::move(file)) { block.reserve(writeSize); }

  Status flush() {
    HEDDLE_TRY(file.write(block));
    block.clear();
    return {};
  }

  AtomicFile file;
  std::vector<std::byte> block;
  uint64_t position = 0;
};

static Elf64_Shdr plainSection(uint64_t offset, uint64_t size, uint64_t alignment) {
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = offset;
  section.sh_size = size;
  section.sh_addralign = alignment;
  return section;
}

/// Writes the weights and returns their section.
static Result<Elf64_Shdr> appendWeights(Output &output, uint64_t size, const WeightsWriter &write) {
  HEDDLE_TRY(output.pad(HEDDLE_WEIGHTS_ALIGNMENT));
  const uint64_t begin = output.offset();
  HEDDLE_TRY(write([&](std::span<const std::byte> bytes) -> Status {
    if (bytes.size() > size - (output.offset() - begin)) {
      return HEDDLE_ERROR(Internal,
                          fmt::format("more bytes of weights than the {} expected", size));
    }
    return output.write(bytes);
  }));
  if (output.offset() - begin != size) {
    return HEDDLE_ERROR(Internal, fmt::format("{} bytes of weights were written, expected {}",
                                              output.offset() - begin, size));
  }
  return plainSection(begin, size, HEDDLE_WEIGHTS_ALIGNMENT);
}

/// Writes the device images and returns their section.
static Result<Elf64_Shdr> appendImages(Output &output, std::string_view images) {
  HEDDLE_TRY(output.pad(HEDDLE_ALIGNMENT));
  const uint64_t begin = output.offset();
  HEDDLE_TRY(output.write(std::as_bytes(std::span(images))));
  return plainSection(begin, images.size(), HEDDLE_ALIGNMENT);
}

/// Writes the manifest with its trailer and returns its section.
static Result<Elf64_Shdr> appendManifest(Output &output, std::string_view manifest,
                                         const Elf64_Shdr &weights) {
  HEDDLE_TRY(output.pad(HEDDLE_ALIGNMENT));
  const uint64_t begin = output.offset();
  const std::span<const std::byte> bytes = std::as_bytes(std::span(manifest));
  HEDDLE_TRY(output.write(bytes));
  HEDDLE_TRY(output.pad(alignof(ManifestTrailer)));
  const ManifestTrailer trailer{manifest.size(),
                                manifestChecksum(bytes, weights.sh_offset, weights.sh_size)};
  HEDDLE_TRY(output.write(std::as_bytes(std::span(&trailer, 1))));
  return plainSection(begin, output.offset() - begin, HEDDLE_ALIGNMENT);
}

/// A section that is added to those of the linker.
using AddedSection = std::pair<std::string_view, Elf64_Shdr>;

/// Writes the names and headers of all sections and returns the ELF header that points to them.
static Result<Elf64_Ehdr> appendTable(Output &output, const ElfFile &linked,
                                      std::span<const AddedSection> added) {
  Elf64_Ehdr header = linked.header();
  std::vector<Elf64_Shdr> table;
  for (const ElfSection &section : linked.sections()) {
    table.push_back(section.header);
  }
  const std::span<const std::byte> oldNames = linked.contents(linked.sections()[header.e_shstrndx]);
  std::string names(reinterpret_cast<const char *>(oldNames.data()), oldNames.size());
  for (const auto &[name, section] : added) {
    table.push_back(section);
    table.back().sh_name = static_cast<Elf64_Word>(names.size());
    names.append(name).push_back('\0');
  }
  table[header.e_shstrndx].sh_offset = output.offset();
  table[header.e_shstrndx].sh_size = names.size();
  HEDDLE_TRY(output.write(std::as_bytes(std::span(names))));
  HEDDLE_TRY(output.pad(alignof(Elf64_Shdr)));
  header.e_shoff = output.offset();
  header.e_shnum = static_cast<Elf64_Half>(table.size());
  HEDDLE_TRY(output.write(std::as_bytes(std::span(table))));
  return header;
}

Status writeArtifact(std::string_view sharedObject, uint64_t weightsSize,
                     const WeightsWriter &writeWeights, std::string_view images,
                     const ManifestWriter &makeManifest, const std::string &path) {
  std::span<const std::byte> program = std::as_bytes(std::span(sharedObject));
  HEDDLE_ASSIGN(const ElfFile linked, ElfFile::parse(program));
  HEDDLE_TRY(linked.checkLoadable());
  if (linked.sections().empty()) {
    return HEDDLE_ERROR(InvalidArgument, "the linked kernels have no section headers");
  }
  for (const char *const name :
       {HEDDLE_WEIGHTS_SECTION, HEDDLE_DEVICE_SECTION, HEDDLE_MANIFEST_SECTION}) {
    if (linked.findSection(name).status().code() != StatusCode::NotFound) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("the linked kernels already have a section {}", name));
    }
  }
  // The linker's own table of section headers comes last in its output and is overwritten.
  const uint64_t tableSize = linked.sections().size() * sizeof(Elf64_Shdr);
  if (linked.header().e_shoff + tableSize == program.size()) {
    program = program.first(linked.header().e_shoff);
  }
  HEDDLE_ASSIGN(Output output, Output::open(path));
  HEDDLE_TRY(output.write(program));
  HEDDLE_ASSIGN(const Elf64_Shdr weights, appendWeights(output, weightsSize, writeWeights));
  std::vector<AddedSection> added = {{HEDDLE_WEIGHTS_SECTION, weights}};
  if (!images.empty()) {
    HEDDLE_ASSIGN(const Elf64_Shdr device, appendImages(output, images));
    added.emplace_back(HEDDLE_DEVICE_SECTION, device);
  }
  HEDDLE_ASSIGN(const std::string manifest, makeManifest(linked.codeChecksum()));
  HEDDLE_ASSIGN(const Elf64_Shdr section, appendManifest(output, manifest, weights));
  added.emplace_back(HEDDLE_MANIFEST_SECTION, section);
  HEDDLE_ASSIGN(const Elf64_Ehdr header, appendTable(output, linked, added));
  return output.finish(header);
}

} // namespace heddle
