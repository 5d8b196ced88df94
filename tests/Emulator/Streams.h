// SPDX-License-Identifier: Apache-2.0
///
/// Emulated streams: queues of work that is done when the host waits for it.
#ifndef HEDDLE_TESTS_EMULATOR_STREAMS_H
#define HEDDLE_TESTS_EMULATOR_STREAMS_H

#include <functional>
#include <string>
#include <vector>

namespace heddle::emulator {

/// Returns a code of CUresult.
using Work = std::function<int()>;

/// Adds work to a stream, or to the default stream. Returns the error code of `function` if there
/// is no such stream.
int addTo(void *stream, const char *function, Work work);
int addToDefault(Work work);

/// Captures the launches added to a stream instead of doing them, until the capture ends. The
/// thread may make no other calls meanwhile.
int beginRecording(void *stream);
int endRecording(void *stream, std::vector<Work> &launches);

/// Does all work of all streams.
void finishAllStreams();

/// Returns for example "1 streams"; empty if all were released.
std::string describeStreams();
/// Does the same for graphs.
std::string describeGraphs();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_STREAMS_H
