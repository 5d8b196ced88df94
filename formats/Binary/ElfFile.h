// SPDX-License-Identifier: Apache-2.0
///
/// The structure of an ELF shared library for x86-64, parsed from untrusted bytes: after parse()
/// every range in it is inside the file. The compiler uses it to append sections; the runtime uses
/// it to find them before the dynamic loader sees the file.
#ifndef HEDDLE_FORMATS_BINARY_ELFFILE_H
#define HEDDLE_FORMATS_BINARY_ELFFILE_H

#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

/// The header of a section, and its name in the parsed bytes.
struct ElfSection {
  Elf64_Shdr header;
  std::string_view name;
};

/// A parsed shared library. The names point into the bytes, which must stay alive.
class ElfFile {
public:
  /// Checks the identification, both header tables, every name and every range, but not how the
  /// dynamic loader would interpret them; see checkLoadable().
  static Result<ElfFile> parse(std::span<const std::byte> bytes);

  /// Rejects features that no compiled model has: code that runs on loading (initialisers),
  /// libraries other than libc and libm, an executable stack, segments that are both writable and
  /// executable, and program headers or dynamic sections that codeChecksum() does not cover.
  Status checkLoadable() const;

  /// Returns the XXH3-64 checksum of everything that is loaded as program: the file ranges of
  /// PT_LOAD, in order. The ELF header's fields about section headers count as zero, so that
  /// appending sections does not change the checksum.
  uint64_t codeChecksum() const;

  /// Returns the section of that name; DataLoss if there are two, NotFound if there is none.
  Result<ElfSection> findSection(std::string_view name) const;

  /// Returns whether `address`, relative to the load address, is executable code.
  bool isCode(uint64_t address) const;

  const Elf64_Ehdr &header() const { return elfHeader; }
  const std::vector<ElfSection> &sections() const { return sectionTable; }
  const std::vector<Elf64_Phdr> &segments() const { return segmentTable; }
  /// Returns the bytes of a section; empty for SHT_NOBITS.
  std::span<const std::byte> contents(const ElfSection &section) const;

private:
  Status readHeader();
  Status readSegments();
  Status readSections();
  Status checkDynamic(const Elf64_Phdr &dynamic) const;
  /// Returns the file's bytes that are loaded at `address`; empty unless all `size` of them are
  /// loaded.
  std::span<const std::byte> loaded(uint64_t address, uint64_t size) const;

  std::span<const std::byte> bytes;
  Elf64_Ehdr elfHeader{};
  std::vector<Elf64_Phdr> segmentTable;
  std::vector<ElfSection> sectionTable;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_ELFFILE_H
