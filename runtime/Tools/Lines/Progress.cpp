// SPDX-License-Identifier: Apache-2.0
///
/// Formats the progress line and decides when to show it; counts failed lines.
#include "runtime/Tools/Lines/Progress.h"

#include "runtime/Tools/Lines/OutputStream.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace heddle::tools {

static constexpr std::chrono::milliseconds firstLine{1000};
static constexpr std::chrono::milliseconds betweenLines{200};
// Returns to the first column and erases the line.
static constexpr std::string_view eraseLine = "\r\x1b[K";

static void writeToStandardError(std::string_view text) {
  // A failure to write the progress line is ignored.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void sayAboveProgress(std::string_view lines) {
  writeToStandardError(::isatty(STDERR_FILENO) == 0 ? std::string(lines)
                                                    : fmt::format("{}{}", eraseLine, lines));
}

Progress::Progress(std::string_view unit, bool quiet)
    : Progress(unit, &Clock::now,
               quiet || ::isatty(STDERR_FILENO) == 0
                   ? std::function<void(std::string_view)>()
                   : std::function<void(std::string_view)>(&writeToStandardError)) {}

Progress::Progress(std::string_view unit, std::function<Clock::time_point()> now,
                   std::function<void(std::string_view)> write)
    : unit(unit), now(std::move(now)), write(std::move(write)), start(this->now()),
      nextLine(start + firstLine) {}

Progress::~Progress() {
  if (shown) {
    write(eraseLine);
  }
}

std::optional<double> Progress::due() const {
  const Clock::time_point time = write ? now() : Clock::time_point();
  if (!write || time < nextLine) {
    return std::nullopt;
  }
  return std::chrono::duration<double>(time - start).count();
}

void Progress::show(std::string_view line) {
  write(fmt::format("{}{}", eraseLine, line));
  shown = true;
  nextLine = now() + betweenLines;
}

static std::string describeCount(int64_t done, std::optional<int64_t> total) {
  return total ? fmt::format("{} of {}", done, *total) : fmt::format("{}", done);
}

void Progress::update(int64_t done, std::optional<int64_t> total) {
  if (const std::optional<double> seconds = due()) {
    show(fmt::format("{} {}, {:.0f} {} a second", describeCount(done, total), unit,
                     static_cast<double>(done) / *seconds, unit));
  }
}

void Progress::update(int64_t done, std::optional<int64_t> total, int64_t tokens) {
  const std::optional<double> seconds = due();
  if (!seconds) {
    return;
  }
  std::string line = fmt::format("{} {}, {:.0f} tokens a second", describeCount(done, total), unit,
                                 static_cast<double>(tokens) / *seconds);
  if (total && *total > 0) {
    constexpr int64_t width = 24;
    const int64_t filled = std::clamp<int64_t>(done * width / *total, 0, width);
    line = fmt::format("[{:=<{}}{: <{}}] {}", "", filled, "", width - filled, line);
  }
  if (total && done > 0 && done <= *total) {
    const auto left = static_cast<int64_t>(*seconds * static_cast<double>(*total - done) /
                                           static_cast<double>(done));
    line += fmt::format(", {}:{:02} left", left / 60, left % 60);
  }
  show(line);
}

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
  // The reader of a stream has already seen the partial output.
  return !wasFile ? Status()
                  : HEDDLE_ERROR(InvalidArgument,
                                 fmt::format("{}: ended by {}{}", input, interruptionName(),
                                             kept.empty() ? "; nothing was written" : kept));
}

} // namespace heddle::tools
