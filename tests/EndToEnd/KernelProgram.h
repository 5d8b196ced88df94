// SPDX-License-Identifier: Apache-2.0
///
/// Small programs around one kernel, for tests against a naive twin: rows are looked up in a table
/// of random values, so that the twin knows each of them by its id.
#ifndef HEDDLE_TESTS_ENDTOEND_KERNELPROGRAM_H
#define HEDDLE_TESTS_ENDTOEND_KERNELPROGRAM_H

#include "tests/EndToEnd/CompiledModel.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace heddle {

/// Ids are less than this, which is the number of rows of every looked-up table.
constexpr int vocabulary = 61;

/// A matrix of the program and its values.
struct Matrix {
  std::string name;
  int64_t rows;
  int64_t columns; // 0: a vector
  std::vector<float> values;
  /// Whether it is the tensor of one head, [1, rows, columns].
  bool isOfHead = false;

  double at(int64_t row, int64_t column = 0) const {
    return values[columns == 0 ? row : row * columns + column];
  }
};

/// Returns a matrix of normally distributed values, scaled so that products with rows of about 1
/// are about 1.
Matrix randomMatrix(const std::string &name, int64_t rows, int64_t columns, std::mt19937 &random);

/// Returns such a matrix times `size`, which depends only on the name.
Matrix sized(const std::string &name, int64_t rows, int64_t columns, float size);

/// Returns a matrix of one value.
Matrix filled(const std::string &name, int64_t rows, int64_t columns, float value);

/// `tensor<SHAPExf32>`.
std::string tensorType(const std::string &shape);

/// `tensor<?xWIDTHxf32>`.
std::string rowsType(int64_t width);

/// Returns the line that looks `result` up by the ids of the input.
std::string gatherText(const std::string &result, const std::string &table, int64_t width);

/// Compiles parameters and the body of the entry `encode`, which reads %ids and %rows and defines
/// %out, rows of `width`; returns the path of the binary, empty after a failure. `arguments` are
/// additional arguments of heddlec.
std::string compileProgram(const std::vector<Matrix> &parameters, int64_t width,
                           const std::string &body, const std::vector<std::string> &arguments = {});

/// Returns a sequence of `rows` ids that differ from their neighbours.
Ragged batchOf(int rows);

/// Returns the result for one row of each id, all in one sequence.
std::vector<float> runAll(const std::string &path);

/// A binary, its report, and the part of one pass in it.
struct ReportedProgram {
  std::string path;
  std::string report;
  std::vector<std::string> taken;
  std::vector<std::string> declined;
};

ReportedProgram compileWithReport(const std::vector<Matrix> &parameters, int64_t width,
                                  const std::string &body, const std::string &pass);

/// Compiles with and without the pass, and checks that the results are finite and close.
ReportedProgram compileBothWays(const std::vector<Matrix> &parameters, int64_t width,
                                const std::string &body, const std::string &pass);

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_KERNELPROGRAM_H
