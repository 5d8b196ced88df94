// SPDX-License-Identifier: Apache-2.0
///
/// What the first signal does to a command that answers lines: it finishes the one it writes, and
/// the process dies of the signal after that. A reader that goes away is noted, so that it is no
/// error.
#ifndef HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H
#define HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H

#include <string>

namespace heddle::tools {

/// From now on the first SIGINT, SIGTERM, SIGHUP or SIGXCPU is only noted; a second one ends the
/// process.
void noteInterruptions();

/// The signal that was noted, or 0.
int interruption();
/// Whether one came.
inline bool interrupted() { return interruption() != 0; }
/// Its name, for example "SIGINT".
std::string interruptionName();

/// Notes that nobody reads standard output any more. Other pipes do not count: an error that comes
/// after a lost message is still one.
void noteReaderLeft();
/// Whether that was noted.
bool readerHasLeft();

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H
