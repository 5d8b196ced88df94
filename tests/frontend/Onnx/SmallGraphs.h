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

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::onnxbytes {

inline constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

template <typename Number>
std::string constant(const char *name, const std::vector<int64_t> &shape, int64_t type,
                     const std::vector<Number> &values) {
  return initializer(tensor(name, shape, type) +
                     bytes(9, std::string_view(reinterpret_cast<const char *>(values.data()),
                                               values.size() * sizeof(Number))));
}

inline std::string floats(const char *name, const std::vector<int64_t> &shape,
                          const std::vector<float> &values) {
  return constant(name, shape, 1, values);
}

inline std::string numbers(const char *name, const std::vector<int64_t> &shape,
                           const std::vector<int64_t> &values) {
  return constant(name, shape, 7, values);
}

inline std::string step(std::string_view type, const std::vector<std::string> &inputs,
                        const std::string &output, const std::string &attributes = "") {
  return graphNode(node(type, inputs, {output}) + attributes);
}

struct Read {
  std::string text;
  std::string message;
  bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
};

/// The program of a graph, or why it is none.
inline Read read(const std::string &graph, const std::string &config = "", int64_t opset = 18) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.onnx", model(graph, opset));
  if (!config.empty()) {
    folder.write("config.json", config);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto program = readOnnxProgram(context, file);
  Read result;
  if (!program.ok()) {
    result.message = program.status().message();
    return result;
  }
  llvm::raw_string_ostream stream(result.text);
  program->module->print(stream);
  return result;
}

} // namespace heddle::onnxbytes

#endif // HEDDLE_TESTS_FRONTEND_ONNX_SMALLGRAPHS_H
