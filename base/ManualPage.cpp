// SPDX-License-Identifier: Apache-2.0
///
/// Prints the options declared with CLI11 as text for man, bash and zsh.
#include "base/ManualPage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

namespace heddle {

namespace fs = std::filesystem;

/// Escapes text for man: a hyphen must not become a dash, nor a line a request.
static std::string escape(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else {
      result += character;
    }
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

/// Returns the options that a page shows, in the order of --help. Options without a group are
/// hidden.
static std::vector<const CLI::Option *> optionsOf(const CLI::App &app, bool positional) {
  std::vector<const CLI::Option *> result;
  for (const CLI::Option *const option : app.get_options()) {
    if (option->get_positional() == positional && !option->get_group().empty()) {
      result.push_back(option);
    }
  }
  return result;
}

/// Returns names such as "-h, --help" or "--input".
static std::string namesOf(const CLI::Option &option) {
  return option.get_name(option.get_positional(), true);
}

static std::string synopsis(const CLI::App &app, std::string_view program) {
  std::string text = fmt::format(".B {}\n", escape(program));
  if (!app.get_subcommands(nullptr).empty()) {
    text += ".I COMMAND\n";
  }
  for (const CLI::Option *const option : optionsOf(app, true)) {
    text += fmt::format(".I {}\n", escape(option->get_name(true)));
  }
  return text + "[\\fIOPTION\\fR]...\n";
}

static std::string optionList(const CLI::App &app) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const CLI::Option *const option : optionsOf(app, positional)) {
      const bool takesValue = !positional && option->get_items_expected_max() > 0;
      const std::string type = option->get_type_name();
      text += fmt::format(".TP\n\\fB{}\\fR", escape(namesOf(*option)));
      if (takesValue) {
        text += fmt::format(" \\fI{}\\fR", escape(type.empty() || type == "TEXT" ? "VALUE" : type));
      }
      text += fmt::format("\n{}\n", escape(option->get_description()));
      if (takesValue && !option->get_default_str().empty()) {
        text += fmt::format("Without it: {}.\n", escape(option->get_default_str()));
      }
    }
  }
  return text;
}

/// Converts the end of --help: lines with a colon are headings, and the lines below them begin with
/// a name. Sentences, which refer to other documentation, are omitted: a page has SEE ALSO.
static std::string nameLists(const CLI::App &app) {
  std::string text;
  std::istringstream lines(app.get_footer());
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find_first_not_of(' ');
    if (name == 0 && line.ends_with('.')) {
      continue;
    }
    if (name == 0) {
      text += fmt::format(".SS {}\n", escape(line.substr(0, line.find_last_of(':'))));
    } else if (name != std::string::npos) {
      const size_t end = std::min(line.find(' ', name), line.size());
      const size_t summary = std::min(line.find_first_not_of(' ', end), line.size());
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escape(line.substr(name, end - name)),
                          escape(line.substr(summary)));
    }
  }
  return text.empty() ? text : ".SH NAMES\n" + text;
}

std::string manualPage(const CLI::App &app, std::string_view program, const ManualSource &source) {
  std::string title(program);
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string capitals = title;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format(".TH {} 1 \"\" \"{}\" Heddle\n", escape(capitals), source.version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escape(title), escape(app.get_description()));
  text += ".SH SYNOPSIS\n" + synopsis(app, program);
  const std::vector<const CLI::App *> commands = app.get_subcommands(nullptr);
  if (!commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CLI::App *const command : commands) {
      text += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fB{}\\-{}\\fR(1)\n",
                          escape(command->get_name()), escape(command->get_description()),
                          escape(title), escape(command->get_name()));
    }
  }
  text += ".SH OPTIONS\n" + optionList(app);
  text += nameLists(app);
  text += ".SH EXIT STATUS\n0; 1 when the input was at fault, 2 when the command line was, 128 and "
          "the number of a "
          "signal that ended it.\n";
  return text + fmt::format(".SH SEE ALSO\n{}\n", escape(source.seeAlso));
}

