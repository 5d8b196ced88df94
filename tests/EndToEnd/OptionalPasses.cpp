// SPDX-License-Identifier: Apache-2.0
///
/// The only file of these tests that includes headers of the compiler.
#include "tests/EndToEnd/OptionalPasses.h"

#include "compiler/Compile.h"

namespace heddle {

std::vector<std::string> passNames() { return optionalPasses(); }

std::vector<std::string> withoutPasses() {
  std::vector<std::string> flags = optionalPasses();
  for (std::string &flag : flags) {
    flag.insert(0, "--disable-pass=");
  }
  return flags;
}

} // namespace heddle
