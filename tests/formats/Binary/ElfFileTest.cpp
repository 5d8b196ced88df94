// SPDX-License-Identifier: Apache-2.0
///
/// The writer of compiled models, and the shared definition of a loadable file.
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/AppendSections.h"
#include "formats/Binary/Layout.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::fixture;

static ElfFile parsed(const std::string &bytes) {
  Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(elf.ok()) << elf.status().message();
  return *elf;
}

/// The linked kernels with one entry of their dynamic section replaced.
static std::string withDynamicEntry(Elf64_Sxword tag, uint64_t value) {
  std::string bytes = linkedKernels();
  const ElfFile elf = parsed(bytes);
  for (const Elf64_Phdr &segment : elf.segments()) {
    if (segment.p_type == PT_DYNAMIC) {
      const Elf64_Dyn entry{tag, {value}};
      std::memcpy(bytes.data() + segment.p_offset, &entry, sizeof entry);
    }
  }
  return bytes;
}

/// The linked kernels with every program header passed through `change`.
template <typename Change> static std::string withSegments(const Change &change) {
  std::string bytes = linkedKernels();
  const ElfFile elf = parsed(bytes);
  for (size_t i = 0; i < elf.segments().size(); ++i) {
    Elf64_Phdr segment = elf.segments()[i];
    change(segment);
    std::memcpy(bytes.data() + elf.header().e_phoff + i * sizeof segment, &segment, sizeof segment);
  }
  return bytes;
}

static std::string refusal(const std::string &bytes) {
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(bytes)));
  return std::string(elf.ok() ? elf->checkLoadable().message() : elf.status().message());
}

TEST(ElfFile, AcceptsLinkedKernels) { EXPECT_EQ(refusal(linkedKernels()), ""); }

TEST(ElfFile, RefusesCodeThatRunsAtLoading) {
  EXPECT_EQ(refusal(withDynamicEntry(DT_INIT, 0x1000)),
            "not a compiled model: its dynamic section has DT_INIT, expected a library that runs "
            "nothing when it is loaded");
  for (const Elf64_Sxword tag :
       {DT_INIT_ARRAY, DT_PREINIT_ARRAY, DT_FINI, DT_FINI_ARRAY, DT_RUNPATH, DT_RPATH}) {
    EXPECT_NE(refusal(withDynamicEntry(tag, 0)).find("its dynamic section has DT_"),
              std::string::npos);
  }
}

TEST(ElfFile, RefusesOtherLibraries) {
  EXPECT_NE(refusal(withDynamicEntry(DT_NEEDED, 1))
                .find("not a compiled model: it needs the "
                      "library \""),
            std::string::npos);
  EXPECT_EQ(refusal(withDynamicEntry(DT_NEEDED, ~0ull)),
            "damaged: the name of a needed library is out of range");
}

TEST(ElfFile, RefusesUnsafeSegments) {
  EXPECT_EQ(refusal(withSegments([](Elf64_Phdr &s) { s.p_flags |= PF_W | PF_X; })),
            "not a compiled model: it has a segment that is both writable and executable");
  EXPECT_EQ(refusal(withSegments(
                [](Elf64_Phdr &s) { s.p_flags |= s.p_type == PT_GNU_STACK ? PF_X : 0u; })),
            "not a compiled model: it asks for an executable stack");
  EXPECT_EQ(refusal(withSegments([](Elf64_Phdr &s) {
              s.p_type = s.p_type == PT_GNU_STACK ? Elf64_Word(PT_INTERP) : s.p_type;
            })),
            "not a compiled model: it is a program, expected a shared library");
  EXPECT_EQ(refusal(withSegments([](Elf64_Phdr &s) {
              s.p_type = s.p_type == PT_DYNAMIC ? Elf64_Word(PT_NULL) : s.p_type;
            })),
            "damaged: 0 dynamic sections, expected one");
  EXPECT_EQ(
      refusal(withSegments([](Elf64_Phdr &s) { s.p_vaddr += s.p_type == PT_DYNAMIC ? 8 : 0; })),
      "damaged: the dynamic section is not part of a loaded segment");
  EXPECT_EQ(refusal(withSegments([](Elf64_Phdr &s) {
              s.p_type = s.p_offset == 0 && s.p_type == PT_LOAD ? Elf64_Word(PT_NULL) : s.p_type;
            })),
            "damaged: the program headers are not part of the first loaded segment");
  EXPECT_NE(refusal(withSegments([](Elf64_Phdr &s) { s.p_offset = 64; }))
                .find("inside the one "
                      "before it"),
            std::string::npos);
  EXPECT_NE(refusal(withSegments([](Elf64_Phdr &s) {
              s.p_filesz = ~0ull;
            })).find("truncated or damaged: segment 0"),
            std::string::npos);
}

