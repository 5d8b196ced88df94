// SPDX-License-Identifier: Apache-2.0
///
/// Outputs that cannot be: full disks, folders that are not there or may not be written to. What
/// was there stays, and nothing half-written is left, neither at the output nor among temporary
/// files.
#include "base/Utf8.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

namespace heddle {
namespace {

const std::string full = ": cannot write: No space left on device";
const std::string large = ": cannot write: File too large";

TEST_F(HeddlecTest, FoldersThatAreNotThere) {
  const std::string absent = work / "absent/out",
                    reason = ": cannot create: No such file or directory";
  expectError({tiny, "-o", absent}, absent + reason);
  expectError({tiny, "--stop-after=fused", "-o", absent}, absent + reason);
  expectError({tiny, "-o", work / "out.so", "--report", absent}, absent + reason);
}

TEST_F(HeddlecTest, FoldersInPlaceOfFiles) {
  const std::string reason = ": is a directory, expected a file to write";
  expectError({tiny, "-o", work.path()}, work.path() + reason);
  expectError({tiny, "--stop-after=asm", "-o", work.path()}, work.path() + reason);
  expectError({tiny, "-o", work / "out.so", "--report", work.path()}, work.path() + reason);
}

TEST_F(HeddlecTest, FoldersThatMayNotBeWrittenTo) {
  namespace fs = std::filesystem;
  const tools::ProcessOptions bound = {.bound = true};
  if (heddlec({"--version"}, bound).code != 0) {
    GTEST_SKIP() << "root's rights cannot be given up here";
  }
  const std::string output = work / "out.so";
  fs::permissions(work.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expectError({tiny, "-o", output}, output + ": cannot create: Permission denied", bound);
  expectError({tiny, "-o", temporary / "o.so", "--report", output},
              output + ": cannot create: Permission denied", bound);
  fs::permissions(work.path(), fs::perms::owner_all);
}

TEST_F(HeddlecTest, FullDevices) {
  tools::ProcessOptions device = {.outputPath = "/dev/full"};
  expectError({tiny, "-o", "/dev/full"}, "/dev/full" + full);
  expectError({tiny, "--stop-after=llvm", "-o", "/dev/full"}, "/dev/full" + full);
  expectError({tiny, "-o", work / "out.so", "--report=/dev/full"}, "/dev/full" + full);
  expectError({tiny, "--emit=fused"}, "standard output" + full, device);
  expectError({tiny, "--emit=asm", "-o", work / "out.so"}, "standard output" + full, device);
  expectError({tiny, "-o", work / "out.so", "--report=-"}, "standard output" + full, device);
}

TEST_F(HeddlecTest, FullDevicesForHelp) {
  const std::string program = HEDDLE_TEST_DATA "/EndToEnd/spellings/unscaled.mlir";
  for (const std::string name : {"heddlec", "heddle-opt"}) {
    for (const std::string option : {"--help", "--version"}) {
      const tools::Outcome outcome = tools::runProgram(name, {option}, {.outputPath = "/dev/full"});
      EXPECT_EQ(outcome.code, 1) << name << " " << option;
      EXPECT_EQ(outcome.error, name + ": standard output" + full + "\n");
    }
  }
  const auto opt = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    return tools::runProgram("heddle-opt", arguments, {.outputPath = "/dev/full"});
  };
  EXPECT_EQ(opt({}).code, 1);
  EXPECT_EQ(opt({}).error, "heddle-opt: standard output" + full + "\n");
  EXPECT_EQ(opt({"-o", "/dev/full"}).code, 1);
  EXPECT_EQ(opt({"-o", "/dev/full"}).error, "heddle-opt: /dev/full" + full + "\n");
}

TEST(HeddleOptTest, HelpIsAboutHeddlesPasses) {
  const tools::Outcome help = tools::runProgram("heddle-opt", {"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.error, "");
  EXPECT_LT(help.output.find("--transformer-fuse-attention"), help.output.find("Options:"));
  EXPECT_NE(help.output.find("--help-list"), std::string::npos);
  // An option of LLVM's.
  EXPECT_EQ(help.output.find("--aarch64"), std::string::npos);
  const tools::Outcome all = tools::runProgram("heddle-opt", {"--help-list"});
  EXPECT_EQ(all.code, 0);
  EXPECT_NE(all.output.find("--aarch64"), std::string::npos);
}

TEST_F(HeddlecTest, FilesAboveTheirLimit) {
  const std::string output = work.write("out", "old");
  // Enough for objects and the linked kernels, too little for the weights.
  expectError({tiny, "-o", output}, output + large, {.fileLimit = 400'000});
  expectError({tiny, "--stop-after=llvm", "-o", output}, output + large, {.fileLimit = 1000});
  expectError({tiny, "-o", work / "out.so", "--report", output}, output + large,
              {.fileLimit = 1000});
  EXPECT_EQ(readBytes(output), "old");
}

TEST_F(HeddlecTest, NoRoomForTemporaryFiles) {
  const tools::ProcessOptions little = {.fileLimit = 1000};
  const tools::Outcome outcome = heddlec({tiny, "-o", work / "out.so"}, little);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("0.o: cannot be written: File too large"), std::string::npos)
      << outcome.error;
  EXPECT_TRUE(work.names().empty());
  EXPECT_TRUE(temporary.names().empty());
  const std::string absent = work / "absent";
  const tools::Outcome nowhere = tools::runProgram("heddlec", {tiny, "-o", work / "out.so"},
                                                   {.environment = {"TMPDIR=" + absent}});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(withoutNotes(nowhere.error),
            "heddlec: no temporary folder for the linker: No such file or directory\n");
}

TEST_F(HeddlecTest, StandardOutputIsWrittenToNotReplaced) {
  const std::string first = work.write("first", ""), second = work / "second";
  std::filesystem::create_hard_link(first, second);
  ASSERT_EQ(heddlec({tiny, "--emit=fused"}, {.outputPath = first}).code, 0);
  EXPECT_NE(readBytes(second).find("transformer.attention"), std::string::npos);
}

/// What is read stays as it is, by whatever name it is written to.
TEST_F(HeddlecTest, OutputsThatAreInputs) {
  namespace fs = std::filesystem;
  const std::string folder = work / "model";
  fs::copy(tiny, folder, fs::copy_options::recursive);
  const std::string weights = folder + "/model.safetensors", config = folder + "/config.json";
  const std::string before = readBytes(weights), text = readBytes(config);
  const std::string reason = ", which is a file that is read, expected another one";
  fs::create_symlink(weights, work / "link");
  expectError({folder, "-o", weights}, "-o is " + quote(weights) + reason);
  expectError({folder, "-o", work / "link"}, "-o is " + quote(work / "link") + reason);
  expectError({folder, "--report", config}, "--report is " + quote(config) + reason);
  const std::string program = work / "program.mlir";
  ASSERT_EQ(heddlec({tiny, "--stop-after=model", "-o", program}).code, 0);
  const std::vector<std::string> compile = {program, "--weights", weights};
  const auto expectRefused = [&](std::vector<std::string> more, const std::string &message) {
    more.insert(more.begin(), compile.begin(), compile.end());
    expectError(more, message);
  };
  expectRefused({"-o", program}, "-o is " + quote(program) + reason);
  expectRefused({"--stop-after=fused", "-o", program}, "-o is " + quote(program) + reason);
  expectRefused({"-o", weights}, "-o is " + quote(weights) + reason);
  EXPECT_EQ(readBytes(weights), before);
  EXPECT_EQ(readBytes(config), text);
  // Others in the folder are nobody's input.
  EXPECT_EQ(heddlec({folder, "-o", folder + "/model.so"}).code, 0);
  EXPECT_EQ(heddlec({folder, "-o", folder + "/model.so"}).code, 0);
}

TEST_F(HeddlecTest, OneFileForTwoOutputs) {
  const std::string output = work / "out.so", same = work / "./out.so";
  expectError({tiny, "-o", output, "--report", same},
              "--report is " + quote(same) + ", which is that of -o, expected another one");
}

TEST_F(HeddlecTest, ABinaryIsNotPrinted) {
  expectUsage({tiny, "-o", "-"}, "-o is \"-\", standard output, which is for texts, expected a "
                                 "file for the binary");
  EXPECT_FALSE(std::filesystem::exists("-"));
  EXPECT_NE(heddlec({tiny, "--stop-after=fused", "-o", "-"}).output.find("transformer."),
            std::string::npos);
}

/// Nothing is compiled for an output that cannot be written.
TEST_F(HeddlecTest, OutputsAreLookedAtFirst) {
  const std::string absent = work / "absent/out.so", report = work / "report.json";
  expectError({tiny, "-o", absent, "--report", report},
              absent + ": cannot create: No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(report));
}

TEST_F(HeddlecTest, SuccessReplacesTheFileAndLeavesNothingElse) {
  const std::string output = work.write("out.so", "old"), report = work / "report.json";
  ASSERT_EQ(heddlec({tiny, "-o", output, "--report", report}).code, 0);
  EXPECT_TRUE(readBytes(output).starts_with("\x7f"
                                            "ELF"));
  EXPECT_EQ(work.names().size(), 2u);
  EXPECT_TRUE(temporary.names().empty());
}

} // namespace
} // namespace heddle
