// SPDX-License-Identifier: Apache-2.0
///
/// Helpers to build small graphs and to read them as programs.
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

/// The result of reading a graph: its program, or an error message without the name of the file.
struct Read {
  std::string text;
  std::string message;
  std::vector<std::string> notes;
  bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
};

/// Options for reading a file.
struct Reading {
  /// The content of the config.json beside the file; empty if there is none.
  std::string config = "";
  bool isStatic = false;
  bool showsLocations = false;
};

/// Reads a serialized ModelProto.
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
    // Errors in config.json name that file.
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

/// Expects all parts to occur in this order.
inline void expectInOrder(const std::string &text, std::initializer_list<const char *> parts) {
  size_t at = 0;
  for (const char *const part : parts) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << "expected " << part << " in order\n" << text;
  }
}

} // namespace heddle::onnxbytes

#endif // HEDDLE_TESTS_FRONTEND_ONNX_SMALLGRAPHS_H
