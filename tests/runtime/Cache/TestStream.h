// SPDX-License-Identifier: Apache-2.0
///
/// The stream with which pools of tests copy: one lane that lives as long as the program.
#ifndef HEDDLE_TESTS_RUNTIME_CACHE_TESTSTREAM_H
#define HEDDLE_TESTS_RUNTIME_CACHE_TESTSTREAM_H

#include "runtime/Device/Device.h"

namespace heddle {

inline DeviceStream &testStream() {
  static const std::unique_ptr<DeviceStream> stream = *hostDevice()->createStream(1);
  return *stream;
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_CACHE_TESTSTREAM_H
