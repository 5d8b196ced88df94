// SPDX-License-Identifier: Apache-2.0
///
/// A progress line on standard error: only on a terminal, only after the first second, and erased
/// when the work is done.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H
#define HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H

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

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_PROGRESS_H
