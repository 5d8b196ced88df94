// SPDX-License-Identifier: Apache-2.0
///
/// Signal handling for programs that write files. A signal that ends the program leaves no
/// unfinished file, and the parent process sees which signal it was.
#ifndef HEDDLE_BASE_SIGNALS_H
#define HEDDLE_BASE_SIGNALS_H

namespace heddle {

/// For main(). From now on SIGINT, SIGTERM, SIGHUP, SIGXCPU and the like end the process through
/// endBySignal(). Signals that are ignored stay ignored, as `nohup` needs, and existing handlers
/// stay, such as a profiler's. A broken pipe and a file above its size limit become ordinary write
/// errors.
void handleSignals();

/// Installs `handler` for a signal that would otherwise reach endBySignal(); other signals stay as
/// they are. Blocking system calls are interrupted.
void replaceHandler(int signal, void (*handler)(int));

/// Removes partial files and dies of the signal. An exit code instead would tell a shell that the
/// program coped, and a shell loop would go on after Ctrl-C. Safe in signal handlers.
[[noreturn]] void endBySignal(int signal) noexcept;

} // namespace heddle

#endif // HEDDLE_BASE_SIGNALS_H
