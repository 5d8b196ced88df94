// SPDX-License-Identifier: Apache-2.0
///
/// Which rows the matrices of a program are multiplied with, for codes that are chosen by these
/// rows. The program that is compiled and the one that is run on texts to see them are lowered from
/// one program and differ in the types of weights alone, so that a number means the same rows in
/// both.
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
  /// [rows, groups * k], perhaps columns of a wider buffer; [rows, k] where groups are chosen. In a
  /// loop it is what a step reads.
  mlir::Value buffer;
  /// The group that each row, or each of its choices, is multiplied with, and the order of these
  /// numbers; null where each row is multiplied with all of them.
  mlir::Value chosen, order;
  /// The groups of rows of the matrix, and the elements of a row of it.
  int64_t groups = 1, k = 0;

  friend bool operator==(const ProductRows &, const ProductRows &) = default;
};

/// What is multiplied with a matrix.
struct MatrixRows {
  /// Numbers of ProductRows, each once.
  llvm::SmallVector<int64_t, 2> sites;
  /// Whether anything is: it may only be looked up.
  bool isMatrix = false;
  /// Why not all that it is multiplied with can be seen on texts; empty if it can.
  std::string reason;
};

/// The products of a program.
struct ProgramProducts {
  std::vector<ProductRows> rows;
  /// By the symbols of the matrices that graphs read, in their order.
  llvm::MapVector<mlir::Attribute, MatrixRows> matrices;
};

/// The graphs that run on texts: those of a model that generates, else the one with the most
/// products of those that take the ids of texts and nothing else.
llvm::SmallVector<dataflow::GraphOp> graphsOfTexts(mlir::ModuleOp module);

ProgramProducts findProducts(mlir::ModuleOp module);

/// The names of the results that have the rows of a number, [tokens, k], and the groups that they
/// chose, [tokens, choices]: of k elements for each choice where these have rows of their own. And
/// that of their moments as the source of a parameter.
std::string rowsName(int64_t site);
std::string choicesName(int64_t site);
std::string momentsName(int64_t site);
/// The number in such a source; none if it is another one.
std::optional<int64_t> siteOfMoments(llvm::StringRef source);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_PRODUCTROWS_H
