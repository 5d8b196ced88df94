// SPDX-License-Identifier: Apache-2.0
///
/// The semantics of the model level: evaluates an entry for one sequence, operation by operation,
/// in double precision with bounds. It follows the documentation of the dialect and shares no code
/// with the compiler, so that their agreement is evidence. It also supports the operations that
/// passes create: a program after fusion is judged without being compiled.
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

/// The tensors of a checkpoint, by name, row-major.
using Tensors = std::map<std::string, std::vector<float>>;

/// Returns rows of floats for an input of that width, derived from the ids of a sequence: the same
/// ids at the same positions give the same rows. A few exceed the usual magnitudes.
std::vector<float> featuresOf(const std::vector<int32_t> &ids, int64_t width);

/// Returns the width in pixels if the ids of a sequence are an image of any width: one of the
/// divisors of their number, selected by the first id.
int64_t imageWidthOf(const std::vector<int32_t> &ids);

/// The inputs of an entry for one sequence.
struct EntryInputs {
  /// By the input's name; a missing one is optional, and zeros.
  std::map<std::string, std::vector<int32_t>> ids;
  /// The ids that rows of floats are derived from, unless they are optional: those are zeros.
  std::vector<int32_t> features;
  /// The number of rows of the sequence, and the width if it is an image of any width.
  int64_t rows = 0;
  int64_t width = 1;
  /// Caches that another entry has filled, by name, and their number of positions.
  std::map<std::string, BoundedTensor> memory;
  int64_t memoryRows = 0;
};

/// The results of an entry, by name.
struct EntryValues {
  std::map<std::string, BoundedTensor> outputs;
  /// The caches that the entry has appended to, which were empty before.
  std::map<std::string, BoundedTensor> caches;
};

/// Returns the number that hides a key: minus infinity, or an ordinary number.
Bounded hiddenScore(double hidden);
/// Applies a function of one number, by its line in ActivationTwins.h.
Bounded activated(transformer::Activation function, const Bounded &x);
/// Converts one row of scores to probabilities.
void softmaxRow(Bounded *scores, size_t count);
/// Divides each number of a row by the sum of all.
void divideRowBySum(Bounded *numbers, size_t count);
/// Applies a layer norm to every row.
void normRows(BoundedTensor &rows, const BoundedTensor &weight, const BoundedTensor &bias,
              double epsilon);

/// One run of an entry.
class Interpreter {
public:
  Interpreter(mlir::func::FuncOp entry, const Tensors &tensors) : entry(entry), tensors(tensors) {}

  /// Evaluates the whole sequence at once, with nothing before it. InvalidArgument if an operation
  /// gets other rows than it takes: types specify neither whose rows they are nor how many, so that
  /// no verifier detects it.
  Result<EntryValues> run(const EntryInputs &inputs);

  /// Returns the operations that have a rule.
  static std::vector<std::string> operations();

private:
  /// The keys that rows see; both count from the beginning of the sequence.
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
  /// Returns the rules by the name of the operation: one for each of the dialect.
  static const Rules &rules();

  /// Returns whether there are as many rows, keys or heads as the operation takes. Otherwise the
  /// run ends: a rule must return, and defines nothing.
  [[nodiscard]] bool fits(mlir::Operation *op, int64_t found, int64_t expected);
  /// The same for a value that has a row for each of these segments.
  [[nodiscard]] bool fitsIn(mlir::Operation *op, mlir::Value rows, mlir::Value itsSegments) {
    return fits(op, of(rows).shape.front(), segments.at(itsSegments));
  }
  /// The same for values with equal numbers of rows.
  [[nodiscard]] bool fitTogether(mlir::Operation *op, mlir::ValueRange rows);
  /// The same for scores, with a column for each key.
  [[nodiscard]] bool fitsScores(mlir::Operation *op, const BoundedTensor &scores, int64_t rows,
                                int64_t keys) {
    return fits(op, scores.shape.front(), rows) && fits(op, scores.width(), keys);
  }
  /// Evaluates all operations of a block but the last.
  void evaluateBlock(mlir::Block &block);
  void bindArguments(const EntryInputs &inputs);
  EntryValues results();

  /// The rule of an operation: a specialisation for each, in Interpreted*.cpp or with the run.
  template <typename Op> void evaluate(Op op);
  /// Applies a function to each element and the corresponding one of the right operand.
  template <typename Op>
  void combine(Op op, Bounded (*combineElements)(const Bounded &, const Bounded &));
  /// Returns softmax(scale * Q K^T + bias) of every head, over the keys that each row sees.
  template <typename Op> BoundedTensor weightsOf(Op op, bool isRaw);
  /// Returns whether the operands of an attention match the rows and keys that it names.
  template <typename Op> bool fitsAttention(Op op);
  template <typename Op>
  std::vector<Bounded> linesAt(Op op, int64_t row, int64_t key, int64_t keys);
  /// Returns the width of segments in pixels, for an operation that specifies it or, by `?`, for
  /// images of individual widths.
  int64_t acrossOf(mlir::Value segments, int64_t across) const {
    const auto found = widths.find(segments);
    return across != GridSize::anyWidth ? across
           : found == widths.end()      ? imageWidth
                                        : found->second;
  }
  /// Returns the values of a parameter as stored: f32.
  const BoundedTensor &parameter(llvm::StringRef symbol);
  /// Returns them before rounding: nested expressions are composed in f64.
  const BoundedTensor &composed(llvm::StringRef symbol);
  BoundedTensor evaluateParameter(transformer::ParameterOp op);
  /// Evaluates an expression that only passes create.
  void evaluateAlgebra(transformer::ParameterExpressionAttr expression, BoundedTensor &result);
  const BoundedTensor &of(mlir::Value value) const { return values.at(value); }
  void define(mlir::Value value, BoundedTensor tensor) { values[value] = std::move(tensor); }

  mlir::func::FuncOp entry;
  const Tensors &tensors;
  /// Rows, heads, scores, and the rows of caches.
  llvm::DenseMap<mlir::Value, BoundedTensor> values;
  llvm::DenseMap<mlir::Value, std::vector<int64_t>> ids;
  llvm::DenseMap<mlir::Value, Mask> masks;
  /// The number of positions of each of the segments.
  llvm::DenseMap<mlir::Value, int64_t> segments;
  /// The width of these for an image of any width: for segments other than the entry's, after
  /// strides.
  llvm::DenseMap<mlir::Value, int64_t> widths;
  int64_t imageWidth = 1;
  /// The reason why the run has ended early; empty if it has not.
  std::string problem;
  std::map<std::string, BoundedTensor> parameters;
  std::map<std::string, BoundedTensor> composedParameters;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_INTERPRETER_H
