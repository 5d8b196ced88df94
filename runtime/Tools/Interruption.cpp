// SPDX-License-Identifier: Apache-2.0
///
/// Handlers of signals: flags, and the end of the process.
#include "runtime/Tools/Interruption.h"

#include "runtime/Base/AtomicFile.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace heddle::tools {

/// Signals after which a command may finish the line it writes, and all that end a process but are
/// no crash. SIGQUIT ends at once and leaves a core, which is what it is for.
static constexpr int finishing[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
static constexpr int ending[] = {SIGINT,  SIGTERM, SIGHUP,    SIGXCPU, SIGQUIT,
                                 SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2};

static volatile std::sig_atomic_t signalNoted = 0;
static bool readerLeft = false;

static void endProcess(int signal) {
  removePartialFiles();
  if (signal == SIGQUIT) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  ::_exit(128 + signal);
}

static void noteSignal(int signal) {
  if (signalNoted != 0) {
    endProcess(signal);
  }
  signalNoted = signal;
}

using Handler = void (*)(int);

/// System calls that wait are cut short.
static void handle(int signal, Handler handler) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

static Handler handlerOf(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 ? action.sa_handler : SIG_IGN;
}

void handleSignals() {
  for (const int signal : ending) {
    // Neither what is ignored nor what somebody else handles, as a profiler does.
    if (handlerOf(signal) == SIG_DFL) {
      handle(signal, endProcess);
    }
  }
  // A pipe that nobody reads, and a file above its limit, are errors of writing as any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void noteInterruptions() {
  for (const int signal : finishing) {
    if (handlerOf(signal) == endProcess) {
      handle(signal, noteSignal);
    }
  }
}

int interruption() { return signalNoted; }

std::string interruptionName() {
  const char *const name = ::sigabbrev_np(interruption());
  return name == nullptr ? "a signal" : std::string("SIG") + name;
}

void noteReaderLeft() { readerLeft = true; }

bool readerHasLeft() { return readerLeft; }

} // namespace heddle::tools
