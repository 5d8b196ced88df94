// SPDX-License-Identifier: Apache-2.0
///
/// Counts failed lines, and reports them when the run ends.
#include "runtime/Tools/Lines/LineErrors.h"

#include "runtime/Tools/Lines/Interruption.h"
#include "runtime/Tools/Lines/Progress.h"

#include <fmt/format.h>

namespace heddle::tools {

bool LineErrors::goOn(const Status &failure) {
  if (policy == OnError::Stop) {
    stop = failure;
    return false;
  }
  ++failed;
  sayAboveProgress(fmt::format("heddle: {}\n", failure.message()));
  return true;
}

Status LineErrors::finish(int64_t lines) const {
  if (failed == 0) {
    return {};
  }
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: {} of {} {} could not be used", input,
                                                   failed, lines, lines == 1 ? "line" : "lines"));
}

Status LineErrors::finish(OutputStream &output, int64_t lines, const Status &failure, bool keeps) {
  const Status first = stopped() ? stop : failure;
  if (first.ok() && !interrupted()) {
    HEDDLE_TRY(output.finish());
    return finish(lines);
  }
  const bool wasFile = output.isFile();
  std::string kept;
  if (keeps) {
    const Result<std::optional<std::string>> place = output.keep();
    if (!place.ok()) {
      kept = fmt::format("; {}", place.status().message());
    } else if (*place) {
      kept = fmt::format("; answers so far are in {}", **place);
    }
  }
  if (!first.ok()) {
    return Status(first.code(), std::string(first.message()) + kept);
  }
  // Whoever reads along has seen what there is.
  return !wasFile ? Status()
                  : HEDDLE_ERROR(InvalidArgument,
                                 fmt::format("{}: ended by {}{}", input, interruptionName(),
                                             kept.empty() ? "; nothing was written" : kept));
}

} // namespace heddle::tools
