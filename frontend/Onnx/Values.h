// SPDX-License-Identifier: Apache-2.0
///
/// The values of a graph while it is read. A tensor is a formula of its coordinates (sizes,
/// indices, masks, constants, look-ups) as long as it can be; once mathematics on floats begins it
/// is rows: a value of the program and what became of its axes.
///
/// Axes are made of atoms: the batch, the rows of a sequence, the keys of a row, and parts of the
/// width. [B, S, 24] seen as [B, S, 3, 8] is the same value with an atom less; transposed to
/// [B, 3, S, 8] its axes change places, and nothing is moved. Rows of the program are those of all
/// sequences end to end: there is no axis for them, so a reshape to [B * 3, S, 8] is no work
/// either. Equal parts of the width, as heads are, can be rows of their own (transformer.choices),
/// where something is done to the columns of each. Where rows of earlier runs are joined with those
/// of a run, an axis of rows has the size of all of them.
#ifndef HEDDLE_FRONTEND_ONNX_VALUES_H
#define HEDDLE_FRONTEND_ONNX_VALUES_H

#include "frontend/Onnx/Expression.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace heddle::onnx {

/// A tensor by a formula of its coordinates.
struct Symbolic {
  Element element = Element::Real;
  std::vector<Expr> shape;
  Expr body = nullptr;
  /// The node that made it.
  std::string maker = {};
};

/// Part of an axis.
struct Atom {
  enum class Kind { Batch, Row, Past, Key, Inner };
  Kind kind = Kind::Inner;
  /// Inner: its size; rows and keys: the number of the size that they have.
  int64_t size = 0;
  /// Inner: which one of the value it is. Rows: 0, or which grid it is an axis of.
  int id = 0;

  friend bool operator==(const Atom &, const Atom &) = default;
};

using Atoms = std::vector<Atom>;

/// A score of this or less, and one to which so much is added, is that of a hidden key: no softmax
/// gives it weight.
inline constexpr double hides = -1e4;

/// Which keys of scores, or of the weights made of them, are hidden.
struct Hiding {
  bool padding = false;
  /// Those after the query.
  bool later = false;
  /// What a softmax made of the scores: weights, which are 0 for hidden keys. Scores are very
  /// negative there.
  bool areWeights = false;

  bool isAny() const { return padding || later; }
  friend bool operator==(const Hiding &, const Hiding &) = default;
};

/// A value of the program, and a scalar function of it that is still to be written.
struct Rows {
  mlir::Value value;
  /// The parts of the width that are rows of their own, as choices of the row; empty: none.
  Atoms spread = {};
  /// The axes of `value` after its rows.
  std::vector<Atoms> physical;
  /// The axes of the graph's tensor; no atoms: an axis of size 1.
  std::vector<Atoms> axes;
  /// A formula of operand(); null: the value itself.
  Expr function = nullptr;
  /// A row for each sequence.
  bool pooled = false;
  /// The size whose rows these are, where they are parts of images; 0: rows of the entry.
  int64_t space = 0;
  /// A property of the operand of the graph, not of its value: a mask of padding makes no new one.
  Hiding hiding = {};
  /// Not the value but whether it is no number.
  bool isNan = false;
  /// The input that has these rows of earlier runs; then there is no value.
  std::string past = {};
  /// The result whose node made the value, if that is a product with a matrix.
  std::string maker;

  bool hasKeys() const;
  /// Whether an axis has no elements.
  bool isEmpty() const;
  /// The inner atoms in the order in which the elements of a row lie.
  Atoms order() const;
};

struct Value {
  std::optional<Symbolic> symbolic;
  std::optional<Rows> rows;

  /// An optional result that is not computed.
  bool isMissing() const { return !symbolic && !rows; }
};

/// An axis that is one atom of a kind.
bool isAxisOf(const Atoms &axis, Atom::Kind kind);

/// Whether all atoms are parts of the width.
bool isInner(const Atoms &axis);

/// All atoms of groups, in order.
Atoms flatten(const std::vector<Atoms> &groups);

/// The elements of inner atoms.
int64_t widthOf(const Atoms &atoms);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_VALUES_H
