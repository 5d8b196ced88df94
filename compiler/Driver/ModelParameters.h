// SPDX-License-Identifier: Apache-2.0
///
/// The source of a model's parameters: its checkpoint.
#ifndef HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H
#define HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H

#include "compiler/Driver/NonFiniteWeights.h"
#include "compiler/Link/Parameters.h"
#include "frontend/Import/Import.h"

namespace heddle {

/// All arguments must outlive the source. `compensated` holds codes that are already chosen,
/// `noted` inspects the tensors that are read; both may be null.
ParameterSource parameterSource(const ImportedModel &model,
                                const CompensatedValues *compensated = nullptr,
                                NonFiniteWeights *noted = nullptr);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H
