// SPDX-License-Identifier: Apache-2.0
///
/// Converts failures to Python exceptions. Heddle returns a Status; at this boundary it is thrown,
/// and becomes the class in heddle/_errors.py for its code.
#ifndef HEDDLE_PYTHON_ERRORS_H
#define HEDDLE_PYTHON_ERRORS_H

#include "heddle/Status.h"

#include <exception>
#include <string>
#include <utility>

namespace heddle::python {

/// A failed Status that is being thrown to Python. A wrong type becomes a TypeError.
class Failure : public std::exception {
public:
  explicit Failure(Status status, bool wrongType = false)
      : failed(std::move(status)), isType(wrongType) {}

  const char *what() const noexcept override { return "a call of Heddle failed"; }
  const Status &status() const { return failed; }
  bool wrongType() const { return isType; }

private:
  Status failed;
  bool isType;
};

/// Throws a status that is not a success.
inline void check(const Status &status) {
  if (!status.ok()) {
    throw Failure(status);
  }
}

/// Returns the value of a result, or throws its failure.
template <typename T> T take(Result<T> result) {
  if (!result.ok()) {
    throw Failure(result.status());
  }
  return *std::move(result);
}

[[noreturn]] inline void invalid(std::string message) {
  throw Failure(HEDDLE_ERROR(InvalidArgument, std::move(message)));
}

[[noreturn]] inline void wrongType(std::string message) {
  throw Failure(HEDDLE_ERROR(InvalidArgument, std::move(message)), true);
}

/// Registers the translation of failures to Python exceptions.
void translateFailures();

/// Throws KeyboardInterrupt, or the exception that a signal handler raises, if a signal has
/// arrived. Requires the GIL.
void checkSignals();

} // namespace heddle::python

#endif // HEDDLE_PYTHON_ERRORS_H
