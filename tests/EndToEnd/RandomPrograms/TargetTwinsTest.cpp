// SPDX-License-Identifier: Apache-2.0
///
/// Checks which targets share code, and that a program for all of them contains it once.
#include "tests/EndToEnd/RandomPrograms/TargetTwins.h"
#include "compiler/Link/LinkModel.h"
#include "tests/EndToEnd/RandomPrograms/ProgramCompiler.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"
#include "tests/base/TemporaryFolder.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text) {
  return parseSourceString<ModuleOp>(text, ParserConfig(&context));
}

/// Returns the kernels of a target: a function that stores a number.
std::string kernelsOf(const std::string &target, int number) {
  return "module @\"" + target + "\" {\n  llvm.func @\"store." + target +
         "\"(%to: !llvm.ptr) {\n    %number = llvm.mlir.constant(" + std::to_string(number) +
         " : i32) : i32\n    llvm.store %number, %to : i32, !llvm.ptr\n    llvm.return\n  }\n}\n";
}

TEST(TargetTwins, HaveEqualLoopsAndProcessors) {
  auto context = createContext();
  // The first is for another processor, the last computes something else.
  auto module =
      parse(*context, kernelsOf("x86-64-v3", 1) + kernelsOf("x86-64-v4", 1) +
                          kernelsOf("x86-64-v4-vnni", 1) + kernelsOf("x86-64-v4-bf16", 2));
  ASSERT_TRUE(module);
  const TargetTwins twins = findTwins(*module);
  EXPECT_EQ(twins, (TargetTwins{{"x86-64-v4-vnni", "x86-64-v4"}}));
  removeTwins(*module, twins);
  std::vector<std::string> left;
  for (auto target : module->getOps<ModuleOp>()) {
    left.push_back(target.getSymName()->str());
  }
  EXPECT_EQ(left, (std::vector<std::string>{"x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"}));
}

TEST(TargetTwins, AreComparedByTheirCode) {
  auto context = createContext();
  auto module = parse(*context, kernelsOf("x86-64-v4", 1) + kernelsOf("x86-64-v4-vnni", 1) +
                                    kernelsOf("x86-64-v4-bf16", 2));
  ASSERT_TRUE(module);
  Result<CompiledKernels> compiled = compileKernels(*module, /*cache=*/nullptr, {});
  ASSERT_EQ(compiled.status().message(), "");
  ASSERT_EQ(compiled->objects.size(), 3U);
  const Code &code = compiled->objects[0];
  EXPECT_NE(code, compiled->objects[1]) << "they have other names";
  EXPECT_TRUE(haveSameCode(code, compiled->objects[1]));
  EXPECT_FALSE(haveSameCode(code, compiled->objects[2]));
  EXPECT_FALSE(haveSameCode(Code(), Code())) << "what cannot be read is not the same";
}

TEST(TargetTwins, AreFoundInPrograms) {
  auto context = createContext();
  Result<TestProgram> program = generateProgram(*context, 3);
  ASSERT_EQ(program.status().message(), "");
  TemporaryFolder folder;
  ProgramCompiler compiler(folder.path(),
                           {"x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16"});
  const PassChoice all{"all passes", {}};
  auto binary = compiler.compile(*program, all);
  ASSERT_EQ(binary.status().message(), "");
  ASSERT_TRUE(binary->has_value());
  EXPECT_EQ((*binary)->twins,
            (TargetTwins{{"x86-64-v4-bf16", "x86-64-v4"}, {"x86-64-v4-vnni", "x86-64-v4"}}));
  // The same passes give nothing new, until the program is discarded.
  auto again = compiler.compile(*program, all);
  ASSERT_EQ(again.status().message(), "");
  EXPECT_FALSE(again->has_value());
  compiler.clear();
  again = compiler.compile(*program, all);
  ASSERT_EQ(again.status().message(), "");
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->twins, (*binary)->twins);
}

} // namespace
} // namespace heddle
