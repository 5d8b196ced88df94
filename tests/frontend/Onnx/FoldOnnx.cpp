// SPDX-License-Identifier: Apache-2.0
///
/// Prints the outputs of graphs without inputs, one per line, or the reason why a graph cannot be
/// evaluated.
///
///     fold-onnx FILE ...
#include "frontend/Onnx/Folding.h"

#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

int main(int count, char **arguments) {
  for (int i = 1; i < count; ++i) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    const auto tensors = heddle::foldOnnxGraph(context, arguments[i]);
    if (!tensors.ok()) {
      fmt::print("{}\trefused\t{}\n", arguments[i], tensors.status().message());
      continue;
    }
    for (const heddle::FoldedTensor &tensor : *tensors) {
      const std::string values = tensor.isReal ? fmt::format("{}", fmt::join(tensor.reals, " "))
                                               : fmt::format("{}", fmt::join(tensor.integers, " "));
      fmt::print("{}\t{}\t{}\t{}\n", arguments[i], tensor.name, fmt::join(tensor.shape, " "),
                 values);
    }
    std::fflush(stdout);
  }
}
