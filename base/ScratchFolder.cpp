// SPDX-License-Identifier: Apache-2.0
///
/// Names are random, because other programs write to the same place.
#include "base/ScratchFolder.h"

#include "base/PartialNames.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace heddle {

Result<ScratchFolder> ScratchFolder::create(std::string_view prefix, std::string_view purpose) {
  const char *const chosen = std::getenv("TMPDIR");
  const std::string parent = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
  std::random_device random;
  while (true) {
    std::string path = fmt::format("{}/{}-{:08x}", parent, prefix, random());
    char *const listed = enlist(path);
    if (::mkdir(path.c_str(), S_IRWXU) == 0) {
      return ScratchFolder(std::move(path), listed);
    }
    const int error = errno;
    delist(listed);
    if (error != EEXIST) {
      return HEDDLE_ERROR(InputOutput, fmt::format("no temporary folder for {}: {}", purpose,
                                                   std::generic_category().message(error)));
    }
  }
}

ScratchFolder::ScratchFolder(ScratchFolder &&other) noexcept
    : path(std::exchange(other.path, {})), listed(std::exchange(other.listed, nullptr)) {}

ScratchFolder::~ScratchFolder() {
  if (!path.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    delist(listed);
  }
}

std::string ScratchFolder::operator/(std::string_view name) const {
  return fmt::format("{}/{}", path, name);
}

} // namespace heddle
