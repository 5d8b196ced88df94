// SPDX-License-Identifier: Apache-2.0
///
/// A program in text with its parameters beside it, compiled by heddlec.
#include "tests/EndToEnd/KernelProgram.h"

#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/formats/Config/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace heddle {

Matrix randomMatrix(const std::string &name, int64_t rows, int64_t columns, std::mt19937 &random) {
  Matrix matrix{name, rows, columns, {}};
  float scale = columns == 0 ? 1.0f : 1.0f / std::sqrt(static_cast<float>(columns));
  std::normal_distribution<float> normal(0, scale);
  matrix.values.resize(rows * std::max<int64_t>(columns, 1));
  std::generate(matrix.values.begin(), matrix.values.end(), [&] { return normal(random); });
  return matrix;
}

std::string tensorType(const std::string &shape) { return "tensor<" + shape + "xf32>"; }
std::string rowsType(int64_t width) { return tensorType("?x" + std::to_string(width)); }

std::string gatherText(const std::string &result, const std::string &table, int64_t width) {
  return "  %" + result + " = transformer.gather @" + table + "[%ids] : " + rowsType(width) + "\n";
}

std::string compileProgram(const std::vector<Matrix> &parameters, int64_t width,
                           const std::string &body, const std::vector<std::string> &arguments) {
  std::string text;
  std::vector<SafetensorsTensor> tensors;
  for (const Matrix &matrix : parameters) {
    std::vector<int64_t> shape = {matrix.rows};
    std::string dimensions = std::to_string(matrix.rows);
    if (matrix.columns > 0) {
      shape.push_back(matrix.columns);
      dimensions += "x" + std::to_string(matrix.columns);
    }
    text += "transformer.parameter @" + matrix.name + " : " + tensorType(dimensions) + " from \"" +
            matrix.name + "\"\n";
    tensors.push_back(
        {matrix.name, ElementType::F32, shape, std::as_bytes(std::span(matrix.values))});
  }
  text += "func.func @encode(%ids: tensor<?xi32> {transformer.name = \"input_ids\"}, "
          "%rows: !transformer.segments) -> (" +
          rowsType(width) + " {transformer.name = \"out\"}) {\n" + body +
          "  return %out : " + rowsType(width) + "\n}\n";
  TemporaryFolder folder;
  std::string program = folder.write("program.mlir", text);
  EXPECT_TRUE(writeSafetensors(folder / "program.safetensors", tensors).ok());
  return compileModel(program, arguments);
}

} // namespace heddle
