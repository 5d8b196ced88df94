// SPDX-License-Identifier: Apache-2.0
///
/// Measures how long running answers wait while others arrive, for `heddle bench --beside`.
#ifndef HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H
#define HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H

#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Measure/Workload.h"

namespace heddle::tools {

/// Medians over the runs.
struct Arrivals {
  /// The seconds until all sentences of the case have their first token.
  RunTimes firstToken;
  /// The seconds of a step of the running answers alone.
  double step = 0;
  /// The seconds of the longest step while the case is being started.
  double longestStep = 0;
};

/// Checks that the model has enough positions for answers that last until the sentences of a case
/// have their first tokens; otherwise an option error.
Status checkArrivals(const CaseWork &work, const BenchOptions &options, const GenerationCase &each);

/// Measures the arrival of a case's sentences while `options.beside` greedy answers run, with the
/// default prompt limits of a Generator.
Result<Arrivals> measureArrivals(const Model &model, const BenchOptions &options,
                                 const GenerationCase &each);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_BENCH_ARRIVALS_H
