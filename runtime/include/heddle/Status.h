// SPDX-License-Identifier: Apache-2.0
///
/// Status and Result, the return types of every call that can fail. Heddle never throws. A failure
/// carries a code, a message (what was found, what was expected, where) and the source line that
/// reported it. Check ok() first: reading the value of a failed Result aborts the program with the
/// failure's message.
///
/// Messages: lower case, no full stop, the observed value before the expected one, names in quotes.
#ifndef HEDDLE_STATUS_H
#define HEDDLE_STATUS_H

#if __cplusplus < 202002L
#error "Heddle's C++ interface needs C++20, as with -std=c++20 or CMAKE_CXX_STANDARD 20"
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace heddle {

/// The kinds of failure; the C interface and exit codes use the same list.
enum class StatusCode : int32_t {
#define HEDDLE_STATUS(Name, value, text) Name = value,
#include "heddle/Status.def"
};

/// Returns the name of a code as messages print it, for example "invalid argument".
constexpr std::string_view statusCodeName(StatusCode code) {
  switch (code) {
#define HEDDLE_STATUS(Name, value, text)                                                           \
  case StatusCode::Name:                                                                           \
    return text;
#include "heddle/Status.def"
  }
  return "unknown";
}

/// Success (one null pointer, no allocation) or a failure with its message.
class [[nodiscard]] Status {
public:
  Status() = default;

  /// Creates a failure. HEDDLE_ERROR fills in `file` and `line`.
  Status(StatusCode code, std::string message, const char *file = "", int line = 0)
      : failure(std::make_shared<const Failure>(Failure{code, std::move(message), file, line})) {}

  bool ok() const { return failure == nullptr; }
  explicit operator bool() const = delete;
  StatusCode code() const { return failure ? failure->code : StatusCode::Ok; }
  /// Returns the message for the user; empty on success.
  std::string_view message() const { return failure ? std::string_view(failure->message) : ""; }
  /// Return the place in Heddle's sources that reported the failure.
  std::string_view file() const { return failure ? failure->file : ""; }
  int line() const { return failure ? failure->line : 0; }

  /// Returns the failure with "context: " prepended to its message; success stays success.
  Status annotate(std::string_view context) const {
    if (ok()) {
      return *this;
    }
    return Status(failure->code, std::string(context) + ": " + failure->message, failure->file,
                  failure->line);
  }

private:
  struct Failure {
    StatusCode code;
    std::string message;
    const char *file;
    int line;
  };
  std::shared_ptr<const Failure> failure;
};

/// A value, or the Status that explains why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::in_place_index<0>, std::move(value)) {}
  Result(Status failure) : content(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return content.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(content); }
  /// Returns the value. Check ok() first: on a failure this aborts the program with its message.
  T &operator*() & { return *operator->(); }
  const T &operator*() const & { return *operator->(); }
  T &&operator*() && { return std::move(*operator->()); }
  T *operator->() {
    T *value = std::get_if<0>(&content);
    return value ? value : endProgram();
  }
  const T *operator->() const {
    const T *value = std::get_if<0>(&content);
    return value ? value : endProgram();
  }

private:
  [[noreturn]] T *endProgram() const {
    const Status failure = status();
    const auto length = static_cast<int>(failure.message().size());
    std::fprintf(stderr, "heddle: the value of a failed call was asked for: %.*s\n", length,
                 failure.message().data());
    std::abort();
  }

  std::variant<T, Status> content;
};

} // namespace heddle

/// Makes a failed Status with this source line: HEDDLE_ERROR(InvalidArgument, fmt::format(...)).
#define HEDDLE_ERROR(Code, message)                                                                \
  ::heddle::Status(::heddle::StatusCode::Code, (message), __FILE_NAME__, __LINE__)

/// Returns the failure of a Status expression from the enclosing function.
#define HEDDLE_TRY(expression)                                                                     \
  do {                                                                                             \
    if (::heddle::Status heddleStatus = (expression); !heddleStatus.ok()) {                        \
      return heddleStatus;                                                                         \
    }                                                                                              \
  } while (false)

/// As HEDDLE_TRY, with "context: " prepended to the message.
#define HEDDLE_TRY_WITH(expression, context)                                                       \
  do {                                                                                             \
    if (::heddle::Status heddleStatus = (expression); !heddleStatus.ok()) {                        \
      return heddleStatus.annotate(context);                                                       \
    }                                                                                              \
  } while (false)

#define HEDDLE_CONCATENATE_(a, b) a##b
#define HEDDLE_CONCATENATE(a, b) HEDDLE_CONCATENATE_(a, b)

/// Declares `declaration` and initialises it with the value of a Result expression, or returns the
/// failure.
#define HEDDLE_ASSIGN(declaration, expression)                                                     \
  auto HEDDLE_CONCATENATE(heddleResult, __LINE__) = (expression);                                  \
  if (!HEDDLE_CONCATENATE(heddleResult, __LINE__).ok()) {                                          \
    return HEDDLE_CONCATENATE(heddleResult, __LINE__).status();                                    \
  }                                                                                                \
  declaration = *std::move(HEDDLE_CONCATENATE(heddleResult, __LINE__))

#endif // HEDDLE_STATUS_H
