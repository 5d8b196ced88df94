// SPDX-License-Identifier: Apache-2.0
///
/// What a command that reads lines says on standard error: a progress line, and lines that could
/// not be used. The progress line is only shown on a terminal, after the first second, and erased
/// when the work is done.
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

/// Writes a message to standard error, in place of a progress line that is shown there.
void sayAboveProgress(std::string_view lines);

/// Shows a count that grows. The line is erased by the destructor.
class Progress {
public:
  using Clock = std::chrono::steady_clock;

  /// `unit` names what is counted, in the plural. `quiet` switches the line off.
  Progress(std::string_view unit, bool quiet);
  /// The same with another clock and another place to write to; empty `write` is quiet.
  Progress(std::string_view unit, std::function<Clock::time_point()> now,
           std::function<void(std::string_view)> write);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// `done` of `total`, where the total is known. Cheap: at most five lines a second are written.
  void update(int64_t done, std::optional<int64_t> total);
  /// The same with a bar and the time that is left, where the total is known, and the speed in
  /// `tokens`.
  void update(int64_t done, std::optional<int64_t> total, int64_t tokens);

private:
  void show(std::string_view line);
  /// Seconds since the start, when it is time for a line.
  std::optional<double> due() const;

  std::string unit;
  std::function<Clock::time_point()> now;
  std::function<void(std::string_view)> write;
  Clock::time_point start;
  Clock::time_point nextLine;
  bool shown = false;
};

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

  /// Whether a line has ended the run, and that line's failure.
  bool stopped() const { return !stop.ok(); }
  const Status &failure() const { return stop; }

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

#endif // HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H
