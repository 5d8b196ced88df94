// SPDX-License-Identifier: Apache-2.0
///
/// heddle bench: the speed of one entry, or of generation, as JSON lines.
#ifndef HEDDLE_RUNTIME_TOOLS_BENCH_BENCHCOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_BENCH_BENCHCOMMAND_H

#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct BenchOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// A file with one sentence length a line; empty: none.
  std::string lengths;
  /// Also the time of every kernel, and the bandwidth of the memory.
  bool roofline = false;
  /// Also the time of every dispatch.
  bool profile = false;
  /// The number of tokens that may come in `cases`, those with the lowest ids; 0: all.
  int32_t shortlist = 0;
  /// Runs to time; 0: as many as a stable median takes.
  int64_t runs = 0;
};
void declare(OptionList &list, BenchOptions &options);
Status execute(const BenchOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_BENCH_BENCHCOMMAND_H
