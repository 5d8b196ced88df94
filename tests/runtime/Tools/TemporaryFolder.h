// SPDX-License-Identifier: Apache-2.0
///
/// A folder for one test, gone with it.
#ifndef HEDDLE_TESTS_RUNTIME_TOOLS_TEMPORARYFOLDER_H
#define HEDDLE_TESTS_RUNTIME_TOOLS_TEMPORARYFOLDER_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Creates a folder on construction and removes it with all it holds on destruction.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  /// The path of a file in it.
  std::string path(std::string_view name) const { return (folder / name).string(); }

  /// Writes a file; its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  /// What a file holds.
  std::string read(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The names of its files, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

private:
  std::filesystem::path folder;
};

} // namespace heddle::tools

#endif // HEDDLE_TESTS_RUNTIME_TOOLS_TEMPORARYFOLDER_H
