// SPDX-License-Identifier: Apache-2.0
///
/// Conversion of entries to shared functions and back.
#include "frontend/Import/SharedFunctions.h"

#include "dialects/Transformer/Transformer.h"
#include "tests/frontend/Builder/PrintedModule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace heddle {
namespace {

class SharedFunctionsTest : public testing::Test {
protected:
  SharedFunctionsTest() {
    context.loadDialect<func::FuncDialect, transformer::TransformerDialect>();
  }

  /// Prints the program with locations.
  static std::string text(ModuleOp module) {
    std::string result;
    llvm::raw_string_ostream stream(result);
    module.print(stream, OpPrintingFlags().enableDebugInfo(true, false));
    return result;
  }

  OwningOpRef<ModuleOp> parse(const std::string &program) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, ParserConfig(&context));
    EXPECT_TRUE(module) << program;
    return module;
  }

  /// Returns the error about the calls of a program.
  std::string errorOf(const std::string &program) {
    std::string error;
    ScopedDiagnosticHandler handler(&context,
                                    [&](Diagnostic &diagnostic) { error += diagnostic.str(); });
    OwningOpRef<ModuleOp> module = parse(program);
    EXPECT_TRUE(failed(inlineCalls(*module)));
    return error;
  }

  size_t functions(ModuleOp module) { return llvm::range_size(module.getOps<func::FuncOp>()); }

  MLIRContext context;
};

/// An entry that scales argument number `of` once for each of `names`, followed by more operations.
std::string entry(const std::string &name, const std::vector<std::string> &names, int of = 0,
                  const std::string &rest = "") {
  std::string text = fmt::format(
      "  func.func @{}(%x0: tensor<?x4xf32>, %x1: tensor<?x4xf32>) -> tensor<?x4xf32> {{\n", name);
  std::string last = fmt::format("%x{}", of);
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("    %{} = transformer.scale {}, 2.0 : tensor<?x4xf32> loc(\"{}\")\n", i,
                        last, names[i]);
    last = fmt::format("%{}", i);
  }
  return text + rest + fmt::format("    return {} : tensor<?x4xf32>\n  }}\n", last);
}

const std::vector<std::string> five = {"a", "b", "c", "d", "e"};

TEST_F(SharedFunctionsTest, WhatEntriesBeginWithIsWrittenOnce) {
  std::vector<std::string> six = five;
  six.push_back("f");
  // The arguments may be in another order.
  auto module = parse("module {\n" + entry("one", five) + entry("two", six, 1) + "}\n");
  const std::string before = text(*module);
  shareBeginnings(*module);
  ASSERT_TRUE(succeeded(verify(*module)));
  auto shared = module->lookupSymbol<func::FuncOp>("shared_by_one_and_two");
  ASSERT_TRUE(shared);
  EXPECT_TRUE(shared.isPrivate());
  EXPECT_EQ(llvm::range_size(shared.getBody().front()), 6u);
  EXPECT_EQ(shared.getNumArguments(), 1u);
  auto two = module->lookupSymbol<func::FuncOp>("two");
  EXPECT_EQ(llvm::range_size(two.getBody().front()), 3u);
  ASSERT_TRUE(succeeded(inlineCalls(*module)));
  EXPECT_EQ(text(*module), before);
}

TEST_F(SharedFunctionsTest, ValuesUsedLaterAreResults) {
  const std::string more = "    %8 = transformer.add %1, %4 : tensor<?x4xf32>, tensor<?x4xf32> "
                           "loc(\"sum\")\n    return %8 : tensor<?x4xf32>\n  }\n";
  std::string sum = entry("two", five);
  sum = sum.substr(0, sum.find("    return")) + more;
  auto module = parse("module {\n" + entry("one", five) + sum + entry("three", five) + "}\n");
  const std::string before = text(*module);
  shareBeginnings(*module);
  ASSERT_TRUE(succeeded(verify(*module)));
  auto shared = module->lookupSymbol<func::FuncOp>("shared_by_one_and_two_and_three");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared.getNumResults(), 2u);
  ASSERT_TRUE(succeeded(inlineCalls(*module)));
  EXPECT_EQ(text(*module), before);
}

