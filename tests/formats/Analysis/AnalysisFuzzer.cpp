// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as the file of an analysis: an error, or an analysis that can be drawn, and
/// written and read again.
#include "formats/Analysis/AttentionAnalysis.h"
#include "formats/Analysis/HeatMap.h"
#include "tests/Fuzzing/JsonMutation.h"

using namespace heddle;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateJson)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto analysis = readAnalysis({reinterpret_cast<const char *>(data), size});
  if (!analysis.ok()) {
    require(!analysis.status().message().empty());
    return 0;
  }
  const std::string written = writeAnalysis(*analysis);
  const auto again = readAnalysis(written);
  require(again.ok() && writeAnalysis(*again) == written);
  require(heatMapSvg(*analysis).starts_with("<svg"));
  (void)shareAttention(*analysis);
  return 0;
}
