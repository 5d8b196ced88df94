// SPDX-License-Identifier: Apache-2.0
///
/// A folder of this process for readers that take paths: in memory if the machine has such a file
/// system, and removed when the process ends.
#ifndef HEDDLE_TESTS_FUZZING_SCRATCHFOLDER_H
#define HEDDLE_TESTS_FUZZING_SCRATCHFOLDER_H

#include <string>
#include <string_view>

namespace heddle::fuzzing {

class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  const std::string &path() const { return folder; }
  std::string path(std::string_view name) const { return folder + "/" + std::string(name); }
  void write(std::string_view name, std::string_view bytes) const;
  void remove(std::string_view name) const;

private:
  std::string folder;
};

/// Returns the bytes of an existing file.
std::string readWhole(const std::string &path);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_SCRATCHFOLDER_H
