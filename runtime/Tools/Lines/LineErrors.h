// SPDX-License-Identifier: Apache-2.0
///
/// What happens to a line that cannot be used, the same in every command: either it is answered
/// with its error and the run goes on, or the run ends before it. However a run ends, the answers
/// of the lines before are kept.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_LINEERRORS_H
#define HEDDLE_RUNTIME_TOOLS_LINES_LINEERRORS_H

#include "heddle/Status.h"
#include "runtime/Tools/Lines/OutputStream.h"

#include <cstdint>
#include <string>

namespace heddle::tools {

/// --on-error.
enum class OnError { Continue, Stop };

/// Counts the lines of one run that failed.
class LineErrors {
public:
  /// `input` is what messages call the lines.
  LineErrors(OnError policy, std::string input) : policy(policy), input(std::move(input)) {}

  /// A line failed: says so on standard error, or keeps it as what ends the run. Answers whether
  /// the line is to be answered with its error and the run goes on.
  bool goOn(const Status &failure);

  /// Whether a line has ended the run.
  bool stopped() const { return !stop.ok(); }

  /// Ends a run of so many lines, `failure` being what else went wrong. Without any, the output is
  /// finished; else, or after a signal, what is written of it is kept where `keeps`, and the
  /// message says where. The answer is a failure if there was one, and if lines failed.
  Status finish(OutputStream &output, int64_t lines, const Status &failure = {}, bool keeps = true);
  /// The same for a run without an output of its own.
  Status finish(int64_t lines) const;

private:
  OnError policy;
  std::string input;
  int64_t failed = 0;
  Status stop;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_LINEERRORS_H
