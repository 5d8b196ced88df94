// SPDX-License-Identifier: Apache-2.0
///
/// Writes to standard output or to an atomic file; installs signal handlers that set a flag.
#include "runtime/Tools/Lines/OutputStream.h"

#include "base/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace heddle::tools {

/// Signals after which a command may finish the current line. SIGQUIT ends the process at once with
/// a core dump, as intended.
static constexpr int finishing[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};

/// Any thread may run the handler, and another thread reads the flag.
static std::atomic<int> signalNoted = 0;
static std::atomic<int> readerLeft = 0;
static_assert(std::atomic<int>::is_always_lock_free);

static void noteSignal(int signal) {
  int none = 0;
  if (!signalNoted.compare_exchange_strong(none, signal)) {
    endBySignal(signal);
  }
}

void noteInterruptions() {
  for (const int signal : finishing) {
    replaceHandler(signal, noteSignal);
  }
}

int interruption() { return signalNoted; }

void forgetInterruption() { signalNoted = 0; }

std::string interruptionName() {
  const char *const name = ::sigabbrev_np(interruption());
  return name == nullptr ? "a signal" : std::string("SIG") + name;
}

void noteReaderLeft() { readerLeft = 1; }

bool readerHasLeft() { return readerLeft != 0; }

Result<OutputStream> OutputStream::open(const std::string &path) {
  if (path == "-") {
    return standard();
  }
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(path));
  return OutputStream(std::move(file));
}

Status OutputStream::write(std::string_view bytes) {
  if (file) {
    const Status status = file->write(bytes);
    failed = failed || !status.ok();
    // For example /dev/stdout, or a named pipe.
    if (file->hasLostReader()) {
      noteReaderLeft();
    }
    hasContent = hasContent || !bytes.empty();
    return status;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      const int error = errno;
      if (error == EPIPE) {
        noteReaderLeft();
      }
      return HEDDLE_ERROR(InputOutput, fmt::format("standard output: cannot write: {}",
                                                   std::generic_category().message(error)));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status OutputStream::finish() {
  if (file) {
    return file->commit();
  }
  // Nothing is buffered here; a network file system may still report a full disk on closing.
  if (::close(::dup(STDOUT_FILENO)) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("standard output: cannot close: {}",
                                                 std::generic_category().message(errno)));
  }
  return {};
}

Result<std::optional<std::string>> OutputStream::keep() {
  if (!file || !hasContent || failed) {
    file.reset();
    return std::optional<std::string>();
  }
  HEDDLE_ASSIGN(std::string name, file->keepPartial());
  return name.empty() ? std::optional<std::string>() : std::optional(std::move(name));
}

} // namespace heddle::tools
