// SPDX-License-Identifier: Apache-2.0
///
/// What the files that implement heddle.h share: its objects, and how an outcome becomes an error.
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

/// What is answered when not even an error can be allocated.
heddle_error *outOfMemoryError();

/// Runs `function`, which answers a Status, and makes it the caller's error.
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

/// A required pointer is null.
Status missingPointer(const char *name);

/// An array of the caller's: may be null only when it is empty.
Status checkArray(const char *name, const void *values, const char *countName, int64_t count);

/// Copies the caller's options, which may be older and shorter than ours, over the defaults.
template <typename Options> Options optionsOr(const Options *given, Options defaults) {
  if (given != nullptr) {
    std::memcpy(&defaults, given, std::min(given->struct_size, sizeof defaults));
  }
  return defaults;
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CINTERFACE_H
