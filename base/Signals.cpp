// SPDX-License-Identifier: Apache-2.0
///
/// Signal handlers, and the end of the process.
#include "base/Signals.h"

#include "base/PartialNames.h"

#include <csignal>
#include <unistd.h>

namespace heddle {

/// All signals that end a process, except those of a crash.
static constexpr int ending[] = {SIGINT,  SIGTERM, SIGHUP,    SIGXCPU, SIGQUIT,
                                 SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2};

using Handler = void (*)(int);

static void endHandler(int signal) { endBySignal(signal); }

static Handler handlerOf(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 ? action.sa_handler : SIG_IGN;
}

/// Without SA_RESTART, so that blocking system calls are interrupted.
static void handle(int signal, Handler handler) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

void handleSignals() {
  for (const int signal : ending) {
    if (handlerOf(signal) == SIG_DFL) {
      handle(signal, endHandler);
    }
  }
  handle(SIGPIPE, SIG_IGN);
  handle(SIGXFSZ, SIG_IGN);
}

void replaceHandler(int signal, Handler handler) {
  if (handlerOf(signal) == endHandler) {
    handle(signal, handler);
  }
}

void endBySignal(int signal) noexcept {
  removePartialFiles();
  handle(signal, SIG_DFL);
  // A signal is blocked while its handler runs.
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

} // namespace heddle
