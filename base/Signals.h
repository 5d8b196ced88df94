// SPDX-License-Identifier: Apache-2.0
///
/// What signals do to a program that writes files, the same in every program: one that ends it
/// leaves nothing of an unfinished file, and whoever started it sees which signal that was.
#ifndef HEDDLE_BASE_SIGNALS_H
#define HEDDLE_BASE_SIGNALS_H

namespace heddle {

/// From now on SIGINT, SIGTERM, SIGHUP, SIGXCPU and the like end the process by way of
/// endBySignal(). Signals that are ignored stay so, as `nohup` wants it, and so do those that
/// somebody else handles, as a profiler does. A pipe that nobody reads, and a file above its limit,
/// are errors of writing as any other. For main().
void handleSignals();

/// Has `handler` called for a signal that would end the process by way of endBySignal(); any other
/// stays as it is. System calls that wait are cut short.
void replaceHandler(int signal, void (*handler)(int));

/// Removes partial files and dies of the signal: an exit code would tell a shell that the program
/// coped with it, and a loop would go on after Ctrl-C. It may be called from a handler.
[[noreturn]] void endBySignal(int signal) noexcept;

} // namespace heddle

#endif // HEDDLE_BASE_SIGNALS_H
