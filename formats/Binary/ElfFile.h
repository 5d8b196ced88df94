// SPDX-License-Identifier: Apache-2.0
///
/// The structure of an ELF shared library for x86-64, read by hand from bytes that may be hostile:
/// after parse() every range in it lies inside the file. The compiler uses it to append sections
/// and the runtime to find them before the file is given to the dynamic loader.
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

/// A section: its header, and its name in the bytes that were parsed.
struct ElfSection {
  Elf64_Shdr header;
  std::string_view name;
};

/// A parsed shared library. The names point into the bytes, which must stay alive.
class ElfFile {
public:
  /// Checks the identification, both header tables, every name and every range. It does not look at
  /// what the dynamic loader would do; see checkLoadable().
  static Result<ElfFile> parse(std::span<const std::byte> bytes);

  /// Refuses what a compiled model never has: code that runs when it is loaded (initialisers),
  /// other libraries than libc and libm, an executable stack, segments both writable and
  /// executable, and program headers or dynamic sections outside what codeChecksum() covers.
  Status checkLoadable() const;

  /// XXH3 64 of everything that is loaded as program: the file ranges of PT_LOAD, in their order,
  /// with the place and number of the section headers in the ELF header taken as zero, so that
  /// appending sections does not change it.
  uint64_t codeChecksum() const;

  /// The one section of that name; DataLoss if there are two, NotFound if there is none.
  Result<ElfSection> findSection(std::string_view name) const;

  /// Whether `address`, counted from where the library is loaded, is executable program.
  bool isCode(uint64_t address) const;

  const Elf64_Ehdr &header() const { return elfHeader; }
  const std::vector<ElfSection> &sections() const { return sectionTable; }
  const std::vector<Elf64_Phdr> &segments() const { return segmentTable; }
  /// Bytes of a section; empty for SHT_NOBITS.
  std::span<const std::byte> contents(const ElfSection &section) const;

private:
  Status readHeader();
  Status readSegments();
  Status readSections();
  Status checkDynamic(const Elf64_Phdr &dynamic) const;
  /// Where in the file the byte at `address` is loaded from, if `size` bytes of it are.
  std::span<const std::byte> loaded(uint64_t address, uint64_t size) const;

  std::span<const std::byte> bytes;
  Elf64_Ehdr elfHeader{};
  std::vector<Elf64_Phdr> segmentTable;
  std::vector<ElfSection> sectionTable;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_ELFFILE_H
