// SPDX-License-Identifier: Apache-2.0
///
/// Lets a command that answers lines finish the line it is writing when the first signal comes; the
/// process then dies of that signal. Also notes when the reader of the output goes away, which is
/// no error.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_INTERRUPTION_H
#define HEDDLE_RUNTIME_TOOLS_LINES_INTERRUPTION_H

#include <string>

namespace heddle::tools {

/// From now on the first SIGINT, SIGTERM, SIGHUP or SIGXCPU is only noted; a second one ends the
/// process.
void noteInterruptions();

/// The signal that was noted, or 0.
int interruption();
/// Whether there was one.
inline bool interrupted() { return interruption() != 0; }
/// Its name, for example "SIGINT".
std::string interruptionName();

/// Notes that nobody reads standard output any more. Other pipes do not count: an error that comes
/// after a lost message is still one.
void noteReaderLeft();
/// Whether that was noted.
bool readerHasLeft();

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_INTERRUPTION_H
