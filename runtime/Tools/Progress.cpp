// SPDX-License-Identifier: Apache-2.0
///
/// The progress line.
#include "runtime/Tools/Progress.h"

#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace heddle::tools {

static constexpr std::chrono::milliseconds firstLine{1000};
static constexpr std::chrono::milliseconds betweenLines{200};
// Back to the first column, and erase what was there.
static constexpr std::string_view eraseLine = "\r\x1b[K";

static void writeToStandardError(std::string_view text) {
  // A progress line that is lost is no loss.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
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

void Progress::update(int64_t done, std::optional<int64_t> total) {
  if (!write) {
    return;
  }
  const Clock::time_point time = now();
  if (time < nextLine) {
    return;
  }
  const double seconds = std::chrono::duration<double>(time - start).count();
  const std::string whole = total ? fmt::format(" of {}", *total) : std::string();
  write(fmt::format("{}{}{} {}, {:.0f} {} a second", eraseLine, done, whole, unit,
                    static_cast<double>(done) / seconds, unit));
  shown = true;
  nextLine = time + betweenLines;
}

} // namespace heddle::tools
