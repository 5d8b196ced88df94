// SPDX-License-Identifier: Apache-2.0
///
/// Value numbering of a program: values with the same number are equal, bit by bit or, if a factor
/// is written in two ways, within its rounding. It works bottom-up: an operation is identified by
/// its kind, its operands' numbers, its attributes, and its parameters by content.
///
/// Caches persist between runs, so a value in one run depends on what earlier runs, perhaps of
/// other entries, appended. All caches are first assumed equal, then split if some entry appends
/// different rows to them, until nothing changes. By induction, caches of one class are equal: all
/// of them begin empty, and no run makes two of a class differ.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_VALUENUMBERING_H
#define HEDDLE_COMPILER_MODEL_SHARING_VALUENUMBERING_H

#include "compiler/Model/Parameters/ParameterContent.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <vector>

namespace heddle {

class ValueNumbering {
public:
  ValueNumbering(mlir::ModuleOp module, ParameterContents &contents);

  /// Returns the number of a value, never 0.
  unsigned numberOf(mlir::Value value) const { return numbers.lookup(value); }

  bool areEqual(mlir::Value left, mlir::Value right) const {
    return numberOf(left) == numberOf(right);
  }

  /// Returns the number that the weights of an attention have or would have as a value.
  unsigned weightsOf(transformer::AttentionOp attention) const {
    return weightNumbers.lookup(attention);
  }

  /// Properties of a cache.
  struct Cache {
    mlir::Type type;
    /// Whether attention reads it as keys, which determines its memory layout.
    bool isKeys = false;
    bool isValues = false;
    /// Whether it is excluded from comparison: an entry names it twice, or uses it in another way.
    bool isAlone = false;
    /// The operation with which each entry appends to it, if it does.
    llvm::MapVector<mlir::Operation *, transformer::AppendOp> appends;
    unsigned number = 0;
  };

  /// Returns every cache that an entry names, in program order.
  const llvm::MapVector<mlir::StringAttr, Cache> &caches() const { return cacheTable; }

  /// Returns whether two caches are of one class and so always have the same rows.
  bool areOneClass(mlir::StringAttr left, mlir::StringAttr right) const;

  ParameterContents &parameters() const { return contents; }

private:
  /// The identity of a value: kinds, numbers of operands and attributes; parameters are compared
  /// separately.
  struct Term {
    std::vector<uintptr_t> key;
    llvm::SmallVector<ParameterRows, 4> parameters;
  };
  /// The values with one key. Parameters are read only if there is a second value to compare with,
  /// and only once: many layers may apply different maps to the same rows.
  struct Known {
    llvm::SmallVector<ParameterRows, 4> first;
    unsigned number = 0;
    /// The numbers by the classes of their parameters; empty while there is only one.
    std::map<std::vector<unsigned>, unsigned> numbers;
  };
  /// The numbers of the operands of scores, which an attention shares with the operation of its
  /// weights.
  struct Scores {
    mlir::Value query, key, queries, keys;
    mlir::ValueRange locations;
    mlir::Attribute heads, scale, visibility, hidden, score, pairs, locationTaps;
    mlir::FlatSymbolRefAttr bias, pairWeights, locationFilters, locationWeights;
    bool isRaw;
  };

  void findCaches();
  void findArguments(mlir::func::FuncOp entry);
  void noteUse(mlir::Operation *op);
  Cache *cacheOf(mlir::Value cache);
  void numberAll();
  bool splitClasses();
  void numberOperation(mlir::Operation *op);
  void numberArgument(mlir::BlockArgument argument);
  unsigned operandNumber(mlir::Value value);
  unsigned numberScores(const Scores &scores);
  unsigned numberAttend(unsigned weights, mlir::Value value, mlir::Value queries, mlir::Value keys,
                        mlir::Attribute visibility, mlir::Type type);
  unsigned numberLinear(transformer::LinearOp linear, int64_t first, int64_t count);
  unsigned numberColumns(transformer::ColumnsOp columns);
  unsigned numberScale(transformer::ScaleOp scale);
  unsigned numberOther(mlir::Operation *op);
  unsigned intern(Term term);

  mlir::ModuleOp module;
  ParameterContents &contents;
  llvm::MapVector<mlir::StringAttr, Cache> cacheTable;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Operation *, unsigned> weightNumbers;
  std::map<std::vector<uintptr_t>, Known> terms;
  unsigned last = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_SHARING_VALUENUMBERING_H
