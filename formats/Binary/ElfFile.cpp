// SPDX-License-Identifier: Apache-2.0
///
/// Reads and checks ELF headers.
#include "formats/Binary/ElfFile.h"

#include "base/Utf8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heddle {

/// Returns whether [offset, offset + size) is inside a file of `total` bytes.
static bool inRange(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// Returns whether a zero-terminated string begins at `at`.
static bool hasString(std::span<const std::byte> text, uint64_t at) {
  return at < text.size() && std::memchr(text.data() + at, 0, text.size() - at) != nullptr;
}

Result<ElfFile> ElfFile::parse(std::span<const std::byte> bytes) {
  ElfFile file;
  file.bytes = bytes;
  HEDDLE_TRY(file.readHeader());
  HEDDLE_TRY(file.readSegments());
  HEDDLE_TRY(file.readSections());
  return file;
}

Status ElfFile::readHeader() {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        "not an ELF file: it does not begin with \\x7fELF, expected a compiled "
                        "model");
  }
  if (bytes.size() < sizeof elfHeader) {
    return HEDDLE_ERROR(DataLoss, fmt::format("truncated: the file has {} bytes, an ELF header {}",
                                              bytes.size(), sizeof elfHeader));
  }
  std::memcpy(&elfHeader, bytes.data(), sizeof elfHeader);
  const unsigned char *const ident = elfHeader.e_ident;
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
      elfHeader.e_machine != EM_X86_64) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format(
            "an ELF file of class {}, byte order {} and machine {}, expected class {}, byte "
            "order {} and machine {} (64-bit little-endian x86-64)",
            ident[EI_CLASS], ident[EI_DATA], elfHeader.e_machine, int(ELFCLASS64), int(ELFDATA2LSB),
            EM_X86_64));
  }
  if (elfHeader.e_type != ET_DYN) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("an ELF file of type {}, expected a shared library (type {})",
                                    elfHeader.e_type, ET_DYN));
  }
  if (elfHeader.e_ehsize != sizeof(Elf64_Ehdr) || elfHeader.e_phentsize != sizeof(Elf64_Phdr) ||
      elfHeader.e_shentsize != sizeof(Elf64_Shdr)) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("damaged ELF header: header sizes {}, {} and {}, expected {}, {} and {}",
                    elfHeader.e_ehsize, elfHeader.e_phentsize, elfHeader.e_shentsize,
                    sizeof(Elf64_Ehdr), sizeof(Elf64_Phdr), sizeof(Elf64_Shdr)));
  }
  return {};
}

Status ElfFile::readSegments() {
  const uint64_t size = uint64_t(elfHeader.e_phnum) * sizeof(Elf64_Phdr);
  if (!inRange(elfHeader.e_phoff, size, bytes.size())) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("truncated or damaged: {} program headers at byte {}, the file has {}",
                    elfHeader.e_phnum, elfHeader.e_phoff, bytes.size()));
  }
  segmentTable.resize(elfHeader.e_phnum);
  if (size != 0) {
    std::memcpy(segmentTable.data(), bytes.data() + elfHeader.e_phoff, size);
  }
  uint64_t end = 0;
  for (size_t i = 0; i < segmentTable.size(); ++i) {
    const Elf64_Phdr &segment = segmentTable[i];
    if (!inRange(segment.p_offset, segment.p_filesz, bytes.size())) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("truncated or damaged: segment {} is {} bytes at byte {}, the file "
                                "has {}",
                                i, segment.p_filesz, segment.p_offset, bytes.size()));
    }
    if (segment.p_type != PT_LOAD) {
      continue;
    }
    // Segments must ascend, so that the checksum reads every byte at most once, however many
    // headers a file has.
    if (segment.p_offset < end) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("damaged: the loaded segment {} begins at byte {}, inside the "
                                "one before it, which ends at {}",
                                i, segment.p_offset, end));
    }
    end = segment.p_offset + segment.p_filesz;
  }
  return {};
}

