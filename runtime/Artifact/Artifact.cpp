// SPDX-License-Identifier: Apache-2.0
///
/// Loading of compiled models.
#include "runtime/Artifact/Artifact.h"

#include "base/Utf8.h"
#include "formats/Binary/Layout.h"
#include "formats/Binary/ManifestCheck.h"
#include "runtime/Device/Cpu/Targets.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

namespace heddle {

/// A section of our own; a file without it is some other library.
static Result<ElfSection> ourSection(const ElfFile &elf, std::string_view name,
                                     uint64_t alignment) {
  Result<ElfSection> section = elf.findSection(name);
  if (section.status().code() == StatusCode::NotFound) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("a shared library, but not a compiled model: it has no section {}", name));
  }
  if (!section.ok()) {
    return section;
  }
  const Elf64_Shdr &header = section->header;
  if (header.sh_type != SHT_PROGBITS || header.sh_offset % alignment != 0) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("damaged: section {} has type {} and begins at byte {}, expected "
                              "type {} and a multiple of {}",
                              name, header.sh_type, header.sh_offset, SHT_PROGBITS, alignment));
  }
  return section;
}

Status Artifact::readSections(const ElfFile &elf) {
  HEDDLE_ASSIGN(const ElfSection section,
                ourSection(elf, HEDDLE_MANIFEST_SECTION, HEDDLE_ALIGNMENT));
  HEDDLE_ASSIGN(const ElfSection weights,
                ourSection(elf, HEDDLE_WEIGHTS_SECTION, HEDDLE_WEIGHTS_ALIGNMENT));
  const std::span<const std::byte> bytes = elf.contents(section);
  ManifestTrailer trailer{};
  if (bytes.size() >= sizeof trailer) {
    std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer, sizeof trailer);
  }
  if (bytes.size() < sizeof trailer || trailer.manifestSize > bytes.size() - sizeof trailer) {
    return HEDDLE_ERROR(DataLoss, fmt::format("damaged manifest: {} bytes, expected {} and {} more",
                                              bytes.size(), trailer.manifestSize, sizeof trailer));
  }
  manifestBytes = bytes.first(trailer.manifestSize);
  weightBytes = elf.contents(weights);
  const uint64_t checksum =
      manifestChecksum(manifestBytes, weights.header.sh_offset, weights.header.sh_size);
  if (checksum != trailer.checksum) {
    return HEDDLE_ERROR(DataLoss, fmt::format("damaged manifest: its checksum is {:016x}, expected "
                                              "{:016x}",
                                              checksum, trailer.checksum));
  }
  return {};
}

Status Artifact::check() {
  HEDDLE_ASSIGN(const ElfFile elf, ElfFile::parse(file.bytes()));
  HEDDLE_TRY(readSections(elf));
  HEDDLE_TRY(elf.checkLoadable());
  HEDDLE_TRY(checkManifest(manifestBytes, weightBytes.size()));
  model = manifest::GetManifest(manifestBytes.data());
  const uint64_t checksum = elf.codeChecksum();
  if (checksum != model->code_checksum()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("damaged code: its checksum is {:016x}, expected {:016x}",
                                    checksum, model->code_checksum()));
  }
  return {};
}

Status Artifact::verifyWeights() const {
  for (const manifest::Parameter *const parameter : *model->parameters()) {
    const uint64_t checksum =
        parameterChecksum(weightBytes.subspan(parameter->offset(), parameter->size()));
    if (checksum != parameter->checksum()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: damaged parameter {}: its checksum is {:016x}, "
                                      "expected {:016x}",
                                      path(), quote(parameter->name()->string_view()), checksum,
                                      parameter->checksum()));
    }
  }
  return {};
}

Status Artifact::chooseTarget(const std::string &wanted) {
  std::vector<std::string> available;
  for (const flatbuffers::String *const each : *model->targets()) {
    available.push_back(each->str());
  }
  const std::vector<std::string> machine = cpuTargets();
  auto has = [](const std::vector<std::string> &list, const std::string &name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (!wanted.empty() && !has(available, wanted)) {
    return HEDDLE_ERROR(NotFound, fmt::format("no code for target {}, the file has {}",
                                              quote(wanted), fmt::join(available, ", ")));
  }
  if (!wanted.empty() && !has(machine, wanted)) {
    return HEDDLE_ERROR(Unsupported, fmt::format("this CPU cannot run target {}, it can run {}",
                                                 wanted, fmt::join(machine, ", ")));
  }
  const auto best =
      wanted.empty() ? std::find_if(machine.begin(), machine.end(),
                                    [&](const std::string &each) { return has(available, each); })
                     : std::find(machine.begin(), machine.end(), wanted);
  if (best == machine.end()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("no target that this CPU can run: the file has {}, this CPU "
                                    "runs {}",
                                    fmt::join(available, ", "), fmt::join(machine, ", ")));
  }
  target = *best;
  targetIndex = static_cast<uint32_t>(std::find(available.begin(), available.end(), target) -
                                      available.begin());
  return {};
}

Status Artifact::loadCode(const ElfFile &elf) {
  // A name without a slash would be sought in the system's library folders.
  const bool isPlain = path().find('/') == std::string::npos;
  library = ::dlopen((isPlain ? "./" + path() : path()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *const reason = ::dlerror();
    return HEDDLE_ERROR(DataLoss, fmt::format("the dynamic loader refuses it: {}",
                                              reason == nullptr ? "no reason given" : reason));
  }
  link_map *map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
    return HEDDLE_ERROR(Internal, "the dynamic loader does not say where it loaded it");
  }
  for (const manifest::Kernel *const kernel : *model->kernels()) {
    const char *const symbol = kernel->symbols()->Get(targetIndex)->c_str();
    void *const address = ::dlsym(library, symbol);
    // dlsym also finds what the library needs: a manifest must not name a function of libc.
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - map->l_addr;
    if (address == nullptr || !elf.isCode(offset)) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("damaged: kernel {} for {} is the function {}, which "
                                      "the file does not have",
                                      quote(kernel->name()->string_view()), target, quote(symbol)));
    }
    kernels.push_back(reinterpret_cast<HeddleKernel *>(address));
  }
  return {};
}

Result<std::shared_ptr<const Artifact>> Artifact::load(const std::string &path,
                                                       const ArtifactOptions &options) {
  HEDDLE_ASSIGN(MappedFile file, MappedFile::open(path));
  const std::shared_ptr<Artifact> artifact(new Artifact(std::move(file)));
  HEDDLE_TRY_WITH(artifact->check(), path);
  if (options.verifyWeights) {
    HEDDLE_TRY(artifact->verifyWeights());
  }
  if (!options.describeOnly) {
    HEDDLE_TRY_WITH(artifact->chooseTarget(options.isa), path);
    HEDDLE_ASSIGN(const ElfFile elf, ElfFile::parse(artifact->file.bytes()));
    HEDDLE_TRY_WITH(artifact->loadCode(elf), path);
  }
  return std::shared_ptr<const Artifact>(artifact);
}

Artifact::~Artifact() {
  if (library != nullptr) {
    ::dlclose(library);
  }
}

} // namespace heddle
