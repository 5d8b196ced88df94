// SPDX-License-Identifier: Apache-2.0
///
/// Finds tables at the places in the header, as far as they are inside the file.
#include "tests/Fuzzing/ElfMutation.h"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <vector>

namespace heddle::fuzzing {

namespace {

struct Field {
  size_t at;
  size_t width;
};

/// Contiguous headers of one size.
struct Table {
  size_t begin = 0;
  size_t count = 0;
  size_t width = 0;
};

} // namespace

#define HEDDLE_FIELD(type, name)                                                                   \
  Field { offsetof(type, name), sizeof(type::name) }

static const Field headerFields[] = {
    HEDDLE_FIELD(Elf64_Ehdr, e_type),     HEDDLE_FIELD(Elf64_Ehdr, e_machine),
    HEDDLE_FIELD(Elf64_Ehdr, e_phoff),    HEDDLE_FIELD(Elf64_Ehdr, e_shoff),
    HEDDLE_FIELD(Elf64_Ehdr, e_ehsize),   HEDDLE_FIELD(Elf64_Ehdr, e_phentsize),
    HEDDLE_FIELD(Elf64_Ehdr, e_phnum),    HEDDLE_FIELD(Elf64_Ehdr, e_shentsize),
    HEDDLE_FIELD(Elf64_Ehdr, e_shnum),    HEDDLE_FIELD(Elf64_Ehdr, e_shstrndx),
    HEDDLE_FIELD(Elf64_Ehdr, e_ident[4]),
};
static const Field segmentFields[] = {
    HEDDLE_FIELD(Elf64_Phdr, p_type),   HEDDLE_FIELD(Elf64_Phdr, p_flags),
    HEDDLE_FIELD(Elf64_Phdr, p_offset), HEDDLE_FIELD(Elf64_Phdr, p_vaddr),
    HEDDLE_FIELD(Elf64_Phdr, p_filesz), HEDDLE_FIELD(Elf64_Phdr, p_memsz),
};
static const Field sectionFields[] = {
    HEDDLE_FIELD(Elf64_Shdr, sh_name),  HEDDLE_FIELD(Elf64_Shdr, sh_type),
    HEDDLE_FIELD(Elf64_Shdr, sh_flags), HEDDLE_FIELD(Elf64_Shdr, sh_offset),
    HEDDLE_FIELD(Elf64_Shdr, sh_size),  HEDDLE_FIELD(Elf64_Shdr, sh_link),
};
static const Field dynamicFields[] = {
    HEDDLE_FIELD(Elf64_Dyn, d_tag),
    HEDDLE_FIELD(Elf64_Dyn, d_un),
};

/// Returns a table, truncated to the part inside the file.
static Table tableAt(const std::string &file, uint64_t begin, uint64_t count, size_t width) {
  if (begin > file.size()) {
    return {};
  }
  return {begin, std::min<uint64_t>(count, (file.size() - begin) / width), width};
}

static Table dynamicTable(const std::string &file, const Table &segments) {
  for (size_t i = 0; i < segments.count; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + segments.begin + i * segments.width, sizeof segment);
    if (segment.p_type == PT_DYNAMIC) {
      return tableAt(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn),
                     sizeof(Elf64_Dyn));
    }
  }
  return {};
}

/// Changes a field of one header of a table, or exchanges it with another one.
static void changeTable(std::string &file, const Table &table, std::span<const Field> fields,
                        Choice &choice) {
  if (table.count == 0) {
    return;
  }
  const size_t one = table.begin + choice.below(table.count) * table.width;
  const size_t other = table.begin + choice.below(table.count) * table.width;
  const Field &field = choice.of(fields);
  switch (choice.below(8)) {
  case 0: {
    const std::string whole = file.substr(one, table.width);
    file.replace(one, table.width, file.substr(other, table.width));
    file.replace(other, table.width, whole);
    return;
  }
  case 1:
    file.replace(one, table.width, file.substr(other, table.width));
    return;
  case 2:
    file.replace(one + field.at, field.width, file.substr(other + field.at, field.width));
    return;
  default:
    changeNumber(file, one + field.at, field.width, choice);
  }
}

void mutateElf(std::string &file, Choice &choice) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) {
    return changeBytes(file, choice);
  }
  std::memcpy(&header, file.data(), sizeof header);
  const Table segments = tableAt(file, header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr));
  const Table sections = tableAt(file, header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr));
  switch (choice.below(4)) {
  case 0: {
    const Field &field = choice.of(headerFields);
    return changeNumber(file, field.at, field.width, choice);
  }
  case 1:
    return changeTable(file, segments, segmentFields, choice);
  case 2:
    return changeTable(file, sections, sectionFields, choice);
  default:
    return changeTable(file, dynamicTable(file, segments), dynamicFields, choice);
  }
}

} // namespace heddle::fuzzing
