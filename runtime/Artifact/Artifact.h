// SPDX-License-Identifier: Apache-2.0
///
/// A compiled model's file: mapped, checked from the outside in, and only then given to the dynamic
/// loader. The order is what makes a damaged or foreign file safe to refuse: ELF structure,
/// sections, manifest, ABI, checksum of the code, target; after all of them dlopen.
#ifndef HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H
#define HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H

#include "base/MappedFile.h"
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/Manifest_generated.h"
#include "heddle/Abi.h"
#include "heddle/Status.h"

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
  static Result<std::shared_ptr<const Artifact>> load(const std::string &path,
                                                      const ArtifactOptions &options);
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;
  ~Artifact();

  const std::string &path() const { return file.path(); }
  uint64_t fileSize() const { return file.bytes().size(); }
  const manifest::Manifest &manifest() const { return *model; }
  /// The section .heddle.weights, read-only, in the page cache.
  std::span<const std::byte> weights() const { return weightBytes; }
  /// The target whose kernels run; empty after describeOnly.
  std::string_view isa() const { return target; }
  /// The function of a kernel of the manifest for that target.
  HeddleKernel *kernel(uint32_t index) const { return kernels[index]; }
  /// Compares every parameter with its checksum.
  Status verifyWeights() const;

private:
  explicit Artifact(MappedFile file) : file(std::move(file)) {}
  Status check();
  Status readSections(const ElfFile &elf);
  Status chooseTarget(const std::string &wanted);
  Status loadCode(const ElfFile &elf);

  MappedFile file;
  std::span<const std::byte> manifestBytes;
  std::span<const std::byte> weightBytes;
  const manifest::Manifest *model = nullptr;
  std::string target;
  uint32_t targetIndex = 0;
  void *library = nullptr;
  std::vector<HeddleKernel *> kernels;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_ARTIFACT_ARTIFACT_H
