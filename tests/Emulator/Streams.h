// SPDX-License-Identifier: Apache-2.0
///
/// The emulated streams: lists of work that is done when somebody waits for it.
#ifndef HEDDLE_TESTS_EMULATOR_STREAMS_H
#define HEDDLE_TESTS_EMULATOR_STREAMS_H

#include <functional>
#include <string>

namespace heddle::emulator {

/// Answers a code.
using Work = std::function<int()>;

/// Adds work to a stream, or to the default stream. The code of `function` if there is no such
/// stream.
int addTo(void *stream, const char *function, Work work);
int addToDefault(Work work);

/// Does all work of all streams.
void finishAllStreams();

/// "1 streams"; empty if all was given back.
std::string describeStreams();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_STREAMS_H
