// SPDX-License-Identifier: Apache-2.0
///
/// How long running answers wait while others arrive: what `heddle bench --beside` measures.
#ifndef HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H
#define HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H

#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Measure/Workload.h"

namespace heddle::tools {

/// Medians over the runs.
struct Arrivals {
  /// Seconds until all sentences of the case have their first token.
  RunTimes firstToken;
  /// Seconds of a step of the running answers alone.
  double step = 0;
  /// Seconds of the longest step while the case is on its way.
  double longestStep = 0;
};

/// Fails as an option does where the model has too few positions for answers that last until the
/// sentences of a case have their first tokens.
Status checkArrivals(const CaseWork &work, const BenchOptions &options, const GenerationCase &each);

/// The sentences of a case arrive while `options.beside` greedy answers run, with the bounds on
/// prompts that every Generator has.
Result<Arrivals> measureArrivals(const Model &model, const BenchOptions &options,
                                 const GenerationCase &each);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H
