// SPDX-License-Identifier: Apache-2.0
///
/// What the parameters of a model are evaluated from: its checkpoint.
#ifndef HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H
#define HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H

#include "compiler/Driver/NonFiniteWeights.h"
#include "compiler/Link/Parameters.h"
#include "frontend/Import/Import.h"

namespace heddle {

/// All must outlive the source. `compensated` has codes that are chosen already, `noted` sees what
/// is read; both may be null.
ParameterSource parameterSource(const ImportedModel &model,
                                const CompensatedValues *compensated = nullptr,
                                NonFiniteWeights *noted = nullptr);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_MODELPARAMETERS_H