Status ElfFile::readSections() {
  const uint64_t size = uint64_t(elfHeader.e_shnum) * sizeof(Elf64_Shdr);
  if (!inRange(elfHeader.e_shoff, size, bytes.size())) {
    return HEDDLE_ERROR(
        DataLoss,
        fmt::format("truncated or damaged: {} section headers at byte {}, the file has {}",
                    elfHeader.e_shnum, elfHeader.e_shoff, bytes.size()));
  }
  sectionTable.resize(elfHeader.e_shnum);
  for (size_t i = 0; i < sectionTable.size(); ++i) {
    Elf64_Shdr &section = sectionTable[i].header;
    std::memcpy(&section, bytes.data() + elfHeader.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
        !inRange(section.sh_offset, section.sh_size, bytes.size())) {
      return HEDDLE_ERROR(
          DataLoss, fmt::format("truncated or damaged: section {} is {} bytes at byte {}, the file "
                                "has {}",
                                i, section.sh_size, section.sh_offset, bytes.size()));
    }
  }
  if (sectionTable.empty()) {
    return {};
  }
  if (elfHeader.e_shstrndx >= sectionTable.size() ||
      sectionTable[elfHeader.e_shstrndx].header.sh_type != SHT_STRTAB) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("damaged: section names are in section {}, which is none of the "
                              "file's {} sections or holds no names",
                              elfHeader.e_shstrndx, sectionTable.size()));
  }
  const std::span<const std::byte> names = contents(sectionTable[elfHeader.e_shstrndx]);
  for (size_t i = 0; i < sectionTable.size(); ++i) {
    const uint32_t at = sectionTable[i].header.sh_name;
    if (!hasString(names, at)) {
      return HEDDLE_ERROR(DataLoss, fmt::format("damaged: the name of section {} is at byte {} of "
                                                "{} bytes of names",
                                                i, at, names.size()));
    }
    sectionTable[i].name = reinterpret_cast<const char *>(names.data()) + at;
  }
  return {};
}

std::span<const std::byte> ElfFile::contents(const ElfSection &section) const {
  if (section.header.sh_type == SHT_NOBITS || section.header.sh_type == SHT_NULL) {
    return {};
  }
  return bytes.subspan(section.header.sh_offset, section.header.sh_size);
}

Result<ElfSection> ElfFile::findSection(std::string_view name) const {
  const ElfSection *found = nullptr;
  for (const ElfSection &section : sectionTable) {
    if (section.name != name) {
      continue;
    }
    if (found != nullptr) {
      return HEDDLE_ERROR(DataLoss, fmt::format("damaged: two sections {}, expected one", name));
    }
    found = &section;
  }
  if (found == nullptr) {
    return HEDDLE_ERROR(NotFound, fmt::format("no section {}", name));
  }
  return *found;
}

bool ElfFile::isCode(uint64_t address) const {
  return std::any_of(segmentTable.begin(), segmentTable.end(), [&](const Elf64_Phdr &segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
           address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
  });
}

std::span<const std::byte> ElfFile::loaded(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr &segment : segmentTable) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        inRange(address - segment.p_vaddr, size, segment.p_filesz)) {
      return bytes.subspan(segment.p_offset + (address - segment.p_vaddr), size);
    }
  }
  return {};
}

uint64_t ElfFile::codeChecksum() const {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  Elf64_Ehdr neutral = elfHeader;
  neutral.e_shoff = 0;
  neutral.e_shnum = 0;
  neutral.e_shstrndx = 0;
  for (const Elf64_Phdr &segment : segmentTable) {
    if (segment.p_type != PT_LOAD) {
      continue;
    }
    // First the part of the segment that is the ELF header, if any, then the rest.
    const uint64_t end = segment.p_offset + segment.p_filesz;
    uint64_t begin = segment.p_offset;
    if (begin < sizeof neutral) {
      const uint64_t stop = std::min<uint64_t>(end, sizeof neutral);
      XXH3_64bits_update(&state, reinterpret_cast<const char *>(&neutral) + begin, stop - begin);
      begin = stop;
    }
    XXH3_64bits_update(&state, bytes.data() + begin, end - begin);
  }
  return XXH3_64bits_digest(&state);
}

