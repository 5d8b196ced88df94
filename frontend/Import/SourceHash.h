// SPDX-License-Identifier: Apache-2.0
///
/// One number for all files a model was read from: the same files give the same number wherever
/// they lie.
#ifndef HEDDLE_FRONTEND_IMPORT_SOURCEHASH_H
#define HEDDLE_FRONTEND_IMPORT_SOURCEHASH_H

#include "heddle/Status.h"

#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace heddle {

/// XXH3-128 over roles, lengths and contents of files, in the order they are added.
class SourceHash {
public:
  SourceHash();

  /// Adds a file, mapped and a piece at a time: memory does not grow with it. `role` stands for its
  /// name.
  Status add(std::string_view role, const std::string &path);
  /// Adds what was understood of files that are not hashed themselves.
  void addText(std::string_view role, std::string_view text);
  /// 32 hexadecimal digits.
  std::string digits() const;

private:
  struct Free {
    void operator()(XXH3_state_s *state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_SOURCEHASH_H
