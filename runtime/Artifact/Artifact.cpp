// SPDX-License-Identifier: Apache-2.0
///
/// Loads compiled models.
#include "runtime/Artifact/Artifact.h"

#include "base/FileDescriptor.h"
#include "base/Utf8.h"
#include "formats/Binary/ImageCheck.h"
#include "formats/Binary/Layout.h"
#include "formats/Binary/ManifestCheck.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

/// Returns one of Heddle's sections, checked; NotFound if it does not exist.
static Result<ElfSection> findOurSection(const ElfFile &elf, std::string_view name,
                                         uint64_t alignment) {
  HEDDLE_ASSIGN(const ElfSection section, elf.findSection(name));
  const Elf64_Shdr &header = section.header;
  if (header.sh_type != SHT_PROGBITS || header.sh_offset % alignment != 0) {
    return HEDDLE_ERROR(
        DataLoss, fmt::format("damaged: section {} has type {} and begins at byte {}, expected "
                              "type {} and a multiple of {}",
                              name, header.sh_type, header.sh_offset, SHT_PROGBITS, alignment));
  }
  return section;
}

/// Returns a section that every model has; without it the file is some other library.
static Result<ElfSection> ourSection(const ElfFile &elf, std::string_view name,
                                     uint64_t alignment) {
  Result<ElfSection> section = findOurSection(elf, name, alignment);
  if (section.status().code() == StatusCode::NotFound) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("a shared library, but not a compiled model: it has no section {}", name));
  }
  return section;
}

Status Artifact::readSections(const ElfFile &elf) {
  HEDDLE_ASSIGN(const ElfSection section,
                ourSection(elf, HEDDLE_MANIFEST_SECTION, HEDDLE_ALIGNMENT));
  HEDDLE_ASSIGN(const ElfSection weights,
                ourSection(elf, HEDDLE_WEIGHTS_SECTION, HEDDLE_WEIGHTS_ALIGNMENT));
  // Only models for devices have this section.
  const Result<ElfSection> images = findOurSection(elf, HEDDLE_DEVICE_SECTION, HEDDLE_ALIGNMENT);
  if (!images.ok() && images.status().code() != StatusCode::NotFound) {
    return images.status();
  }
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
  imageBytes = images.ok() ? elf.contents(*images) : std::span<const std::byte>();
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
  HEDDLE_TRY(checkManifest(manifestBytes, {weightBytes.size(), imageBytes}));
  model = manifest::GetManifest(manifestBytes.data());
  const uint64_t checksum = elf.codeChecksum();
  if (checksum != model->code_checksum()) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("damaged code: its checksum is {:016x}, expected {:016x}",
                                    checksum, model->code_checksum()));
  }
  return {};
}

Status Artifact::verifyContents() const {
  for (const manifest::Parameter *const parameter : *model->parameters()) {
    const uint64_t checksum =
        contentChecksum(weightBytes.subspan(parameter->offset(), parameter->size()));
    if (checksum != parameter->checksum()) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("{}: damaged parameter {}: its checksum is {:016x}, "
                                      "expected {:016x}",
                                      path(), quote(parameter->name()->string_view()), checksum,
                                      parameter->checksum()));
    }
  }
  for (uint32_t i = 0; model->images() != nullptr && i < model->images()->size(); ++i) {
    HEDDLE_TRY_WITH(checkImageContent(*model, i, imageBytes), path());
  }
  return {};
}

/// Chooses the device if it supports the requested target of the file.
Status Artifact::chooseTarget(const std::string &wanted, const std::shared_ptr<Device> &device) {
  std::vector<std::string> available;
  for (const flatbuffers::String *const each : *model->targets()) {
    available.push_back(each->str());
  }
  const std::vector<std::string> machine = device->targets();
  auto has = [](const std::vector<std::string> &list, const std::string &name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (!wanted.empty() && !has(available, wanted)) {
    return HEDDLE_ERROR(NotFound, fmt::format("no code for target {}, the file has {}",
                                              quote(wanted), fmt::join(available, ", ")));
  }
  if (!wanted.empty() && !has(machine, wanted)) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{} cannot run target {}, it can run {}",
                                                 device->name(), wanted, fmt::join(machine, ", ")));
  }
  const auto best =
      wanted.empty() ? std::find_if(machine.begin(), machine.end(),
                                    [&](const std::string &each) { return has(available, each); })
                     : std::find(machine.begin(), machine.end(), wanted);
  if (best == machine.end()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("no target that {0} can run: the file has {1}, {0} runs {2}",
                                    device->name(), fmt::join(available, ", "),
                                    fmt::join(machine, ", ")));
  }
  chosen = device;
  target = *best;
  targetIndex = static_cast<uint32_t>(std::find(available.begin(), available.end(), target) -
                                      available.begin());
  return {};
}

Result<std::shared_ptr<const Artifact>>
Artifact::load(const std::string &path, const ArtifactOptions &options,
               std::span<const std::shared_ptr<Device>> devices) {
  HEDDLE_ASSIGN(const FileDescriptor descriptor, FileDescriptor::open(path));
  HEDDLE_ASSIGN(MappedFile file, MappedFile::ofDescriptor(descriptor.number(), path));
  const std::shared_ptr<Artifact> artifact(new Artifact(std::move(file)));
  HEDDLE_TRY_WITH(artifact->check(), path);
  if (options.verifyWeights) {
    HEDDLE_TRY(artifact->verifyContents());
  }
  if (!options.describeOnly) {
    // The last failure is kept: it is that of the device that always exists.
    Status status;
    for (const std::shared_ptr<Device> &device : devices) {
      status = artifact->chooseTarget(options.isa, device);
      if (status.ok()) {
        break;
      }
    }
    if (!status.ok() && !options.noGpu.empty() && artifact->model->images() != nullptr) {
      status = Status(status.code(), fmt::format("{}; {}", status.message(), options.noGpu),
                      __FILE_NAME__, __LINE__);
    }
    HEDDLE_TRY_WITH(status, path);
    HEDDLE_ASSIGN(const ElfFile elf, ElfFile::parse(artifact->file.bytes()));
    Result<std::unique_ptr<DeviceProgram>> program = artifact->chosen->load(
        {path, descriptor.number(), elf, *artifact->model, artifact->targetIndex,
         artifact->weightBytes, artifact->imageBytes});
    HEDDLE_TRY_WITH(program.status(), path);
    artifact->loaded = *std::move(program);
  }
  return std::shared_ptr<const Artifact>(artifact);
}

} // namespace heddle
