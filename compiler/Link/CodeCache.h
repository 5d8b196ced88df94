// SPDX-License-Identifier: Apache-2.0
///
/// A folder of compiled functions, so that a model whose weights change is not compiled again. Code
/// is looked up by the hash of its input: entries never become stale, and every file may be deleted
/// at any time. Cached code becomes part of binaries, so only users who may write these should have
/// write access to the folder.
#ifndef HEDDLE_COMPILER_LINK_CODECACHE_H
#define HEDDLE_COMPILER_LINK_CODECACHE_H

#include "compiler/Target/Target.h"

#include <optional>
#include <string>

namespace heddle {

/// Safe for concurrent use by several threads and processes.
class CodeCache {
public:
  /// Creates the folder if it does not exist. Error: InputOutput with the system's message.
  static Result<CodeCache> open(const std::string &folder);

  /// Returns the name of a unit's code for the compiler with that identity.
  static std::string keyOf(llvm::StringRef compilerIdentity, const CodeUnit &unit);

  /// Returns the code with that name; nothing if it does not exist, or is damaged.
  std::optional<Code> find(const std::string &key) const;
  /// Stores code. Error: InputOutput with the system's message.
  Status store(const std::string &key, llvm::ArrayRef<char> code) const;

private:
  explicit CodeCache(std::string folder) : folder(std::move(folder)) {}
  std::string pathOf(const std::string &key) const { return folder + "/" + key + ".o"; }

  std::string folder;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_CODECACHE_H
