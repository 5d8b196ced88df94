// SPDX-License-Identifier: Apache-2.0
///
/// The emulated streams: lists of work that is done when somebody waits for it.
#ifndef HEDDLE_TESTS_EMULATOR_STREAMS_H
#define HEDDLE_TESTS_EMULATOR_STREAMS_H

#include <functional>
#include <string>
#include <vector>

namespace heddle::emulator {

/// Answers a code.
using Work = std::function<int()>;

/// Adds work to a stream, or to the default stream. The code of `function` if there is no such
/// stream.
int addTo(void *stream, const char *function, Work work);
int addToDefault(Work work);

/// Records what a stream is told instead of doing it, until the end. Only launches may be told, and
/// the thread may call nothing else meanwhile.
int beginRecording(void *stream);
int endRecording(void *stream, std::vector<Work> &launches);

/// Does all work of all streams.
void finishAllStreams();

/// "1 streams"; empty if all was given back.
std::string describeStreams();
/// The same of graphs.
std::string describeGraphs();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_STREAMS_H
