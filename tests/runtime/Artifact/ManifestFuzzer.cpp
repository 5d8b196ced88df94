// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a manifest. The first run starts from the manifests of the test models, and
/// fields are changed by the schema, so that inputs reach the semantic checks, which random bytes
/// never do.
#include "formats/Binary/ManifestCheck.h"

#include "tests/Fuzzing/FlatBufferMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace heddle;
using fuzzing::require;

/// Returns manifests with and without text generation, caches and states.
static const std::vector<std::string> &seeds() {
  static const std::vector<std::string> list = {fixture::serialize(fixture::model(), 0),
                                                fixture::serialize(fixture::generatingModel(), 0),
                                                fixture::serialize(fixture::averagingModel(), 0)};
  return list;
}

static void mutateManifest(std::string &bytes, fuzzing::Choice &choice) {
  static const std::string schema = fuzzing::readWhole(HEDDLE_MANIFEST_SCHEMA);
  if (bytes.size() < 64) {
    bytes = choice.of(seeds());
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (manifest::VerifyManifestBuffer(verifier)) {
    fuzzing::mutateFlatBuffer(bytes, schema, choice);
  } else {
    fuzzing::changeBytes(bytes, choice);
  }
}

HEDDLE_FUZZ_MUTATION(mutateManifest)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Aligned as in a file.
  const std::unique_ptr<std::byte, decltype(&std::free)> copy(
      static_cast<std::byte *>(std::aligned_alloc(64, (size + 63) / 64 * 64 + 64)), &std::free);
  std::memcpy(copy.get(), data, size);
  // Each seed has its own weights; only a manifest with the right size passes the first check.
  static const std::array<uint64_t, 3> sizes = {fixture::model().actualWeightsSize,
                                                fixture::generatingModel().actualWeightsSize,
                                                fixture::averagingModel().actualWeightsSize};
  for (const uint64_t weights : sizes) {
    const Status status = checkManifest({copy.get(), size}, {.weightsSize = weights});
    require(status.ok() || !status.message().empty());
  }
  return 0;
}
