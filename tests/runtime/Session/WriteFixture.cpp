// SPDX-License-Identifier: Apache-2.0
///
/// Writes the test model to the given path.
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("usage: heddle_write_fixture OUT.so\n", stderr);
    return 2;
  }
  const heddle::Status status = heddle::fixture::write(heddle::fixture::model(), argv[1]);
  if (!status.ok()) {
    std::fprintf(stderr, "%.*s\n", int(status.message().size()), status.message().data());
    return 1;
  }
  return 0;
}
