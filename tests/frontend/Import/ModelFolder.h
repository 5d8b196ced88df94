// SPDX-License-Identifier: Apache-2.0
///
/// A copy of a committed tiny model in a temporary folder, for tests to modify.
#ifndef HEDDLE_TESTS_FRONTEND_IMPORT_MODELFOLDER_H
#define HEDDLE_TESTS_FRONTEND_IMPORT_MODELFOLDER_H

#include "formats/Checkpoint/Checkpoint.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace heddle {

class ModelFolder {
public:
  explicit ModelFolder(const std::string &name = "bert-tiny")
      : source(HEDDLE_TEST_DATA "/oracles/" + name) {
    for (const char *file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(source + "/" + file, folder / file);
    }
  }

  const std::string &path() const { return folder.path(); }
  std::string operator/(std::string_view name) const { return folder / name; }
  const TemporaryFolder &files() const { return folder; }

  /// Replaces text in config.json.
  void editConfig(const std::string &from, const std::string &to) {
    std::ifstream stream(folder / "config.json");
    std::string text(std::istreambuf_iterator<char>(stream), {});
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder.write("config.json", text.replace(at, from.size(), to));
  }

  /// Changes the list of tensors; added tensors take their bytes from `room`.
  void editTensors(const std::function<void(std::vector<SafetensorsTensor> &)> &edit,
                   const std::string &file = "model.safetensors") {
    Result<Checkpoint> checkpoint = Checkpoint::open(source);
    ASSERT_TRUE(checkpoint.ok());
    std::vector<SafetensorsTensor> tensors = checkpoint->files().front().tensors();
    edit(tensors);
    const Status written = writeSafetensors(folder / file, tensors);
    ASSERT_TRUE(written.ok()) << written.message();
  }

  /// Returns a tensor of zeros.
  SafetensorsTensor zeros(std::string name, ElementType dtype, std::vector<int64_t> shape) {
    const size_t bytes = *byteSize(dtype, shape);
    return {std::move(name), dtype, std::move(shape), std::span(room).first(bytes)};
  }

private:
  std::string source;
  TemporaryFolder folder;
  std::vector<std::byte> room = std::vector<std::byte>(1 << 16);
};

/// Returns the tensor with this name.
inline SafetensorsTensor &named(std::vector<SafetensorsTensor> &tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const SafetensorsTensor &t) { return t.name == name; });
  EXPECT_NE(found, tensors.end()) << name;
  return found == tensors.end() ? tensors.front() : *found;
}

} // namespace heddle

#endif // HEDDLE_TESTS_FRONTEND_IMPORT_MODELFOLDER_H
