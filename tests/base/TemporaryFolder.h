// SPDX-License-Identifier: Apache-2.0
///
/// A folder for one test, removed with its contents when the test ends.
#ifndef HEDDLE_TESTS_BASE_TEMPORARYFOLDER_H
#define HEDDLE_TESTS_BASE_TEMPORARYFOLDER_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      std::perror(pattern.c_str());
      std::abort();
    }
    folder = pattern;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  const std::string &path() const { return folder; }
  /// Returns the path of a file in the folder.
  std::string operator/(std::string_view name) const { return folder + "/" + std::string(name); }

  /// Writes a file and its parent folders. Returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  /// Returns the content of a file.
  std::string read(std::string_view name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Returns the names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

private:
  std::string folder;
};

} // namespace heddle

#endif // HEDDLE_TESTS_BASE_TEMPORARYFOLDER_H
