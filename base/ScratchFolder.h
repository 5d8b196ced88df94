// SPDX-License-Identifier: Apache-2.0
///
/// A folder for a program's temporary files, below $TMPDIR or /tmp. It is removed by the
/// destructor, and when a signal ends the program.
#ifndef HEDDLE_BASE_SCRATCHFOLDER_H
#define HEDDLE_BASE_SCRATCHFOLDER_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace heddle {

class ScratchFolder {
public:
  /// Creates a folder whose name begins with `prefix`; messages say that it is for `purpose`.
  static Result<ScratchFolder> create(std::string_view prefix, std::string_view purpose);

  ScratchFolder(ScratchFolder &&other) noexcept;
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  /// Removes the folder with the files in it.
  ~ScratchFolder();

  /// Returns the path of a file in the folder.
  std::string operator/(std::string_view name) const;

private:
  ScratchFolder(std::string path, char *listed) : path(std::move(path)), listed(listed) {}

  std::string path;
  // `path` in the list of removePartialFiles(), which owns it.
  char *listed;
};

} // namespace heddle

#endif // HEDDLE_BASE_SCRATCHFOLDER_H
