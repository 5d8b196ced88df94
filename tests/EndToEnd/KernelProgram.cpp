// SPDX-License-Identifier: Apache-2.0
///
/// Compiles a program in text, with its parameters, by heddlec.
#include "tests/EndToEnd/KernelProgram.h"

#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <numeric>
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

Matrix sized(const std::string &name, int64_t rows, int64_t columns, float size) {
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
  Matrix matrix = randomMatrix(name, rows, columns, random);
  for (float &value : matrix.values) {
    value *= size;
  }
  return matrix;
}

Matrix filled(const std::string &name, int64_t rows, int64_t columns, float value) {
  return {name, rows, columns, std::vector<float>(rows * std::max<int64_t>(columns, 1), value)};
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
    if (matrix.isOfHead) {
      shape.insert(shape.begin(), 1);
      dimensions.insert(0, "1x");
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

Ragged batchOf(int rows) {
  std::vector<int32_t> ids(rows);
  for (int i = 0; i < rows; ++i) {
    ids[i] = (i * 7 + 3) % vocabulary;
  }
  Ragged batch;
  batch.append(ids);
  return batch;
}

std::vector<float> runAll(const std::string &path) {
  Ragged batch;
  std::vector<int32_t> ids(vocabulary);
  std::iota(ids.begin(), ids.end(), 0);
  batch.append(ids);
  return path.empty() ? std::vector<float>() : runBinary(path, batch)["out"];
}

ReportedProgram compileWithReport(const std::vector<Matrix> &parameters, int64_t width,
                                  const std::string &body, const std::string &pass) {
  const TemporaryFolder folder;
  const std::string file = folder / "report.json";
  ReportedProgram compiled{
      compileProgram(parameters, width, body, {"--report=" + file}), {}, {}, {}};
  compiled.report = readBytes(file);
  for (const auto &entry : nlohmann::json::parse(compiled.report, nullptr, false)) {
    if (entry["pass"] == pass && entry["taken"]) {
      compiled.taken.push_back(entry["what"]);
    } else if (entry["pass"] == pass) {
      compiled.declined.push_back(entry["reason"]);
    }
  }
  return compiled;
}

ReportedProgram compileBothWays(const std::vector<Matrix> &parameters, int64_t width,
                                const std::string &body, const std::string &pass) {
  const ReportedProgram compiled = compileWithReport(parameters, width, body, pass);
  const std::vector<float> with = runAll(compiled.path);
  const std::vector<float> without =
      runAll(compileProgram(parameters, width, body, {"--disable-pass=" + pass}));
  float largest = 0;
  for (float value : without) {
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_GT(largest, 0);
  EXPECT_TRUE(std::isfinite(largest));
  EXPECT_LE(largestDifference(with, without), 1e-5f * largest);
  return compiled;
}

} // namespace heddle
