// SPDX-License-Identifier: Apache-2.0
///
/// The rows that the matrices of a program are multiplied with, for calibrated codes. The compiled
/// program and the one that runs on texts are lowered from the same program and differ only in the
/// types of weights, so that a number means the same rows in both.
#ifndef HEDDLE_COMPILER_DATAFLOW_PRODUCTROWS_H
#define HEDDLE_COMPILER_DATAFLOW_PRODUCTROWS_H

#include "dialects/Dataflow/Dataflow.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Rows that products read.
struct ProductRows {
  dataflow::GraphOp graph;
  /// [rows, groups * k], possibly columns of a wider buffer; [rows, k] if groups are chosen. In a
  /// loop, the value that a step reads.
  mlir::Value buffer;
  /// The group that each row, or each of its choices, is multiplied with, and the order of these
  /// numbers; null if each row is multiplied with all groups.
  mlir::Value chosen, order;
  /// The groups of rows of the matrix, and the elements of each row.
  int64_t groups = 1, k = 0;

  friend bool operator==(const ProductRows &, const ProductRows &) = default;
};

/// The rows that a matrix is multiplied with.
struct MatrixRows {
  /// Indices of ProductRows, without duplicates.
  llvm::SmallVector<int64_t, 2> sites;
  /// Whether it is multiplied at all, not only looked up.
  bool isMatrix = false;
  /// Why not all of its products can be observed on texts; empty if they can.
  std::string reason;
};

/// The products of a program.
struct ProgramProducts {
  std::vector<ProductRows> rows;
  /// By the symbols of the matrices that graphs read, in their order.
  llvm::MapVector<mlir::Attribute, MatrixRows> matrices;
};

/// Returns the graphs that run on texts: those of a model that generates, else the graph with the
/// most products among those whose only inputs are the ids of texts.
llvm::SmallVector<dataflow::GraphOp> graphsOfTexts(mlir::ModuleOp module);

ProgramProducts findProducts(mlir::ModuleOp module);

/// Return the names of the results with the rows of a site, [tokens, k], and with the groups that
/// they chose, [tokens, choices]. If choices have rows of their own, the rows are k elements per
/// choice. And the name of their moments as the source of a parameter.
std::string rowsName(int64_t site);
std::string choicesName(int64_t site);
std::string momentsName(int64_t site);
/// Returns the site in such a source; nothing if it is another one.
std::optional<int64_t> siteOfMoments(llvm::StringRef source);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_PRODUCTROWS_H
