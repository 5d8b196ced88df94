// SPDX-License-Identifier: Apache-2.0
///
/// Signal handling for programs that write files. A signal that ends the program leaves no
/// unfinished file, and the parent process sees which signal it was.
#ifndef HEDDLE_BASE_SIGNALS_H
#define HEDDLE_BASE_SIGNALS_H

namespace heddle {

/// For main(). Makes SIGINT, SIGTERM, SIGHUP, SIGXCPU and similar signals end the process through
/// endBySignal(). Ignored signals stay ignored, as `nohup` needs, and existing handlers stay, such
/// as a profiler's. A broken pipe and a file above its size limit become ordinary write errors.
void handleSignals();

/// Installs `handler` for a signal that would otherwise reach endBySignal(); other signals stay
/// unchanged. Blocking system calls are interrupted.
void replaceHandler(int signal, void (*handler)(int));

/// Removes partial files and ends the process by the signal. An exit code would tell a shell that
/// the program handled the signal, and a shell loop would continue after Ctrl-C. Safe in signal
/// handlers.
[[noreturn]] void endBySignal(int signal) noexcept;

} // namespace heddle

#endif // HEDDLE_BASE_SIGNALS_H
