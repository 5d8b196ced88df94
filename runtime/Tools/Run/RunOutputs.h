// SPDX-License-Identifier: Apache-2.0
///
/// The results of a run, as they are written to a file.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNOUTPUTS_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNOUTPUTS_H

#include "runtime/Tools/Run/RunTensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// One output.
struct RunOutput {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
  /// The derivedLengths(), which are written to a separate tensor.
  std::vector<int32_t> lengths = {};
};

/// All outputs of a run, and the names of the tensors that no entry takes.
struct RunOutputs {
  std::vector<RunOutput> outputs;
  std::vector<std::string> ignored;
};

/// Reports the inputs whose type differs from that in the file.
void noteConversions(const RunInputs &inputs);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNOUTPUTS_H
