// SPDX-License-Identifier: Apache-2.0
///
/// Files are truncated and rewritten: consecutive inputs use the same names.
#include "tests/Fuzzing/ScratchFolder.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace heddle::fuzzing {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::error_code ignored;
  const fs::path memory = "/dev/shm";
  const fs::path base = fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path();
  folder = (base / ("heddle-fuzz-" + std::to_string(::getpid()))).string();
  fs::create_directories(folder);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void ScratchFolder::write(std::string_view name, std::string_view bytes) const {
  const int file = ::open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  ::close(file);
  if (written != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
}

void ScratchFolder::remove(std::string_view name) const { ::unlink(path(name).c_str()); }

std::string readWhole(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace heddle::fuzzing
