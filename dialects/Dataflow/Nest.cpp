// SPDX-License-Identifier: Apache-2.0
///
/// Reading the axes of a loop nest.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

unsigned NestAttr::getNumInputs() const {
  StringRef inputs = getAxes().getValue().split("->").first;
  return inputs.empty() ? 0 : inputs.count(',') + 1;
}

StringRef NestAttr::getInputAxes(unsigned i) const {
  StringRef rest = getAxes().getValue().split("->").first;
  for (unsigned skipped = 0; skipped < i; ++skipped) {
    rest = rest.split(',').second;
  }
  return rest.split(',').first;
}

} // namespace heddle::dataflow
