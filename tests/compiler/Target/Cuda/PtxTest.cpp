// SPDX-License-Identifier: Apache-2.0
///
/// PTX as text, with programs that simulate ptxas.
#include "compiler/Target/Cuda/Ptx.h"

#include "tests/base/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace heddle {
namespace {

Code codeOf(llvm::StringRef text) { return Code(text.begin(), text.end()); }
std::string textOf(const Code &code) { return std::string(code.begin(), code.end()); }

constexpr llvm::StringLiteral kHead = "//\n.version 7.0\n.target sm_80\n.address_size 64\n";

TEST(JoinPtx, KeepsOneHead) {
  const std::string head = kHead.str();
  const Result<Code> joined = joinPtx({codeOf(head + "first\n"), codeOf(head + "second\n")});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ(textOf(*joined), head + "first\nsecond\n");
}

TEST(JoinPtx, OfNothingIsNothing) { EXPECT_TRUE(joinPtx({})->empty()); }

TEST(JoinPtx, RefusesTextWithoutHead) {
  EXPECT_EQ(joinPtx({codeOf("first\n")}).status().message(),
            "PTX of LLVM has no line \".address_size\"");
  EXPECT_EQ(joinPtx({codeOf(".version 7.0\n.address_size 64")}).status().message(),
            "PTX of LLVM has no line \".address_size\"");
}

TEST(JoinPtx, RefusesTwoTargets) {
  const std::string other = ".address_size 32\n";
  const Result<Code> joined = joinPtx({codeOf(kHead), codeOf(other)});
  EXPECT_EQ(joined.status().message().substr(0, 34), "PTX of two functions begins with \"");
}

class PtxasTest : public testing::Test {
protected:
  /// Writes an executable that is called in place of ptxas.
  std::string ptxas(const std::string &commands) {
    std::string path = folder.write("ptxas", "#!/bin/sh\n" + commands);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string messageOf(const std::string &path) {
    return std::string(assemblePtx(codeOf("text"), "sm_80", path).status().message());
  }

  const std::string version =
      "if [ \"$1\" = --version ]; then\n"
      "  echo 'Cuda compilation tools, release 12.9, V12.9.86'; exit 0; fi\n";
  TemporaryFolder folder;
};

TEST_F(PtxasTest, GivesACubin) {
  const std::string path = ptxas(version + "[ \"$1 $3\" = '-arch=sm_80 -o' ] || exit 3\n"
                                           "cat \"$2\" \"$2\" > \"$4\"\n");
  const Result<DeviceImage> image = assemblePtx(codeOf("text"), "sm_80", path);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->kind, manifest::ImageKind::Cubin);
  EXPECT_EQ(textOf(image->bytes), "texttext");
  EXPECT_EQ(image->compiler, "ptxas 12.9.86");
}

TEST_F(PtxasTest, SaysWhatPtxasSays) {
  const std::string path = ptxas(version + "echo 'ptxas fatal: no' >&2; exit 7\n");
  EXPECT_EQ(messageOf(path), path + " ends with 7: ptxas fatal: no\n");
}

TEST_F(PtxasTest, RefusesOtherPrograms) {
  const std::string path = ptxas("echo tool 1.0\n");
  EXPECT_EQ(messageOf(path), path + " says of its version \"tool 1.0\\n\", expected ptxas of CUDA, "
                                    "a release and V");
  const std::string absent = folder / "absent";
  EXPECT_TRUE(messageOf(absent).starts_with(absent + ": cannot be run: ")) << messageOf(absent);
}

TEST_F(PtxasTest, RefusesNoCubin) {
  const std::string path = ptxas(version);
  EXPECT_TRUE(messageOf(path).starts_with(path + " has left no cubin at ")) << messageOf(path);
}

} // namespace
} // namespace heddle
