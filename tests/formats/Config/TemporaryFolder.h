// SPDX-License-Identifier: Apache-2.0
///
/// A folder of its own for every test, gone afterwards.
#ifndef HEDDLE_TESTS_FORMATS_CONFIG_TEMPORARYFOLDER_H
#define HEDDLE_TESTS_FORMATS_CONFIG_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  const std::string &path() const { return folder; }
  std::string operator/(std::string_view name) const { return folder + "/" + std::string(name); }

  /// Writes a file, and the folders above it; its path.
  std::string write(std::string_view name, std::string_view contents) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  /// The names in the folder.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      result.push_back(entry.path().filename().string());
    }
    return result;
  }

private:
  std::string folder;
};

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_CONFIG_TEMPORARYFOLDER_H
