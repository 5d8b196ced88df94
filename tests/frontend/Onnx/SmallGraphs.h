// SPDX-License-Identifier: Apache-2.0
///
/// Parts of small graphs, and the programs that they become.
#ifndef HEDDLE_TESTS_FRONTEND_ONNX_SMALLGRAPHS_H
#define HEDDLE_TESTS_FRONTEND_ONNX_SMALLGRAPHS_H

#include "frontend/Onnx/OnnxProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Onnx/OnnxBytes.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::onnxbytes {

inline constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// What became of a graph: its program, or a message without the file's name.
struct Read {
  std::string text;
  std::string message;
  std::vector<std::string> notes;
  bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
};

/// How a file is read.
struct Reading {
  /// config.json beside it; empty: none.
  std::string config = "";
  bool isStatic = false;
  bool showsLocations = false;
};

/// Reads a ModelProto.
inline Read readModel(const std::string &model, const Reading &how = {}) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model);
  if (!how.config.empty()) {
    folder.write("config.json", how.config);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto program = readOnnxProgram(context, file, how.isStatic);
  Read result;
  if (!program.ok()) {
    result.message = program.status().message();
    // What is wrong with config.json is said of that file.
    const bool isOfGraph = result.message.starts_with(file + ": ");
    EXPECT_TRUE(isOfGraph || !how.config.empty()) << result.message;
    result.message.erase(0, isOfGraph ? file.size() + 2 : 0);
    return result;
  }
  result.notes = program->notes;
  EXPECT_EQ(program->hasFixedSizes, how.isStatic);
  mlir::OpPrintingFlags flags;
  if (how.showsLocations) {
    flags.enableDebugInfo();
  }
  llvm::raw_string_ostream stream(result.text);
  program->module->print(stream, flags);
  return result;
}

/// Whether a program has all of these parts, in this order.
inline void expectInOrder(const std::string &text, std::initializer_list<const char *> parts) {
  size_t at = 0;
  for (const char *const part : parts) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << "expected " << part << " in order\n" << text;
  }
}

} // namespace heddle::onnxbytes

#endif // HEDDLE_TESTS_FRONTEND_ONNX_SMALLGRAPHS_H