TEST_F(SharedFunctionsTest, WhatDiffersIsNotShared) {
  const std::string one = entry("one", five);
  std::vector<std::string> other = five;
  other[3] = "x";
  std::string factor = entry("two", five);
  factor.replace(factor.find("2.0"), 3, "3.0");
  // Another checkpoint name, another factor, or too few operations.
  for (const std::string &two : {entry("two", other), factor, entry("two", {"a", "b", "c"})}) {
    auto module = parse("module {\n" + one + two + "}\n");
    const std::string before = text(*module);
    shareBeginnings(*module);
    EXPECT_EQ(text(*module), before);
  }
  // An argument of one entry corresponds to two of the other.
  const std::string head = "(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {\n";
  const auto sums = [&](const std::string &name, const std::string &right) {
    std::string body;
    for (int i = 0; i < 5; ++i) {
      body += fmt::format("    %{} = transformer.add %x, %{} : tensor<?x4xf32>, tensor<?x4xf32> "
                          "loc(\"s\")\n",
                          i, right);
    }
    return "  func.func @" + name + head + body + "    return %4 : tensor<?x4xf32>\n  }\n";
  };
  auto module = parse("module {\n" + sums("one", "y") + sums("two", "x") + "}\n");
  const std::string before = text(*module);
  shareBeginnings(*module);
  EXPECT_EQ(text(*module), before);
}

/// A function that calls another `times` times, each time with the previous result.
std::string caller(const std::string &name, const std::string &callee, int times = 1) {
  std::string text = "  func.func " + name +
                     "(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n    %0 = transformer.scale "
                     "%x, 2.0 : tensor<?x4xf32>\n";
  for (int i = 0; i < times; ++i) {
    text += fmt::format("    %{} = call {}(%{}) : (tensor<?x4xf32>) -> tensor<?x4xf32>\n", i + 1,
                        callee, i);
  }
  return text + fmt::format("    return %{} : tensor<?x4xf32>\n  }}\n", times);
}

TEST_F(SharedFunctionsTest, CallsOfCallsAndOfEntries) {
  auto module = parse("module {\n" + caller("@entry", "@middle", 2) +
                      caller("private @middle", "@last") + caller("@last", "", 0) + "}\n");
  ASSERT_TRUE(succeeded(inlineCalls(*module)));
  ASSERT_TRUE(succeeded(verify(*module)));
  // Private functions are removed after inlining; entries are kept.
  EXPECT_EQ(functions(*module), 2u);
  EXPECT_FALSE(module->lookupSymbol("middle"));
  EXPECT_EQ(text(*module).find("call"), std::string::npos);
  auto entry = module->lookupSymbol<func::FuncOp>("entry");
  EXPECT_EQ(llvm::range_size(entry.getBody().front()), 1u + 2 * 2 + 1);
}

TEST_F(SharedFunctionsTest, WhatCannotBeInlined) {
  EXPECT_EQ(errorOf("module {\n" + caller("@one", "@two") +
                    "  func.func private @two(tensor<?x4xf32>) -> tensor<?x4xf32>\n}\n"),
            "'func.call' op calls '@two', which has no body, expected a function of one block");
  EXPECT_EQ(errorOf("module {\n" + caller("@one", "@two") +
                    "  func.func @two(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
                    "    return %x : tensor<?x4xf32>\n  ^bb1:\n"
                    "    return %x : tensor<?x4xf32>\n  }\n}\n"),
            "'func.call' op calls '@two', which has several blocks, expected a function of one "
            "block");
  const std::string cycle =
      "'func.func' op calls itself, or a function that does, expected calls that end";
  EXPECT_EQ(errorOf("module {\n" + caller("@one", "@one") + "}\n"), cycle);
  EXPECT_EQ(errorOf("module {\n" + caller("@one", "@two") + caller("@two", "@one") + "}\n"), cycle);
  // Every function calls the next one twice.
  std::string doubling;
  for (int i = 0; i < 30; ++i) {
    doubling += caller(fmt::format("private @f{}", i), fmt::format("@f{}", i + 1), 2);
  }
  EXPECT_EQ(errorOf("module {\n" + doubling + caller("private @f30", "", 0) + "}\n"),
            "'func.call' op makes the program too large, expected calls that bring in at most "
            "1048576 operations");
}

} // namespace
} // namespace heddle
