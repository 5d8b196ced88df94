// SPDX-License-Identifier: Apache-2.0
///
/// Messages on standard error of a command that reads lines: a progress line, and the lines that
/// could not be used. The progress line is only shown on a terminal, after the first second, and
/// erased when the work is done.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H
#define HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H

#include "heddle/Status.h"
#include "runtime/Tools/Lines/OutputStream.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Writes a message to standard error, replacing a progress line that is shown there.
void sayAboveProgress(std::string_view lines);

/// Shows a count that grows. The line is erased by the destructor.
class Progress {
public:
  using Clock = std::chrono::steady_clock;

  /// `unit` names the counted items, in the plural. `quiet` disables the line.
  Progress(std::string_view unit, bool quiet);
  /// As above, with another clock and output function; an empty `write` disables the line.
  Progress(std::string_view unit, std::function<Clock::time_point()> now,
           std::function<void(std::string_view)> write);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Shows `done` of `total`, if the total is known. Cheap: at most five lines a second are
  /// written.
  void update(int64_t done, std::optional<int64_t> total);
  /// As above, with a bar and the remaining time, if the total is known, and the speed in `tokens`.
  void update(int64_t done, std::optional<int64_t> total, int64_t tokens);

private:
  void show(std::string_view line);
  /// Returns the seconds since the start if it is time for a line.
  std::optional<double> due() const;

  std::string unit;
  std::function<Clock::time_point()> now;
  std::function<void(std::string_view)> write;
  Clock::time_point start;
  Clock::time_point nextLine;
  bool shown = false;
};

/// The values of --on-error.
enum class OnError { Continue, Stop };

/// Counts the lines of one run that failed.
class LineErrors {
public:
  /// `input` is the name of the lines in messages.
  LineErrors(OnError policy, std::string input) : policy(policy), input(std::move(input)) {}

  /// Handles a failed line: reports it on standard error, or stores it as the failure that ends the
  /// run. Returns whether the line is answered with its error and the run continues.
  bool goOn(const Status &failure);

  /// Return whether a line has ended the run, and the failure of that line.
  bool stopped() const { return !stop.ok(); }
  const Status &failure() const { return stop; }

  /// Ends a run of `lines` lines; `failure` is any other failure. On success the output is
  /// finished; after a failure or a signal, the partial output is kept if `keeps`, and the message
  /// names its place. Returns a failure if there was one, or if lines failed.
  Status finish(OutputStream &output, int64_t lines, const Status &failure = {}, bool keeps = true);
  /// As above, for a run without its own output.
  Status finish(int64_t lines) const;

private:
  OnError policy;
  std::string input;
  int64_t failed = 0;
  Status stop;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H
