// SPDX-License-Identifier: Apache-2.0
///
/// Loading of valid, foreign and damaged files.
#include "runtime/Artifact/Artifact.h"

#include "formats/Binary/AppendSections.h"
#include "runtime/Device/Device.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::fixture;

/// Writes a copy of the model.
static std::string writeModel(const ModelSpec &spec, const std::string &name) {
  const std::string path = temporaryPath(name);
  EXPECT_EQ(write(spec, path).message(), "");
  return path;
}

static Status load(const std::string &path, const ArtifactOptions &options = {}) {
  return Artifact::load(path, options, hostDevice()).status();
}

static void expectRefusal(const Status &status, StatusCode code, const std::string &message) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
}

/// Loads bytes as a file.
static Status loadBytes(const std::string &bytes, const ArtifactOptions &options = {}) {
  const std::string path = temporaryPath("bytes.so");
  writeBytes(path, bytes);
  return load(path, options);
}

static std::string modelBytes() { return readBytes(writeModel(model(), "model.so")); }

/// Changes the ELF header of a file's bytes.
template <typename Change> static std::string withHeader(std::string bytes, const Change &change) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// Changes the header of one of the sections.
template <typename Change>
static std::string withSection(std::string bytes, const char *name, const Change &change) {
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(bytes)));
  for (size_t i = 0; i < elf->sections().size(); ++i) {
    if (elf->sections()[i].name == name) {
      Elf64_Shdr section = elf->sections()[i].header;
      change(section);
      std::memcpy(bytes.data() + elf->header().e_shoff + i * sizeof section, &section,
                  sizeof section);
    }
  }
  return bytes;
}

TEST(Artifact, Loads) {
  const std::string path = writeModel(model(), "good.so");
  const auto artifact = Artifact::load(path, {"", true, false}, hostDevice());
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  EXPECT_EQ((*artifact)->manifest().model_type()->string_view(), "test");
  EXPECT_EQ((*artifact)->weights().size(), model().weightsSize);
  ASSERT_NE((*artifact)->program(), nullptr);
  // The CPU reads weights in the mapped file.
  const auto &parameters = *(*artifact)->manifest().parameters();
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ((*artifact)->program()->parameter(i),
              (*artifact)->weights().data() + parameters.Get(i)->offset());
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*artifact)->weights().data()) % HEDDLE_WEIGHTS_ALIGNMENT,
            0u);
}

TEST(Artifact, TakesTheBestTarget) {
  const std::vector<std::string> machine = hostDevice()->targets();
  if (machine.front() != "x86-64-v4" && machine.front() != "x86-64-v3") {
    GTEST_SKIP() << "this CPU runs none of the fixture's targets";
  }
  const std::string path = writeModel(model(), "targets.so");
  EXPECT_EQ((*Artifact::load(path, {}, hostDevice()))->isa(), machine.front());
  EXPECT_EQ((*Artifact::load(path, {"x86-64-v3", false, false}, hostDevice()))->isa(), "x86-64-v3");
}

TEST(Artifact, RefusesTargets) {
  const std::string path = writeModel(model(), "isa.so");
  expectRefusal(load(path, {"sparc", false, false}), StatusCode::NotFound,
                "isa.so: no code for target \"sparc\", the file has x86-64-v3, x86-64-v4");
  ModelSpec spec = model();
  spec.targets = {"x86-64-v8", "x86-64-v9"};
  const std::string future = writeModel(spec, "future.so");
  expectRefusal(load(future), StatusCode::Unsupported,
                "no target that this CPU can run: the file has x86-64-v8, x86-64-v9, this CPU runs "
                "x86-64");
  expectRefusal(load(future, {"x86-64-v9", false, false}), StatusCode::Unsupported,
                "this CPU cannot run target x86-64-v9, it can run x86-64");
  EXPECT_EQ(load(future, {"", true, true}).message(), "");
}

TEST(Artifact, RefusesForeignFiles) {
  expectRefusal(load(temporaryPath("absent.so")), StatusCode::NotFound, "cannot open");
  expectRefusal(loadBytes("#!/bin/sh\n"), StatusCode::InvalidArgument,
                "not an ELF file: it does not begin with \\x7fELF");
  expectRefusal(loadBytes("\x7f"
                          "E"),
                StatusCode::InvalidArgument, "not an ELF file");
  expectRefusal(loadBytes("\x7f"
                          "ELF"),
                StatusCode::DataLoss, "truncated: the file has 4 bytes, an ELF header 64");
  expectRefusal(loadBytes(linkedKernels()), StatusCode::InvalidArgument,
                "a shared library, but not a compiled model: it has no section .heddle.manifest");
  expectRefusal(loadBytes(withHeader(modelBytes(), [](auto &h) { h.e_machine = EM_AARCH64; })),
                StatusCode::Unsupported,
                "machine 183, expected class 2, byte order 1 and machine 62");
  expectRefusal(loadBytes(withHeader(modelBytes(), [](auto &h) { h.e_ident[EI_CLASS] = 1; })),
                StatusCode::Unsupported, "an ELF file of class 1");
  expectRefusal(loadBytes(withHeader(modelBytes(), [](auto &h) { h.e_type = ET_EXEC; })),
                StatusCode::InvalidArgument, "an ELF file of type 2, expected a shared library");
}

