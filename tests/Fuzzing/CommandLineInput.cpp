// SPDX-License-Identifier: Apache-2.0
///
/// Returns names as CLI11 has them: long ones without their hyphens.
#include "tests/Fuzzing/CommandLineInput.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace heddle::fuzzing {

static void addWords(const CLI::App &app, std::vector<std::string> &words) {
  for (const CLI::Option *const option : app.get_options()) {
    for (const std::string &name : option->get_lnames()) {
      words.insert(words.end(), {"--" + name, "--" + name + "="});
    }
    for (const std::string &name : option->get_snames()) {
      words.push_back("-" + name);
    }
  }
  for (const CLI::App *const command : app.get_subcommands({})) {
    words.push_back(command->get_name());
    addWords(*command, words);
  }
}

std::vector<std::string> declaredWords(const CLI::App &app) {
  std::vector<std::string> words = {"-", "--", "-1", "0", "nan", "1e309", "model.so", "a=b="};
  addWords(app, words);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::vector<char *> argumentsOf(std::string &program, std::string &lines) {
  std::vector<char *> arguments = {program.data()};
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    arguments.push_back(lines.data() + begin);
    if (end < lines.size()) {
      lines[end] = '\0';
    }
    begin = end + 1;
  }
  arguments.push_back(nullptr);
  return arguments;
}

} // namespace heddle::fuzzing