TEST(AppendSections, KeepsTheProgramAndItsChecksum) {
  const std::string before = linkedKernels();
  const std::string path = temporaryPath("written.so");
  ASSERT_EQ(write(model(), path).message(), "");
  const std::string after = readBytes(path);
  const ElfFile old = parsed(before);
  const ElfFile current = parsed(after);
  EXPECT_EQ(old.codeChecksum(), current.codeChecksum());
  EXPECT_EQ(current.sections().size(), old.sections().size() + 2);
  for (const ElfSection &section : old.sections()) {
    if (section.name != ".shstrtab" && !section.name.empty()) {
      const Result<ElfSection> same = current.findSection(section.name);
      ASSERT_TRUE(same.ok());
      EXPECT_EQ(same->header.sh_offset, section.header.sh_offset);
    }
  }
  const Result<ElfSection> weightsSection = current.findSection(HEDDLE_WEIGHTS_SECTION);
  EXPECT_EQ(weightsSection->header.sh_flags, 0u);
  EXPECT_EQ(after.substr(weightsSection->header.sh_offset, weightsSection->header.sh_size),
            weights(model()));
}

TEST(AppendSections, IsDeterministic) {
  ASSERT_TRUE(write(model(), temporaryPath("one.so")).ok());
  ASSERT_TRUE(write(model(), temporaryPath("two.so")).ok());
  EXPECT_EQ(readBytes(temporaryPath("one.so")), readBytes(temporaryPath("two.so")));
}

/// A callback that writes no weights.
static Status noWeights(const WeightsSink &) { return {}; }
static Result<std::string> noManifest(uint64_t) { return std::string(); }

TEST(AppendSections, LeavesAnOldFileWhenItFails) {
  const std::string path = temporaryPath("kept.so");
  writeBytes(path, "old");
  EXPECT_EQ(writeArtifact(linkedKernels(), 8, noWeights, "", noManifest, path).message(),
            "0 bytes of weights were written, expected 8");
  const auto tooMuch = [](const WeightsSink &sink) {
    return sink(std::as_bytes(std::span("123456789")));
  };
  EXPECT_EQ(writeArtifact(linkedKernels(), 8, tooMuch, "", noManifest, path).message(),
            "more bytes of weights than the 8 expected");
  const auto failing = [](uint64_t) -> Result<std::string> {
    return HEDDLE_ERROR(Internal, "no manifest today");
  };
  EXPECT_EQ(writeArtifact(linkedKernels(), 0, noWeights, "", failing, path).message(),
            "no manifest today");
  EXPECT_EQ(readBytes(path), "old");
}

TEST(AppendSections, RefusesWhatIsNoKernelLibrary) {
  const std::string path = temporaryPath("never.so");
  EXPECT_NE(writeArtifact("text", 0, noWeights, "", noManifest, path).message().find("not an ELF"),
            std::string::npos);
  EXPECT_NE(writeArtifact(withDynamicEntry(DT_INIT, 0), 0, noWeights, "", noManifest, path)
                .message()
                .find("DT_INIT"),
            std::string::npos);
  ASSERT_TRUE(write(model(), temporaryPath("twice.so")).ok());
  EXPECT_EQ(writeArtifact(readBytes(temporaryPath("twice.so")), 0, noWeights, "", noManifest, path)
                .message(),
            "the linked kernels already have a section .heddle.weights");
  std::string bare = linkedKernels();
  Elf64_Ehdr header;
  std::memcpy(&header, bare.data(), sizeof header);
  header.e_shnum = 0;
  std::memcpy(bare.data(), &header, sizeof header);
  EXPECT_EQ(writeArtifact(bare, 0, noWeights, "", noManifest, path).message(),
            "the linked kernels have no section headers");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AppendSections, ReportsAFullDisk) {
  EXPECT_EQ(write(model(), "/dev/full").code(), StatusCode::InputOutput);
}
