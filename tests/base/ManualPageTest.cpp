// SPDX-License-Identifier: Apache-2.0
///
/// Manual pages agree with the options, and completion works in a real shell.
#include "base/ManualPage.h"

#include "tests/base/TemporaryFolder.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>

namespace heddle {
namespace {

/// A program with two commands, and one without.
struct Programs {
  Programs() {
    CLI::App *const make = app.add_subcommand("make", "Make things");
    make->add_option("THING", thing, "What to make");
    make->add_option("-n,--count", count, "How many - at most 9")->type_name("N");
    make->add_flag("--quiet", quiet, "\\fBSay\\fR nothing");
    make->add_option("--secret", thing, "For tests")->group("");
    app.add_subcommand("mend", "Mend things");
    plain.add_option("--level", count, ".TH is no request")->default_str("3");
  }

  CLI::App app{"Makes and mends", "tool"};
  CLI::App plain{"Does one thing", "plain"};
  std::string thing, count;
  bool quiet = false;
};

const ManualSource source = {"tool 1.2", "plain(1)"};

TEST(ManualPage, OfAProgramListsItsCommands) {
  const Programs programs;
  const std::string page = manualPage(programs.app, "tool", source);
  EXPECT_TRUE(page.starts_with(".TH TOOL 1 \"\" \"tool 1.2\" Heddle\n"
                               ".SH NAME\ntool \\- Makes and mends\n"
                               ".SH SYNOPSIS\n.B tool\n.I COMMAND\n[\\fIOPTION\\fR]...\n"
                               ".SH COMMANDS\n"
                               ".TP\n\\fBmake\\fR\nMake things; see \\fBtool\\-make\\fR(1)\n"
                               ".TP\n\\fBmend\\fR\nMend things; see \\fBtool\\-mend\\fR(1)\n"))
      << page;
  EXPECT_TRUE(page.ends_with(".SH SEE ALSO\nplain(1)\n"));
}

TEST(ManualPage, HasTheNamesBelowTheHelp) {
  Programs programs;
  programs.plain.footer([] {
    return "Levels of --level, in order:\n  low   .SH is no request\n"
           "  high\n\nOthers:\n  none  nothing\n\nThe page of tool: says more.";
  });
  const std::string page = manualPage(programs.plain, "plain", source);
  EXPECT_NE(page.find(".SH NAMES\n.SS Levels of \\-\\-level, in order\n"
                      ".TP\n\\fBlow\\fR\n\\&.SH is no request\n"
                      ".TP\n\\fBhigh\\fR\n\n"
                      ".SS Others\n.TP\n\\fBnone\\fR\nnothing\n.SH EXIT STATUS\n"),
            std::string::npos)
      << page;
  EXPECT_EQ(manualPage(programs.app, "tool", source).find("NAMES"), std::string::npos);
}

TEST(ManualPage, OfACommandListsItsOptions) {
  const Programs programs;
  const CLI::App *const make = programs.app.get_subcommand("make");
  const std::string page = manualPage(*make, "tool make", source);
  EXPECT_TRUE(page.starts_with(".TH TOOL\\-MAKE 1")) << page;
  EXPECT_NE(page.find(".TP\n\\fBTHING\\fR\nWhat to make\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".TP\n\\fB\\-n,\\-\\-count\\fR \\fIN\\fR\nHow many \\- at most 9\n"),
            std::string::npos)
      << page;
  // Text that looks like formatting is escaped.
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-quiet\\fR\n\\efBSay\\efR nothing\n"), std::string::npos);
  EXPECT_EQ(page.find("secret"), std::string::npos);
}

TEST(ManualPage, HasNoRequestsOfItsTexts) {
  const Programs programs;
  const std::string page = manualPage(programs.plain, "plain", source);
  EXPECT_NE(page.find("\\fB\\-\\-level\\fR \\fIVALUE\\fR\n\\&.TH is no request\nWithout it: 3.\n"),
            std::string::npos)
      << page;
}

/// Returns bash's completions for a line whose last word is being typed.
std::string complete(const std::string &script, const std::string &program,
                     const std::string &words, int current) {
  const std::string command =
      fmt::format("bash --norc -c '. \"{}\"; COMP_WORDS=({}); COMP_CWORD={}; _{}; "
                  "printf \"%s \" \"${{COMPREPLY[@]}}\"' 2>&1",
                  script, words, current, program);
  const std::unique_ptr<FILE, int (*)(FILE *)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string output;
  std::array<char, 256> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) {
    output += part.data();
  }
  return output;
}

TEST(Completion, WorksInBash) {
  const Programs programs;
  const TemporaryFolder folder;
  const std::string tool = folder.write("tool", bashCompletion(programs.app));
  EXPECT_EQ(complete(tool, "tool", "tool m", 1), "make mend ");
  EXPECT_EQ(complete(tool, "tool", "tool me", 1), "mend ");
  EXPECT_EQ(complete(tool, "tool", "tool make --", 2), "--help --count --quiet ");
  EXPECT_EQ(complete(tool, "tool", "tool mend --", 2), "--help ");
  const std::string plain = folder.write("plain", bashCompletion(programs.plain));
  EXPECT_EQ(complete(plain, "plain", "plain --l", 1), "--level ");
  // The shell completes file names itself.
  EXPECT_EQ(complete(plain, "plain", "plain some", 1), " ");
}

TEST(Completion, OfZshNamesCommandsAndOptions) {
  const Programs programs;
  const std::string script = zshCompletion(programs.app);
  EXPECT_TRUE(script.starts_with("#compdef tool\n"));
  EXPECT_NE(script.find("commands=(make mend)"), std::string::npos) << script;
  EXPECT_NE(script.find("    make) options=(--help -h --count -n --quiet) ;;\n"), std::string::npos)
      << script;
}

TEST(Manual, LiesWhereAnInstallationHasIt) {
  const Programs programs;
  const TemporaryFolder folder;
  ASSERT_TRUE(writeManual(programs.app, source, folder.path()).ok());
  for (const char *const name :
       {"share/man/man1/tool.1", "share/man/man1/tool-make.1", "share/man/man1/tool-mend.1",
        "share/bash-completion/completions/tool", "share/zsh/site-functions/_tool"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  EXPECT_EQ(writeManual(programs.app, source, "/dev/null").message(),
            "/dev/null/share/man/man1/tool.1: cannot be written");
}

} // namespace
} // namespace heddle
