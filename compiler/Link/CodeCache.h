// SPDX-License-Identifier: Apache-2.0
///
/// Objects of functions that were compiled before, in a folder, so that a model whose weights
/// change is not compiled again. Code is found by what it is compiled from: nothing in a cache is
/// ever out of date, and every file may be removed at any time. What the folder has becomes part of
/// binaries; only those who may write those should be able to write it.
#ifndef HEDDLE_COMPILER_LINK_CODECACHE_H
#define HEDDLE_COMPILER_LINK_CODECACHE_H

#include "compiler/Target/Target.h"

#include <optional>
#include <string>

namespace heddle {

/// Several threads and processes may use one folder at the same time.
class CodeCache {
public:
  /// Makes the folder if it is not there. Error: InputOutput with the system's message.
  static Result<CodeCache> open(const std::string &folder);

  /// The name of a unit's code, for the compiler of that identity.
  static std::string keyOf(llvm::StringRef compilerIdentity, const CodeUnit &unit);

  /// The code of that name. None if there is none, or if it cannot be read as it was written.
  std::optional<Code> find(const std::string &key) const;
  /// Keeps it. Error: InputOutput with the system's message.
  Status store(const std::string &key, llvm::ArrayRef<char> code) const;

private:
  explicit CodeCache(std::string folder) : folder(std::move(folder)) {}
  std::string pathOf(const std::string &key) const { return folder + "/" + key + ".o"; }

  std::string folder;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_CODECACHE_H
