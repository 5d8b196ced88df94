// SPDX-License-Identifier: Apache-2.0
///
/// Numbers for the values of a program: values of one number are equal, bit by bit or, where a
/// factor is spelt in two ways, within its rounding. Bottom-up: an operation is what it is, its
/// operands' numbers, its attributes, and its parameters by content.
///
/// Caches live on between runs, so that a value in one run depends on what earlier runs, perhaps of
/// other entries, appended. Caches are first taken to be equal, then told apart where some entry
/// appends other rows to them, until nothing changes: the proof is that all caches begin empty and
/// that no run makes two of a class differ.
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

  /// The number of a value, never 0.
  unsigned numberOf(mlir::Value value) const { return numbers.lookup(value); }

  bool areEqual(mlir::Value left, mlir::Value right) const {
    return numberOf(left) == numberOf(right);
  }

  /// The number that the weights of an attention have or would have as a value.
  unsigned weightsOf(transformer::AttentionOp attention) const {
    return weightNumbers.lookup(attention);
  }

  /// What there is to know of a cache.
  struct Cache {
    mlir::Type type;
    /// How attention reads it: it lies in memory in one way.
    bool isKeys = false;
    bool isValues = false;
    /// Not to be compared: an entry names it twice, or uses it in a way of its own.
    bool isAlone = false;
    /// What each entry appends to it, if it does.
    llvm::MapVector<mlir::Operation *, transformer::AppendOp> appends;
    unsigned number = 0;
  };

  /// Every cache that an entry names, in the order of the program.
  const llvm::MapVector<mlir::StringAttr, Cache> &caches() const { return cacheTable; }

  /// Caches of one class always have the same rows.
  bool areOneClass(mlir::StringAttr left, mlir::StringAttr right) const;

  ParameterContents &parameters() const { return contents; }

private:
  /// What a value is: kinds, numbers of operands, attributes; and parameters, compared apart.
  struct Term {
    std::vector<uintptr_t> key;
    llvm::SmallVector<ParameterRows, 4> parameters;
  };
  /// The values of one key. Parameters are read only when there is a second of them to compare
  /// with, and then each once: many layers may apply maps of their own to the same rows.
  struct Known {
    llvm::SmallVector<ParameterRows, 4> first;
    unsigned number = 0;
    /// All, by the classes of their parameters; empty while there is one.
    std::map<std::vector<unsigned>, unsigned> numbers;
  };
  /// The numbers of the parts of scores: what an attention and the operation of its weights share.
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
