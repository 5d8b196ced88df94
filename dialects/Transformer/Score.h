// SPDX-License-Identifier: Apache-2.0
///
/// The scalar expression that maps the product of a query and a key to the score of the key: a few
/// additions, multiplications and activations, each of earlier results.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_SCORE_H
#define HEDDLE_DIALECTS_TRANSFORMER_SCORE_H

#include "dialects/Transformer/Enumerators.h"

#include "llvm/ADT/Hashing.h"

#include <bit>
#include <cstdint>

namespace heddle::transformer {

/// An operand of a step: a value of the score, a constant, or the bias by distance.
struct ScoreTerm {
  enum class Kind : uint8_t { Value, Constant, Bias };
  Kind kind = Kind::Value;
  /// For Kind::Value: 0 is the scaled product, n >= 1 the result of step n.
  int64_t value = 0;
  float constant = 0;

  static ScoreTerm ofValue(int64_t value) { return {.value = value}; }
  static ScoreTerm ofConstant(float constant) {
    return {.kind = Kind::Constant, .constant = constant};
  }
  static ScoreTerm ofBias() { return {.kind = Kind::Bias}; }
  bool isValue(int64_t number) const { return kind == Kind::Value && value == number; }

  // Compares constants bitwise, as attributes are uniqued: 0 is not -0.
  friend bool operator==(const ScoreTerm &left, const ScoreTerm &right) {
    return left.kind == right.kind && left.value == right.value &&
           std::bit_cast<uint32_t>(left.constant) == std::bit_cast<uint32_t>(right.constant);
  }
  friend llvm::hash_code hash_value(const ScoreTerm &term) {
    return llvm::hash_combine(static_cast<int>(term.kind), term.value,
                              std::bit_cast<uint32_t>(term.constant));
  }
};

/// left + right, left * right, or an activation of left.
struct ScoreStep {
  enum class Kind : uint8_t { Add, Multiply, Activate };
  Kind kind = Kind::Add;
  ScoreTerm left;
  ScoreTerm right;
  Activation activation = Activation::Tanh;

  static ScoreStep add(ScoreTerm left, ScoreTerm right) { return {Kind::Add, left, right}; }
  static ScoreStep multiply(ScoreTerm left, ScoreTerm right) {
    return {Kind::Multiply, left, right};
  }
  static ScoreStep activate(Activation activation, ScoreTerm of) {
    return {Kind::Activate, of, {}, activation};
  }

  friend bool operator==(const ScoreStep &, const ScoreStep &) = default;
  friend llvm::hash_code hash_value(const ScoreStep &step) {
    return llvm::hash_combine(static_cast<int>(step.kind), step.left, step.right,
                              static_cast<int>(step.activation));
  }
};

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_SCORE_H
