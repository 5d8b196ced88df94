// SPDX-License-Identifier: Apache-2.0
///
/// Reading what `heddle analyze --output FILE.json` writes:
///
///   {"model": "...", "theta": 0.3 or null, "sentences": 100, "positions": 2400,
///    "kinds": [{"kind": "encoder", "layers": ["encoder.layers.0.self_attention", ...],
///               "divergence": [[0.0, ...], ...], "policy": [1, 5] or null}]}
#ifndef HEDDLE_COMPILER_TOOLS_ANALYSISFILE_H
#define HEDDLE_COMPILER_TOOLS_ANALYSISFILE_H

#include "compiler/Report/Analysis.h"

#include <string>

namespace heddle {

/// Reads and checks a file; messages say what is wrong and where.
Result<Analysis> readAnalysis(const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_TOOLS_ANALYSISFILE_H
