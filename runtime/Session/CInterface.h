// SPDX-License-Identifier: Apache-2.0
///
/// Shared by the files that implement heddle.h: its objects, and the conversion of a Status to an
/// error.
#ifndef HEDDLE_RUNTIME_SESSION_CINTERFACE_H
#define HEDDLE_RUNTIME_SESSION_CINTERFACE_H

#include "heddle/Session.h"
#include "heddle/heddle.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

struct heddle_error {
  heddle::Status status;
  std::string message;
};

struct heddle_model {
  heddle::Model model;
};

struct heddle_session {
  heddle::Session session;
};

namespace heddle {

/// Returns the error that is used if no error can be allocated.
heddle_error *outOfMemoryError();

/// Runs `function`, which returns a Status, and converts that to an error for the caller.
template <typename Function> heddle_error *guarded(const Function &function) {
  try {
    const Status status = function();
    return status.ok() ? nullptr : new heddle_error{status, std::string(status.message())};
  } catch (const std::bad_alloc &) {
    return outOfMemoryError();
  } catch (const std::length_error &) {
    return outOfMemoryError();
  }
}

/// Returns the failure for a required pointer that is null.
Status missingPointer(const char *name);

/// Checks an array of the caller: it may be null only if it is empty.
Status checkArray(const char *name, const void *values, const char *countName, int64_t count);

/// Copies the caller's options, which may be of an older and shorter version, over the defaults.
template <typename Options> Options optionsOr(const Options *given, Options defaults) {
  if (given != nullptr) {
    std::memcpy(&defaults, given, std::min(given->struct_size, sizeof defaults));
  }
  return defaults;
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CINTERFACE_H
