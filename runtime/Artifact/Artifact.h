// SPDX-License-Identifier: Apache-2.0
///
/// The file of a compiled model: mapped, validated from the outside in, and only then given to a
/// device. The order makes it safe to reject a damaged or foreign file: ELF structure, sections,
/// manifest, ABI, checksum of the code, target; the code is loaded after all of these.
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

/// The fields of ModelOptions, where they are documented.
struct ArtifactOptions {
  std::string isa;
  bool verifyWeights = false;
  bool describeOnly = false;
  /// Not one of them: why there is no GPU among the devices, for the message to those whose file
  /// has code for one. Empty if none was looked for.
  std::string noGpu = {};
};

/// A loaded file. Immutable; may be used by any number of threads.
class Artifact {
public:
  /// Loads the file on the first device that has a target of the file; describeOnly needs none.
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
  /// Returns the section .heddle.weights, which is read-only and in the page cache.
  std::span<const std::byte> weights() const { return weightBytes; }
  /// Returns the section .heddle.device, which Manifest.images divides; empty if there is none.
  std::span<const std::byte> images() const { return imageBytes; }
  /// Returns the target whose kernels run; empty if describeOnly.
  std::string_view isa() const { return target; }
  /// Returns the target's number in the manifest, which lists for each target what it reads.
  uint32_t isaNumber() const { return targetIndex; }
  /// Returns the device; null if describeOnly.
  const std::shared_ptr<Device> &device() const { return chosen; }
  /// Returns the kernels and weights on the device; null if describeOnly.
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
