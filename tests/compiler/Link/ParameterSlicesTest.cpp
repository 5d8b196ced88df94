// SPDX-License-Identifier: Apache-2.0
///
/// Large matrices, some rows at a time.
#include "compiler/Link/ParameterValues.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <span>

using namespace mlir;

namespace heddle {
namespace {

// Large matrices are processed in slices, so that the memory of compilation does not grow with
// them.
TEST(ParametersTest, LargeMatricesAreReadInParts) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
    transformer.parameter @a : tensor<5000x2000xf32> from "a"
    transformer.parameter @narrow : tensor<5000x2000xbf16> = convert(@a)
    transformer.parameter @p : tensor<105x2000x48xbf16> = pack(@narrow, 48))mlir",
                                            &context);
  ASSERT_TRUE(module);
  ParameterSource source = [](llvm::StringRef, ElementType, std::span<std::byte>) -> Status {
    return HEDDLE_ERROR(Internal, "read as a whole");
  };
  int64_t most = 0, all = 0;
  source.setParts({[](llvm::StringRef) { return true; },
                   [&](llvm::StringRef, ElementType, int64_t, std::span<std::byte> to) {
                     std::fill(to.begin(), to.end(), std::byte(1));
                     most = std::max<int64_t>(most, to.size());
                     all += to.size();
                     return Status();
                   }});
  auto parameter = module->lookupSymbol<transformer::ParameterOp>("p");
  int64_t written = 0;
  const Status status = ParameterEvaluator(*module, source)
                            .evaluateStored(parameter, [&](std::span<const std::byte> piece) {
                              written += piece.size();
                              return Status();
                            });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(written, int64_t(105) * 48 * 2000 * 2);
  EXPECT_EQ(all, int64_t(5000) * 2000 * 4);
  EXPECT_LE(most, int64_t(1) << 24);
  // The hash of a range of rows depends only on their values and number.
  const ParameterHasher hasher = parameterHasher(source);
  auto matrix = module->lookupSymbol<transformer::ParameterOp>("a");
  EXPECT_EQ(hasher(matrix, 0, 4999), hasher(matrix, 1, 4999));
  EXPECT_NE(hasher(matrix, 0, 4999), hasher(matrix, 0, 5000));
}

} // namespace
} // namespace heddle