/// Entries of a dynamic section that make the loader run code or map other files. DT_NEEDED is
/// checked separately.
struct RefusedTag {
  Elf64_Sxword tag;
  std::string_view name;
};
static constexpr std::array<RefusedTag, 12> refusedTags{{
    {DT_INIT, "DT_INIT"},
    {DT_INIT_ARRAY, "DT_INIT_ARRAY"},
    {DT_PREINIT_ARRAY, "DT_PREINIT_ARRAY"},
    {DT_FINI, "DT_FINI"},
    {DT_FINI_ARRAY, "DT_FINI_ARRAY"},
    {DT_RPATH, "DT_RPATH"},
    {DT_RUNPATH, "DT_RUNPATH"},
    {DT_AUXILIARY, "DT_AUXILIARY"},
    {DT_FILTER, "DT_FILTER"},
    {DT_CONFIG, "DT_CONFIG"},
    {DT_DEPAUDIT, "DT_DEPAUDIT"},
    {DT_AUDIT, "DT_AUDIT"},
}};

Status ElfFile::checkDynamic(const Elf64_Phdr &dynamic) const {
  const std::span<const std::byte> table = loaded(dynamic.p_vaddr, dynamic.p_filesz);
  if (table.empty() || table.data() != bytes.data() + dynamic.p_offset) {
    return HEDDLE_ERROR(DataLoss, "damaged: the dynamic section is not part of a loaded segment");
  }
  std::vector<uint64_t> needed;
  uint64_t names = 0;
  uint64_t namesSize = 0;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= table.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, table.data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) {
      break;
    }
    const auto refused =
        std::find_if(refusedTags.begin(), refusedTags.end(),
                     [&](const RefusedTag &each) { return each.tag == entry.d_tag; });
    if (refused != refusedTags.end()) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("not a compiled model: its dynamic section has {}, expected a "
                      "library that runs nothing when it is loaded",
                      refused->name));
    }
    if (entry.d_tag == DT_NEEDED) {
      needed.push_back(entry.d_un.d_val);
    } else if (entry.d_tag == DT_STRTAB) {
      names = entry.d_un.d_ptr;
    } else if (entry.d_tag == DT_STRSZ) {
      namesSize = entry.d_un.d_val;
    }
  }
  const std::span<const std::byte> text = loaded(names, namesSize);
  for (const uint64_t at : needed) {
    if (!hasString(text, at)) {
      return HEDDLE_ERROR(DataLoss, "damaged: the name of a needed library is out of range");
    }
    const std::string_view name = reinterpret_cast<const char *>(text.data()) + at;
    if (name != "libc.so.6" && name != "libm.so.6") {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("not a compiled model: it needs the library {}, expected at "
                                      "most libc.so.6 and libm.so.6",
                                      quote(name)));
    }
  }
  return {};
}

Status ElfFile::checkLoadable() const {
  const auto first =
      std::find_if(segmentTable.begin(), segmentTable.end(),
                   [](const Elf64_Phdr &segment) { return segment.p_type == PT_LOAD; });
  const uint64_t tableEnd = elfHeader.e_phoff + elfHeader.e_phnum * sizeof(Elf64_Phdr);
  if (first == segmentTable.end() || first->p_offset != 0 || first->p_filesz < tableEnd ||
      elfHeader.e_phoff < sizeof elfHeader) {
    return HEDDLE_ERROR(DataLoss, "damaged: the program headers are not part of the first loaded "
                                  "segment");
  }
  size_t dynamics = 0;
  for (const Elf64_Phdr &segment : segmentTable) {
    const bool writable = (segment.p_flags & PF_W) != 0;
    const bool executable = (segment.p_flags & PF_X) != 0;
    if (segment.p_type == PT_LOAD && writable && executable) {
      return HEDDLE_ERROR(InvalidArgument, "not a compiled model: it has a segment that is both "
                                           "writable and executable");
    }
    if (segment.p_type == PT_GNU_STACK && executable) {
      return HEDDLE_ERROR(InvalidArgument, "not a compiled model: it asks for an executable stack");
    }
    if (segment.p_type == PT_INTERP) {
      return HEDDLE_ERROR(InvalidArgument, "not a compiled model: it is a program, expected a "
                                           "shared library");
    }
    if (segment.p_type == PT_DYNAMIC) {
      ++dynamics;
      HEDDLE_TRY(checkDynamic(segment));
    }
  }
  if (dynamics != 1) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("damaged: {} dynamic sections, expected one", dynamics));
  }
  return {};
}

} // namespace heddle
