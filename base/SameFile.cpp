// SPDX-License-Identifier: Apache-2.0
///
/// Compares what the system says of paths; for those of no file, their folders and names.
#include "base/SameFile.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace heddle {

bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  const fs::file_type first = fs::status(a, error).type(), second = fs::status(b, error).type();
  if (first == fs::file_type::regular && second == fs::file_type::regular) {
    return fs::equivalent(a, b, error);
  }
  if (first != fs::file_type::not_found || second != fs::file_type::not_found) {
    return false;
  }
  const auto resolved = [&](const std::string &path) {
    return path.empty() ? fs::path() : fs::weakly_canonical(fs::absolute(path, error), error);
  };
  const fs::path one = resolved(a);
  return !one.empty() && one == resolved(b);
}

} // namespace heddle
