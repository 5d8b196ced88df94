// SPDX-License-Identifier: Apache-2.0
///
/// Failures as Python exceptions. Heddle answers a Status; here, at the border, it is thrown, and
/// becomes the class of heddle/_errors.py for its code.
#ifndef HEDDLE_PYTHON_ERRORS_H
#define HEDDLE_PYTHON_ERRORS_H

#include "heddle/Status.h"

#include <exception>
#include <string>
#include <utility>

namespace heddle::python {

/// A failed Status on its way to Python. A wrong type is a TypeError there.
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

/// Throws a status that is no success.
inline void check(const Status &status) {
  if (!status.ok()) {
    throw Failure(status);
  }
}

/// The value of a result, or its failure thrown.
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

/// From now on failures become exceptions of Python.
void translateFailures();

/// Throws KeyboardInterrupt, or whatever a handler of signals raises, if one has come. Needs the
/// interpreter's lock.
void checkSignals();

} // namespace heddle::python

#endif // HEDDLE_PYTHON_ERRORS_H
