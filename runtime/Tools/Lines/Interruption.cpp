// SPDX-License-Identifier: Apache-2.0
///
/// Signal handlers that set a flag.
#include "runtime/Tools/Lines/Interruption.h"

#include "base/Signals.h"

#include <atomic>
#include <csignal>
#include <cstring>

namespace heddle::tools {

/// Signals after which a command may finish the line it writes. SIGQUIT ends at once and leaves a
/// core, which is what it is for.
static constexpr int finishing[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};

/// Any thread may run the handler, and another one looks.
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

std::string interruptionName() {
  const char *const name = ::sigabbrev_np(interruption());
  return name == nullptr ? "a signal" : std::string("SIG") + name;
}

void noteReaderLeft() { readerLeft = 1; }

bool readerHasLeft() { return readerLeft != 0; }

} // namespace heddle::tools
