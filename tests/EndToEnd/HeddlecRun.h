// SPDX-License-Identifier: Apache-2.0
///
/// heddlec as a user runs it, with a folder for its output, and the requirements for every failure:
/// the exit code, exactly one message, and no new files.
#ifndef HEDDLE_TESTS_ENDTOEND_HEDDLECRUN_H
#define HEDDLE_TESTS_ENDTOEND_HEDDLECRUN_H

#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/frontend/Import/ShownLines.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {

class HeddlecTest : public testing::Test {
protected:
  /// The folder for outputs; empty at first.
  TemporaryFolder work;
  /// The folder for the compiler's temporary files.
  TemporaryFolder temporary;
  const std::string tiny = HEDDLE_TEST_DATA "/oracles/bert-tiny";

  /// What writes a binary keeps the code of functions, of which tests have many in common.
  tools::Outcome heddlec(std::vector<std::string> arguments,
                         tools::ProcessOptions options = {}) const {
    if (std::ranges::count(arguments, "-o") == 1 &&
        std::ranges::count(arguments, "--code-cache") == 0) {
      arguments.insert(arguments.begin(), {"--code-cache", codeOfHeddlec()});
    }
    options.environment.push_back("TMPDIR=" + temporary.path());
    return tools::runProgram("heddlec", arguments, options);
  }

  /// Checks exit code 2, the message, and the reference to the help.
  void expectUsage(const std::vector<std::string> &arguments, const std::string &message) const {
    const auto before = names();
    const tools::Outcome outcome = heddlec(arguments);
    EXPECT_EQ(outcome.code, 2) << message;
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(outcome.error, "heddlec: " + message + "\nheddlec: try 'heddlec --help'\n");
    EXPECT_EQ(names(), before);
  }

  /// Checks exit code 1 and, apart from notes and lines of the program, only this message.
  void expectError(const std::vector<std::string> &arguments, const std::string &message,
                   const tools::ProcessOptions &options = {}) const {
    const auto before = names();
    const tools::Outcome outcome = heddlec(arguments, options);
    EXPECT_EQ(outcome.code, 1) << message;
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(withoutShownLines(withoutNotes(outcome.error)), "heddlec: " + message + "\n");
    EXPECT_EQ(names(), before);
  }

  /// Returns the lines of standard error that are not notes.
  static std::string withoutNotes(const std::string &error) {
    std::istringstream stream(error);
    std::string kept;
    for (std::string line; std::getline(stream, line);) {
      kept += line.starts_with("heddlec: note: ") ? "" : line + "\n";
    }
    return kept;
  }

private:
  /// Returns the names of everything in both folders.
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const TemporaryFolder *folder : {&work, &temporary}) {
      for (const auto &entry : std::filesystem::recursive_directory_iterator(folder->path())) {
        found.insert(entry.path());
      }
    }
    return found;
  }
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_HEDDLECRUN_H
