// SPDX-License-Identifier: Apache-2.0
///
/// The model level by definition: evaluates an entry for one sequence, operation by operation, in
/// double precision with bounds. It follows the documentation of the dialect and shares nothing
/// with the compiler, so that what both say is right for two reasons. It knows the operations that
/// passes make too: what is left of a program after fusion is judged without being compiled.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_INTERPRETER_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_INTERPRETER_H

#include "dialects/Transformer/Transformer.h"
#include "heddle/Status.h"
#include "tests/EndToEnd/RandomPrograms/BoundedTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <string>
#include <vector>

namespace heddle {

/// The tensors of a checkpoint, by name, row major.
using Tensors = std::map<std::string, std::vector<float>>;

/// Rows of floats for an input of that width, made of the ids of a sequence: the same ids at the
/// same positions give the same rows. A few are beyond the usual magnitudes.
std::vector<float> featuresOf(const std::vector<int32_t> &ids, int64_t width);

/// The pixels in a row where the ids of a sequence are an image of any width: one of the numbers
/// that divide how many they are, which the first says.
int64_t imageWidthOf(const std::vector<int32_t> &ids);

/// What one sequence brings to an entry.
struct EntryInputs {
  /// By the input's name; one that is missing is optional, and zeros.
  std::map<std::string, std::vector<int32_t>> ids;
  /// What rows of floats are made of, unless they are optional: those are zeros.
  std::vector<int32_t> features;
  /// Rows of the sequence, and how many are side by side where it is an image of any width.
  int64_t rows = 0;
  int64_t width = 1;
  /// Caches that another entry has filled, by name, and how many positions they have.
  std::map<std::string, BoundedTensor> memory;
  int64_t memoryRows = 0;
};

/// What an entry gives for it, by name.
struct EntryValues {
  std::map<std::string, BoundedTensor> outputs;
  /// Those that the entry has appended to, empty before.
  std::map<std::string, BoundedTensor> caches;
};

/// The number that hides a key: beyond anything, or one like any other.
Bounded hiddenScore(double hidden);
/// A function of one number, by its row in ActivationTwins.h.
Bounded activated(transformer::Activation function, const Bounded &x);
/// One row of scores becomes probabilities.
void softmaxRow(Bounded *scores, size_t count);
/// One row of numbers, each divided by the sum of all.
void divideRowBySum(Bounded *numbers, size_t count);
/// Layer norm of every row.
void normRows(BoundedTensor &rows, const BoundedTensor &weight, const BoundedTensor &bias,
              double epsilon);

/// One run of an entry.
class Interpreter {
public:
  Interpreter(mlir::func::FuncOp entry, const Tensors &tensors) : entry(entry), tensors(tensors) {}

  /// The whole sequence at once, with nothing before it. InvalidArgument where an operation meets
  /// other rows than it takes: types say neither whose rows they are nor how many, so that no
  /// verifier sees it.
  Result<EntryValues> run(const EntryInputs &inputs);

  /// The operations that have a rule.
  static std::vector<std::string> operations();

private:
  /// Which keys rows see; both count from the beginning of the sequence.
  struct Mask {
    transformer::Visibility visibility;
    int64_t rows;
    int64_t keys;
    bool sees(int64_t row, int64_t key) const { return visibility.sees(row, key); }
  };
  template <typename Op> static void apply(Interpreter &interpreter, mlir::Operation *op) {
    interpreter.evaluate(mlir::cast<Op>(op));
  }
  using Rules = std::map<std::string, void (*)(Interpreter &, mlir::Operation *)>;
  template <typename Op> static void addRule(Rules &rules);
  template <typename... Ops> static Rules makeRules();
  /// By the name of the operation: one for each of the dialect.
  static const Rules &rules();

  /// Whether there are as many rows, keys or heads as the operation takes. The run ends if there
  /// are not: a rule must return, and defines nothing.
  [[nodiscard]] bool fits(mlir::Operation *op, int64_t found, int64_t expected);
  /// The same of a value that has a row for each of these segments.
  [[nodiscard]] bool fitsIn(mlir::Operation *op, mlir::Value rows, mlir::Value itsSegments) {
    return fits(op, of(rows).shape.front(), segments.at(itsSegments));
  }
  /// The same of values that have equally many rows.
  [[nodiscard]] bool fitTogether(mlir::Operation *op, mlir::ValueRange rows);
  /// The same of scores, with a column for each key.
  [[nodiscard]] bool fitsScores(mlir::Operation *op, const BoundedTensor &scores, int64_t rows,
                                int64_t keys) {
    return fits(op, scores.shape.front(), rows) && fits(op, scores.width(), keys);
  }
  /// Evaluates all operations of a block but the last.
  void evaluateBlock(mlir::Block &block);
  void bindArguments(const EntryInputs &inputs);
  EntryValues results();

  /// The rule of an operation: a specialization for each, in Interpreted*.cpp or beside the run.
  template <typename Op> void evaluate(Op op);
  /// A function of each element and the one of the right operand that meets it.
  template <typename Op>
  void combine(Op op, Bounded (*combineElements)(const Bounded &, const Bounded &));
  /// softmax(scale * Q K^T + bias) of every head, over the keys that each row sees.
  template <typename Op> BoundedTensor weightsOf(Op op, bool isRaw);
  /// Whether the operands of an attention meet the rows and keys that it names.
  template <typename Op> bool fitsAttention(Op op);
  template <typename Op>
  std::vector<Bounded> linesAt(Op op, int64_t row, int64_t key, int64_t keys);
  /// The pixels of segments side by side, for an operation that says how many there are or, by `?`,
  /// that each image has its own.
  int64_t acrossOf(mlir::Value segments, int64_t across) const {
    const auto found = widths.find(segments);
    return across != GridSize::anyWidth ? across
           : found == widths.end()      ? imageWidth
                                        : found->second;
  }
  /// The values of a parameter, as they are stored: f32.
  const BoundedTensor &parameter(llvm::StringRef symbol);
  /// The same before they are rounded: expressions over expressions are composed in f64.
  const BoundedTensor &composed(llvm::StringRef symbol);
  BoundedTensor evaluateParameter(transformer::ParameterOp op);
  /// Evaluates an expression that only passes write.
  void evaluateAlgebra(transformer::ParameterExpressionAttr expression, BoundedTensor &result);
  const BoundedTensor &of(mlir::Value value) const { return values.at(value); }
  void define(mlir::Value value, BoundedTensor tensor) { values[value] = std::move(tensor); }

  mlir::func::FuncOp entry;
  const Tensors &tensors;
  /// Rows, heads, scores, and the rows of caches.
  llvm::DenseMap<mlir::Value, BoundedTensor> values;
  llvm::DenseMap<mlir::Value, std::vector<int64_t>> ids;
  llvm::DenseMap<mlir::Value, Mask> masks;
  /// Positions of each of the segments.
  llvm::DenseMap<mlir::Value, int64_t> segments;
  /// How many of these are side by side in an image of any width: of other segments than the
  /// entry's what strides leave.
  llvm::DenseMap<mlir::Value, int64_t> widths;
  int64_t imageWidth = 1;
  /// Why the run has ended early; empty if it has not.
  std::string problem;
  std::map<std::string, BoundedTensor> parameters;
  std::map<std::string, BoundedTensor> composedParameters;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_INTERPRETER_H
