// SPDX-License-Identifier: Apache-2.0
///
/// A file that is open, and closed once.
#ifndef HEDDLE_BASE_FILEDESCRIPTOR_H
#define HEDDLE_BASE_FILEDESCRIPTOR_H

#include "heddle/Status.h"

#include <string>
#include <utility>

namespace heddle {

/// Owns a descriptor of the system. Closed on exec; movable, not copyable.
class FileDescriptor {
public:
  /// Opens a file for reading, without waiting for the writer of a pipe. NotFound if it does not
  /// exist, InputOutput if the system refuses.
  static Result<FileDescriptor> open(const std::string &path);

  FileDescriptor() = default;
  /// Takes over `number`, which may be -1 for none.
  explicit FileDescriptor(int number) : value(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : value(std::exchange(other.value, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor();

  /// The system's number of it; -1 if there is none.
  int number() const { return value; }

private:
  int value = -1;
};

} // namespace heddle

#endif // HEDDLE_BASE_FILEDESCRIPTOR_H