TEST(Artifact, RefusesDamagedHeaders) {
  const std::string good = modelBytes();
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_shentsize = 8; })),
                StatusCode::DataLoss, "damaged ELF header: header sizes 64, 56 and 8");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_phoff = ~0ull - 8; })),
                StatusCode::DataLoss, "program headers at byte 18446744073709551607");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_shoff = ~0ull; })),
                StatusCode::DataLoss, "section headers at byte 18446744073709551615");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_shnum = 0xffff; })),
                StatusCode::DataLoss, "truncated or damaged: 65535 section headers");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_shstrndx = 0x7fff; })),
                StatusCode::DataLoss, "section names are in section 32767");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_phnum = 0; })), StatusCode::DataLoss,
                "damaged");
  expectRefusal(loadBytes(withHeader(good, [](auto &h) { h.e_entry = 1; })), StatusCode::DataLoss,
                "damaged code: its checksum is");
}

TEST(Artifact, RefusesDamagedSections) {
  const std::string good = modelBytes();
  auto damaged = [&](const char *name, auto change) {
    return loadBytes(withSection(good, name, change));
  };
  expectRefusal(damaged(HEDDLE_WEIGHTS_SECTION, [](auto &s) { s.sh_size = ~0ull; }),
                StatusCode::DataLoss, "truncated or damaged: section");
  expectRefusal(damaged(HEDDLE_WEIGHTS_SECTION, [](auto &s) { s.sh_offset += 64; }),
                StatusCode::DataLoss, "section .heddle.weights has type 1 and begins at byte");
  expectRefusal(damaged(HEDDLE_WEIGHTS_SECTION, [](auto &s) { s.sh_size -= 64; }),
                StatusCode::DataLoss, "damaged manifest: its checksum is");
  expectRefusal(damaged(HEDDLE_WEIGHTS_SECTION, [](auto &s) { s.sh_type = SHT_NOBITS; }),
                StatusCode::DataLoss, "section .heddle.weights has type 8");
  expectRefusal(damaged(HEDDLE_WEIGHTS_SECTION, [](auto &s) { s.sh_name = 1u << 30; }),
                StatusCode::DataLoss, "damaged: the name of section");
  expectRefusal(damaged(HEDDLE_MANIFEST_SECTION, [](auto &s) { s.sh_size = 8; }),
                StatusCode::DataLoss, "damaged manifest: 8 bytes");
  expectRefusal(damaged(HEDDLE_MANIFEST_SECTION, [](auto &s) { s.sh_offset = 0; }),
                StatusCode::DataLoss, "damaged manifest");
  uint32_t name = 0;
  withSection(good, HEDDLE_WEIGHTS_SECTION, [&](auto &s) { name = s.sh_name; });
  expectRefusal(damaged(HEDDLE_MANIFEST_SECTION, [&](auto &s) { s.sh_name = name; }),
                StatusCode::InvalidArgument, "it has no section .heddle.manifest");
  expectRefusal(damaged(".comment", [&](auto &s) { s.sh_name = name; }), StatusCode::DataLoss,
                "damaged: two sections .heddle.weights, expected one");
}

TEST(Artifact, RefusesDamagedCodeAndManifest) {
  const std::string good = modelBytes();
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(good)));
  std::string bytes = good;
  for (const ElfSection &section : elf->sections()) {
    if (section.name == ".text") {
      bytes[section.header.sh_offset + 5] ^= 1;
    }
  }
  expectRefusal(loadBytes(bytes), StatusCode::DataLoss, "damaged code: its checksum is");
  bytes = good;
  bytes[elf->findSection(HEDDLE_MANIFEST_SECTION)->header.sh_offset + 99] ^= 1;
  expectRefusal(loadBytes(bytes), StatusCode::DataLoss, "damaged manifest: its checksum is");
  ModelSpec spec = model();
  spec.codeChecksum = 5;
  expectRefusal(load(writeModel(spec, "checksum.so")), StatusCode::DataLoss,
                "expected 0000000000000005");
  spec = model();
  spec.abi = 99;
  expectRefusal(load(writeModel(spec, "abi.so")), StatusCode::Unsupported,
                "abi.so: compiled for binary interface 99");
}