/// Returns "--input --output ...", the words that may follow a program or command.
static std::string optionWords(const CLI::App &app) {
  std::vector<std::string> words;
  for (const CLI::Option *const option : optionsOf(app, false)) {
    for (const std::string &name : option->get_lnames()) {
      words.push_back("--" + name);
    }
    for (const std::string &name : option->get_snames()) {
      words.push_back("-" + name);
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

static std::string commandWords(const CLI::App &app) {
  std::vector<std::string> words;
  for (const CLI::App *const command : app.get_subcommands(nullptr)) {
    words.push_back(command->get_name());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns the lines of a case statement: a shell word, then the words that may follow it.
static std::string commandCases(const CLI::App &app, std::string_view assign) {
  std::string text;
  for (const CLI::App *const command : app.get_subcommands(nullptr)) {
    text += fmt::format("    {}) {} ;;\n", command->get_name(),
                        fmt::format(fmt::runtime(assign), optionWords(*command)));
  }
  return text;
}

std::string bashCompletion(const CLI::App &app) {
  const std::string &name = app.get_name();
  const std::string commands = commandWords(app);
  return fmt::format("# Completion of {0} for bash.\n"
                     "_{0}() {{\n"
                     "  local word=${{COMP_WORDS[COMP_CWORD]}} words=\"{1}\"\n"
                     "  case ${{COMP_WORDS[1]}} in\n{2}"
                     "    *) ((COMP_CWORD == 1)) && words+=\" {3}\" ;;\n"
                     "  esac\n"
                     "  if [[ $word == -*{4} ]]; then\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                     "  fi\n"
                     "}}\n"
                     "complete -o default -F _{0} {0}\n",
                     name, optionWords(app), commandCases(app, "words=\"{}\""), commands,
                     commands.empty() ? "" : " || $COMP_CWORD -eq 1");
}

std::string zshCompletion(const CLI::App &app) {
  const std::string &name = app.get_name();
  return fmt::format("#compdef {0}\n"
                     "# Completion of {0} for zsh.\n"
                     "local -a options=({1}) commands=({3})\n"
                     "case $words[2] in\n{2}"
                     "esac\n"
                     "if (( CURRENT == 2 && $#commands )); then\n"
                     "  compadd -a commands\n"
                     "fi\n"
                     "if [[ $PREFIX == -* ]]; then\n"
                     "  compadd -a options\n"
                     "else\n"
                     "  _files\n"
                     "fi\n",
                     name, optionWords(app), commandCases(app, "options=({})"), commandWords(app));
}

/// Writes a file and creates its parent folders.
static Status writeText(const fs::path &path, const std::string &text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (error || !file) {
    return HEDDLE_ERROR(InputOutput, fmt::format("{}: cannot be written", path.string()));
  }
  return {};
}

Status writeManual(const CLI::App &app, const ManualSource &source, const std::string &folder) {
  const std::string &name = app.get_name();
  const fs::path share = fs::path(folder) / "share";
  const fs::path pages = share / "man" / "man1";
  HEDDLE_TRY(writeText(pages / (name + ".1"), manualPage(app, name, source)));
  for (const CLI::App *const command : app.get_subcommands(nullptr)) {
    const std::string whole = name + " " + command->get_name();
    HEDDLE_TRY(writeText(pages / fmt::format("{}-{}.1", name, command->get_name()),
                         manualPage(*command, whole, source)));
  }
  HEDDLE_TRY(writeText(share / "bash-completion" / "completions" / name, bashCompletion(app)));
  return writeText(share / "zsh" / "site-functions" / ("_" + name), zshCompletion(app));
}

int writeManual(const CLI::App &app, const ManualSource &source, int argc, char **argv) {
  const Status status = writeManual(app, source, argc > 1 ? argv[1] : ".");
  if (!status.ok()) {
    std::fprintf(stderr, "%s-manual: %s\n", app.get_name().c_str(),
                 std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}

} // namespace heddle
