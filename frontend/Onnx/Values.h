// SPDX-License-Identifier: Apache-2.0
///
/// The values of a graph during evaluation. A tensor is represented by a formula of its coordinates
/// (sizes, indices, masks, constants, look-ups) as long as possible. Once floating-point arithmetic
/// is applied, it becomes rows: an SSA value of the program and a description of its axes.
///
/// Axes consist of atoms: the batch, the rows of a sequence, the keys of a row, and parts of the
/// width. Reshaping [B, S, 24] to [B, S, 3, 8] splits an atom of the same SSA value; transposing
/// that to [B, 3, S, 8] permutes the axes without moving data. The program packs the rows of all
/// sequences contiguously. There is no batch axis, so a reshape to [B * 3, S, 8] is free as well.
/// Equal parts of the width, such as heads, can become rows of their own (transformer.choices) when
/// an operation applies to the columns of each part. Where rows of earlier runs are concatenated
/// with those of the current run, the row axis has the total size.
#ifndef HEDDLE_FRONTEND_ONNX_VALUES_H
#define HEDDLE_FRONTEND_ONNX_VALUES_H

#include "frontend/Onnx/Expression.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace heddle::onnx {

/// A tensor given by a formula of its coordinates.
struct Symbolic {
  Element element = Element::Real;
  std::vector<Expr> shape;
  Expr body = nullptr;
  /// The result of the node that made it.
  std::string maker = {};
};

/// Part of an axis.
struct Atom {
  enum class Kind { Batch, Row, Past, Key, Inner };
  Kind kind = Kind::Inner;
  /// Inner: the size. Rows and keys: the number of their symbolic size.
  int64_t size = 0;
  /// Inner: a unique number. Rows: 0, or the grid that it is an axis of.
  int id = 0;

  friend bool operator==(const Atom &, const Atom &) = default;
};

using Atoms = std::vector<Atom>;

/// A score of at most this, or one to which at most this is added, hides its key: softmax gives the
/// key no weight.
inline constexpr double hides = -1e4;

/// Which keys are hidden in scores, or in the weights computed from them.
struct Hiding {
  bool padding = false;
  /// Keys after the query.
  bool later = false;
  /// Whether a softmax has turned the scores into weights. Hidden keys have weight 0; before the
  /// softmax, their scores are large negative numbers.
  bool areWeights = false;

  bool isAny() const { return padding || later; }
  friend bool operator==(const Hiding &, const Hiding &) = default;
};

/// An SSA value of the program and a scalar function of it that has not been emitted yet.
struct Rows {
  mlir::Value value;
  /// The parts of the width that are rows of their own (transformer.choices); empty if there are
  /// none.
  Atoms spread = {};
  /// The axes of `value` after its rows.
  std::vector<Atoms> physical;
  /// The axes of the graph's tensor; an axis without atoms has size 1.
  std::vector<Atoms> axes;
  /// A formula of operand(), or null for the identity.
  Expr function = nullptr;
  /// Whether there is one row per sequence.
  bool pooled = false;
  /// The symbolic size of the rows where they are parts of images; 0 for rows of the entry.
  int64_t space = 0;
  /// Refers to the graph's tensor, not to `value`: a padding mask does not emit a new value.
  Hiding hiding = {};
  /// Stands for isnan(value) instead of the value.
  bool isNan = false;
  /// The input that provides these rows of earlier runs; there is no value then.
  std::string past = {};
  /// The name of the result, if the value is a product with a matrix.
  std::string maker;

  bool hasKeys() const;
  /// Returns whether an axis has no elements.
  bool isEmpty() const;
  /// Returns the inner atoms in the storage order of a row's elements.
  Atoms order() const;
};

struct Value {
  std::optional<Symbolic> symbolic;
  std::optional<Rows> rows;

  /// Returns whether this is an optional result that is not computed.
  bool isMissing() const { return !symbolic && !rows; }
};

/// Returns whether the axis is a single atom of this kind.
bool isAxisOf(const Atoms &axis, Atom::Kind kind);

/// Returns whether all atoms are parts of the width.
bool isInner(const Atoms &axis);

/// Concatenates the atoms of all groups.
Atoms flatten(const std::vector<Atoms> &groups);

/// Returns the number of elements of inner atoms.
int64_t widthOf(const Atoms &atoms);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_VALUES_H
