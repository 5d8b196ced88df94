// SPDX-License-Identifier: Apache-2.0
///
/// Opens and closes files.
#include "base/FileDescriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

Result<FileDescriptor> FileDescriptor::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe that nobody writes to returns, and fails where it is read.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) {
    const int error = errno;
    const std::string message =
        fmt::format("{}: cannot open: {}", path, std::generic_category().message(error));
    return error == ENOENT || error == ENOTDIR ? HEDDLE_ERROR(NotFound, message)
                                               : HEDDLE_ERROR(InputOutput, message);
  }
  return FileDescriptor(number);
}

FileDescriptor::~FileDescriptor() {
  if (value >= 0) {
    ::close(value);
  }
}

} // namespace heddle
