// SPDX-License-Identifier: Apache-2.0
///
/// A flag that a signal handler sets.
#include "runtime/Tools/Interruption.h"

#include <csignal>

namespace heddle::tools {

static volatile std::sig_atomic_t signalCame = 0;

static void noteSignal(int) { signalCame = 1; }

void noteInterruptions() {
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  // The second signal does what it always does; system calls that wait are cut short.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signalCame != 0; }

} // namespace heddle::tools