TEST(Artifact, NoticesDamagedWeightsOnlyWhenAsked) {
  std::string bytes = modelBytes();
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(bytes)));
  const ModelSpec spec = model();
  bytes[elf->findSection(HEDDLE_WEIGHTS_SECTION)->header.sh_offset + spec.parameters[2].offset] ^=
      1;
  EXPECT_EQ(loadBytes(bytes).message(), "");
  expectRefusal(loadBytes(bytes, {"", true, false}), StatusCode::DataLoss,
                "bytes.so: damaged parameter \"weight\": its checksum is");
}

TEST(Artifact, HasImages) {
  const ModelSpec spec = modelWithImages();
  const std::string path = writeModel(spec, "images.so");
  const auto artifact = Artifact::load(path, {"", true, true}, nullptr);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  const auto section = (*artifact)->images();
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(section.data()), section.size()),
            images(spec));
  const manifest::Manifest &manifest = (*artifact)->manifest();
  ASSERT_EQ(manifest.images()->size(), 2u);
  EXPECT_EQ(manifest.images()->Get(1)->kind(), manifest::ImageKind::Ptx);
  const auto none = Artifact::load(writeModel(model(), "plain.so"), {"", true, true}, nullptr);
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_TRUE((*none)->images().empty());
}

TEST(Artifact, RefusesDamagedImages) {
  const std::string good = readBytes(writeModel(modelWithImages(), "images.so"));
  const ArtifactOptions described{"", false, true};
  std::string bytes = good;
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(bytes)));
  bytes[elf->findSection(HEDDLE_DEVICE_SECTION)->header.sh_offset + 100] ^= 1;
  EXPECT_EQ(loadBytes(bytes, described).message(), "");
  expectRefusal(loadBytes(bytes, {"", true, true}), StatusCode::DataLoss,
                "bytes.so: damaged image 0 for target device: its checksum is");
  bytes = withSection(good, HEDDLE_DEVICE_SECTION, [](auto &s) { s.sh_type = SHT_NOBITS; });
  expectRefusal(loadBytes(bytes, described), StatusCode::DataLoss,
                "damaged: section .heddle.device has type 8");
  bytes = withSection(good, HEDDLE_DEVICE_SECTION, [](auto &s) { s.sh_size -= 1; });
  expectRefusal(loadBytes(bytes, described), StatusCode::DataLoss,
                "image 1: 12 bytes at byte 256, the section .heddle.device has 267");
  bytes = withSection(good, HEDDLE_DEVICE_SECTION, [](auto &s) { s.sh_name += 1; });
  expectRefusal(loadBytes(bytes, described), StatusCode::DataLoss,
                "image 0: 200 bytes at byte 0, the section .heddle.device has 0");
}

TEST(Artifact, RefusesSymbolsThatAreNotTheFiles) {
  ModelSpec spec = model();
  spec.kernels[1].symbols = {"linear_v9", "linear_v9"};
  expectRefusal(load(writeModel(spec, "symbol.so")), StatusCode::DataLoss,
                "is the function \"linear_v9\", which the file does not have");
  spec.kernels[1].symbols = {"_DYNAMIC", "_DYNAMIC"};
  expectRefusal(load(writeModel(spec, "data.so")), StatusCode::DataLoss, "does not have");
  spec.kernels[1].symbols = {"system", "system"};
  expectRefusal(load(writeModel(spec, "libc.so")), StatusCode::DataLoss, "does not have");
}

TEST(Artifact, SurvivesEveryTruncation) {
  const std::string good = modelBytes();
  for (size_t size = 0; size < good.size(); size += std::max<size_t>(1, good.size() / 400)) {
    EXPECT_FALSE(loadBytes(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(loadBytes(good.substr(0, good.size() - 1)).ok());
}

TEST(Artifact, SurvivesRandomBytes) {
  const std::string good = modelBytes();
  const Result<ElfFile> elf = ElfFile::parse(std::as_bytes(std::span(good)));
  const uint64_t begin = elf->findSection(HEDDLE_WEIGHTS_SECTION)->header.sh_offset;
  const uint64_t end = elf->findSection(HEDDLE_MANIFEST_SECTION)->header.sh_offset;
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    size_t at = random() % bytes.size();
    // The weights are most of the file but the smallest part of what is parsed: change them rarely.
    if (at >= begin && at < end && i % 8 != 0) {
      at = random() % 2 == 0 ? random() % begin : end + random() % (bytes.size() - end);
    }
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    const Status status = loadBytes(bytes, {"", true, false});
    EXPECT_TRUE(status.ok() || !status.message().empty());
  }
}
