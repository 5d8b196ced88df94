// SPDX-License-Identifier: Apache-2.0
///
/// A folder for files that a program needs for itself, below $TMPDIR or /tmp. It is gone when its
/// owner is, and when a signal ends the program.
#ifndef HEDDLE_BASE_SCRATCHFOLDER_H
#define HEDDLE_BASE_SCRATCHFOLDER_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace heddle {

class ScratchFolder {
public:
  /// Creates a folder whose name begins with `prefix`; `purpose` is what messages say it is for.
  static Result<ScratchFolder> create(std::string_view prefix, std::string_view purpose);

  ScratchFolder(ScratchFolder &&other) noexcept;
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  /// Removes it with the files in it.
  ~ScratchFolder();

  /// The path of a file in it.
  std::string operator/(std::string_view name) const;

private:
  ScratchFolder(std::string path, char *listed) : path(std::move(path)), listed(listed) {}

  std::string path;
  // `path` in the list of removePartialFiles(), which owns it.
  char *listed;
};

} // namespace heddle

#endif // HEDDLE_BASE_SCRATCHFOLDER_H
