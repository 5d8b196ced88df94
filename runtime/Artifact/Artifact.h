// SPDX-License-Identifier: Apache-2.0
///
/// A compiled model's file: mapped, checked from the outside in, and only then given to a device.
/// The order is what makes a damaged or foreign file safe to refuse: ELF structure, sections,
/// manifest, ABI, checksum of the code, target; after all of them its code is loaded.
#ifndef HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H
#define HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H

#include "base/MappedFile.h"
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/Manifest_generated.h"
#include "heddle/Abi.h"
#include "heddle/Status.h"
#include "runtime/Device/Device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The fields of ModelOptions, which documents them.
struct ArtifactOptions {
  std::string isa;
  bool verifyWeights = false;
  bool describeOnly = false;
};

/// One loaded file; immutable, usable from any number of threads.
class Artifact {
public:
  static Result<std::shared_ptr<const Artifact>>
  load(const std::string &path, const ArtifactOptions &options, std::shared_ptr<Device> device);
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const std::string &path() const { return file.path(); }
  uint64_t fileSize() const { return file.bytes().size(); }
  const manifest::Manifest &manifest() const { return *model; }
  /// The section .heddle.weights, read-only, in the page cache.
  std::span<const std::byte> weights() const { return weightBytes; }
  /// The target whose kernels run; empty after describeOnly.
  std::string_view isa() const { return target; }
  /// Its number in the manifest, which says for each target what it reads.
  uint32_t isaNumber() const { return targetIndex; }
  const std::shared_ptr<Device> &device() const { return host; }
  /// The kernels and weights on the device; null after describeOnly.
  const DeviceProgram *program() const { return loaded.get(); }
  /// Compares every parameter with its checksum.
  Status verifyWeights() const;

private:
  Artifact(MappedFile file, std::shared_ptr<Device> device)
      : file(std::move(file)), host(std::move(device)) {}
  Status check();
  Status readSections(const ElfFile &elf);
  Status chooseTarget(const std::string &wanted);

  MappedFile file;
  std::shared_ptr<Device> host;
  std::span<const std::byte> manifestBytes;
  std::span<const std::byte> weightBytes;
  const manifest::Manifest *model = nullptr;
  std::string target;
  uint32_t targetIndex = 0;
  std::unique_ptr<DeviceProgram> loaded;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H
