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
  /// On the first of the devices that has a target of the file; describeOnly needs none.
  static Result<std::shared_ptr<const Artifact>>
  load(const std::string &path, const ArtifactOptions &options,
       std::span<const std::shared_ptr<Device>> devices);
  static Result<std::shared_ptr<const Artifact>> load(const std::string &path,
                                                      const ArtifactOptions &options,
                                                      const std::shared_ptr<Device> &device) {
    return load(path, options, {&device, 1});
  }
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const std::string &path() const { return file.path(); }
  uint64_t fileSize() const { return file.bytes().size(); }
  const manifest::Manifest &manifest() const { return *model; }
  /// The section .heddle.weights, read-only, in the page cache.
  std::span<const std::byte> weights() const { return weightBytes; }
  /// The section .heddle.device, which Manifest.images divides; empty if there is none.
  std::span<const std::byte> images() const { return imageBytes; }
  /// The target whose kernels run; empty after describeOnly.
  std::string_view isa() const { return target; }
  /// Its number in the manifest, which says for each target what it reads.
  uint32_t isaNumber() const { return targetIndex; }
  /// Null after describeOnly.
  const std::shared_ptr<Device> &device() const { return chosen; }
  /// The kernels and weights on the device; null after describeOnly.
  const DeviceProgram *program() const { return loaded.get(); }
  /// Compares every parameter and every image with its checksum.
  Status verifyContents() const;

private:
  explicit Artifact(MappedFile file) : file(std::move(file)) {}
  Status check();
  Status readSections(const ElfFile &elf);
  Status chooseTarget(const std::string &wanted, const std::shared_ptr<Device> &device);

  MappedFile file;
  std::shared_ptr<Device> chosen;
  std::span<const std::byte> manifestBytes;
  std::span<const std::byte> weightBytes;
  std::span<const std::byte> imageBytes;
  const manifest::Manifest *model = nullptr;
  std::string target;
  uint32_t targetIndex = 0;
  std::unique_ptr<DeviceProgram> loaded;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H
