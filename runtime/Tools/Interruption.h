// SPDX-License-Identifier: Apache-2.0
///
/// Ctrl-C, for commands that then finish the line they write and go.
#ifndef HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H
#define HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H

namespace heddle::tools {

/// From now on the first SIGINT or SIGTERM is only noted; a second one ends the process as usual.
void noteInterruptions();

/// Whether one came.
bool interrupted();

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INTERRUPTION_H
