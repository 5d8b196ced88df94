// SPDX-License-Identifier: Apache-2.0
///
/// Padding masks. A graph over rectangular batches hides the keys of padding; a program over ragged
/// rows has no such rows. Omitting them requires a proof that the bias of every attention, as a
/// formula of the coordinates of the scores, is zero where the key's row is not padding and hides
/// the key where it is, for every query. The formula contains everything else that the mask could
/// depend on.
///
/// A mask may also hide the keys after the query, alone or together with padding. Omitting rows
/// does not change the order of the other rows, so this is the causal mask of the program.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

using namespace mlir;

namespace heddle::onnx {

namespace {

/// A bias as a formula of the coordinates of the scores, and the properties proved of it.
struct MaskProof {
  Evaluation &evaluation;
  Expr bias;
  Expressions &expressions = evaluation.expressions;
  /// The bias of keys up to the query, and that of keys after it; null if the bias does not compare
  /// positions.
  Expr shown = nullptr, after = nullptr;
  /// The only element of an input that the bias depends on, or null.
  Expr read = nullptr;
  /// Whether the element is the number of columns of a sequence that are not padding.
  bool isCount = false;
  /// The coordinate of the keys if `isCount`.
  Expr key = nullptr;
  std::string problem = {};

  /// Determines `shown` and `after` from comparisons of the positions of row and key.
  void findOrder(Expr row, Expr key);
  void findRead(size_t batchAxis, size_t keyAxis);
  bool isCausal() const { return after != nullptr; }
  /// Returns whether the bias is exactly the causal mask.
  bool isCausalAlone() const { return isCausal() && isShown(shown) && isHidden(after); }
  std::optional<Padding> padding();

private:
  /// Returns whether a part is an element [batch] for the scores' own sequence.
  bool isCountOf(Expr part, size_t batchAxis) const {
    return part->operands.size() == 1 &&
           (part->operands[0] == expressions.axis(batchAxis) ||
            (evaluation.batch()->isConstant(1) && part->operands[0]->isConstant(0)));
  }
  /// Returns the value of a comparison for keys within the count, or nullopt for any other part.
  std::optional<bool> isTrueInside(Expr part) const;

  using Replacement = std::function<Expr(Expr)>;

  static bool isShown(Expr bias) { return bias->isConstant() && bias->value() == 0; }
  static bool isHidden(Expr bias) { return bias->isConstant() && bias->value() <= hides; }
  /// Returns whether a key is visible with `present`, and hidden with `absent` or after the query.
  bool hidesBy(const Replacement &present, const Replacement &absent) {
    return isShown(expressions.replace(shown, present)) &&
           isHidden(expressions.replace(shown, absent)) &&
           (!isCausal() || (isHidden(expressions.replace(after, present)) &&
                            isHidden(expressions.replace(after, absent))));
  }
};

/// Returns the value of a comparison for keys after their query, or nullopt if it does not compare
/// the two.
std::optional<bool> isTrueAfter(Expressions &expressions, Expr part, Expr row, Expr key) {
  if (part->formula != Formula::Less || part->operands[0]->element != Element::Integer) {
    return std::nullopt;
  }
  // left < right iff right - left - 1 >= 0, and a key is after its query iff key - row - 1 >= 0.
  const Expr margin = expressions.subtract(
      expressions.subtract(part->operands[1], part->operands[0]), expressions.integer(1));
  return margin == expressions.subtract(row, key) ? std::optional(false)
         : margin == expressions.subtract(expressions.subtract(key, row), expressions.integer(1))
             ? std::optional(true)
             : std::nullopt;
}

void MaskProof::findOrder(Expr row, Expr key) {
  std::map<Expr, bool> orders;
  Expressions::walk(bias, [&](Expr part) {
    if (const std::optional<bool> order = isTrueAfter(expressions, part, row, key)) {
      orders.emplace(part, *order);
    }
  });
  const auto biasWhere = [&](bool isAfter) {
    return expressions.replace(bias, [&, isAfter](Expr part) -> Expr {
      const auto found = orders.find(part);
      return found == orders.end() ? nullptr : expressions.boolean(found->second == isAfter);
    });
  };
  shown = biasWhere(false);
  after = orders.empty() ? nullptr : biasWhere(true);
}

void MaskProof::findRead(size_t batchAxis, size_t keyAxis) {
  Expressions::walk(bias, [&](Expr part) {
    if (part->formula != Formula::Read || !problem.empty()) {
      return;
    }
    const Source &source = expressions.source(static_cast<size_t>(part->integer));
    if (source.constant != nullptr) {
      problem = fmt::format("is read from the constant {}", quote(source.name));
    } else if (isCountOf(part, batchAxis)) {
      isCount = true;
      key = expressions.axis(keyAxis);
    } else if (!evaluation.areOwn(part->operands, batchAxis, expressions.axis(keyAxis))) {
      problem = fmt::format("reads {} elsewhere than at the key's own row", quote(source.name));
    }
    if (problem.empty() && read != nullptr && read != part) {
      problem = "depends on several inputs";
    }
    read = part;
  });
}

std::optional<bool> MaskProof::isTrueInside(Expr part) const {
  if (part->formula != Formula::Less || part->operands[0]->element != Element::Integer) {
    return std::nullopt;
  }
  // left < right iff right - left - 1 >= 0, and a key is inside iff count - key - 1 >= 0.
  const Expr margin = expressions.subtract(
      expressions.subtract(part->operands[1], part->operands[0]), expressions.integer(1));
  return margin == expressions.subtract(expressions.subtract(read, key), expressions.integer(1))
             ? std::optional(true)
         : margin == expressions.subtract(key, read) ? std::optional(false)
                                                     : std::nullopt;
}

/// Proves which value of the input hides a key, and that no other value does.
std::optional<Padding> MaskProof::padding() {
  const std::string &name = expressions.source(static_cast<size_t>(read->integer)).name;
  if (isCount) {
    const auto where = [&](bool isInside) -> Replacement {
      return [&, isInside](Expr part) -> Expr {
        const std::optional<bool> inside = isTrueInside(part);
        return inside ? expressions.boolean(*inside == isInside) : nullptr;
      };
    };
    return hidesBy(where(true), where(false)) ? std::optional(Padding{name, 0, true, {}})
                                              : std::nullopt;
  }
  // If the element is compared with a single number, all other numbers are equivalent.
  std::optional<int64_t> compared;
  bool isCompared = true;
  Expressions::walk(bias, [&](Expr part) {
    if (part->formula == Formula::Equal && part->operands[0] == read &&
        part->operands[1]->isConstant()) {
      isCompared &= !compared || *compared == part->operands[1]->integer;
      compared = part->operands[1]->integer;
    }
  });
  if (compared && isCompared) {
    const auto where = [&](bool equals) -> Replacement {
      return [&, equals](Expr part) -> Expr {
        return part->formula == Formula::Equal && part->operands[0] == read
                   ? expressions.boolean(equals)
                   : nullptr;
      };
    };
    if (hidesBy(where(false), where(true))) {
      return Padding{name, *compared, false, {}};
    }
    // A key is visible where the element is 1.
    if (*compared == 1 && hidesBy(where(true), where(false))) {
      return Padding{name, 0, true, {}};
    }
  }
  const auto whereValue = [&](int64_t value) -> Replacement {
    return [&, value](Expr part) -> Expr {
      return part != read                        ? nullptr
             : read->element == Element::Real    ? expressions.real(static_cast<double>(value))
             : read->element == Element::Boolean ? expressions.boolean(value != 0)
                                                 : expressions.integer(value);
    };
  };
  const bool isBit = read->element != Element::Boolean;
  if (hidesBy(whereValue(1), whereValue(0))) {
    return Padding{name, 0, isBit, {}};
  }
  return hidesBy(whereValue(0), whereValue(1)) ? std::optional(Padding{name, 1, isBit, {}})
                                               : std::nullopt;
}

} // namespace

/// Returns the message for a mask that is not supported.
static std::string refusal(const std::string &what) {
  return fmt::format("the mask {}, expected one that hides the keys of padding, those after their "
                     "query, or both, and nothing else",
                     what);
}

/// Hides the keys after the query.
static Rows causal(Evaluation &evaluation, Rows scores, const Atom &keys) {
  MLIRContext *const context = evaluation.getContext();
  const mlir::Value mask = evaluation.make<transformer::MaskOp>(
      transformer::VisibilityAttr::get(context, transformer::Visibility::causal()),
      evaluation.segmentsOf(scores), evaluation.segmentsOf(keys));
  scores.value = evaluation.make<transformer::SelectOp>(
      mask, scores.value, evaluation.f32(-std::numeric_limits<double>::infinity()));
  return scores;
}

/// Records the padding mask of a length, which must be the same for all attentions.
Status Evaluation::notePadding(Padding padding, int64_t length) {
  padding.node = node->describe();
  std::optional<Padding> &known = usesOf(length).padding;
  if (known && !known->isSame(padding)) {
    return failure(
        StatusCode::Unsupported,
        fmt::format("hides keys where {} is {}, but {} does where {} is {}, expected one "
                    "padding for all",
                    quote(padding.input), padding.value, known->node, quote(known->input),
                    known->value));
  }
  if (!known) {
    known = std::move(padding);
  }
  return {};
}

void Evaluation::noteMixing(const Rows &weights, const Atom &keys) {
  const Hiding &hiding = weights.hiding;
  LengthUses &uses = usesOf(keys.size);
  if (!hiding.padding && uses.unmasked.empty()) {
    uses.unmasked = node->describe();
  }
  if (!hiding.later && uses.unordered.empty()) {
    uses.unordered = node->describe();
  }
}

/// Divides an axis of the batch and heads, [batch * heads, rows, keys], into one for each. Returns
/// false if there is none.
static bool divideBatch(Evaluation &evaluation, Rows &scores, Expr &bias) {
  const auto found = std::find_if(scores.axes.begin(), scores.axes.end(), [](const Atoms &axis) {
    return axis.size() > 1 && axis.front().kind == Atom::Kind::Batch &&
           isInner({axis.begin() + 1, axis.end()});
  });
  if (found == scores.axes.end()) {
    return false;
  }
  const auto at = static_cast<size_t>(found - scores.axes.begin());
  const Atoms heads(found->begin() + 1, found->end());
  found->resize(1);
  scores.axes.insert(scores.axes.begin() + static_cast<int64_t>(at) + 1, heads);
  Expressions &expressions = evaluation.expressions;
  expressions.within(evaluation.shapeOf(scores));
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis + 1 < scores.axes.size(); ++axis) {
    coordinates.push_back(
        axis == at ? expressions.add(expressions.multiply(expressions.axis(at),
                                                          evaluation.integer(widthOf(heads))),
                                     expressions.axis(at + 1))
                   : expressions.axis(axis < at ? axis : axis + 1));
  }
  bias = expressions.substitute(bias, coordinates);
  return true;
}

/// Returns the last axis of a kind.
static std::optional<size_t> axisOf(const Rows &rows, Atom::Kind kind) {
  for (size_t axis = rows.axes.size(); axis-- > 0;) {
    if (isAxisOf(rows.axes[axis], kind)) {
      return axis;
    }
  }
  return std::nullopt;
}

Result<Rows> Evaluation::hidden(Rows scores, Expr bias) {
  const std::vector<Atoms> axes = scores.axes;
  if (divideBatch(*this, scores, bias)) {
    HEDDLE_ASSIGN(scores, hidden(std::move(scores), bias));
    scores.axes = axes;
    return scores;
  }
  const auto batchAxis = axisOf(scores, Atom::Kind::Batch);
  const auto rowAxis = axisOf(scores, Atom::Kind::Row), keyAxis = axisOf(scores, Atom::Kind::Key);
  if (bias->isConstant() && bias->value() == 0) {
    return scores;
  }
  if (!batchAxis || !rowAxis || !keyAxis) {
    return failure(StatusCode::Unsupported,
                   refusal("is added to what has no axes of a batch, of rows and of keys"));
  }
  if (scores.hiding.areWeights) {
    return failure(StatusCode::Unsupported, "masks weights, expected the scores before a softmax");
  }
  MaskProof proof{*this, bias};
  const Atom keys = scores.axes[*keyAxis].front();
  if (isOfSource(keys)) {
    // Rows of different lengths have no common order.
    proof.shown = bias;
  } else {
    const Expr row = rowCoordinate(*rowAxis);
    proof.findOrder(isOfRun(keys) ? row : expressions.add(row, earlier()),
                    expressions.axis(*keyAxis));
  }
  proof.findRead(*batchAxis, *keyAxis);
  if (!proof.problem.empty()) {
    return failure(StatusCode::Unsupported, refusal(proof.problem));
  }
  if (proof.read != nullptr) {
    const std::optional<Padding> padding = proof.padding();
    if (!padding) {
      return failure(StatusCode::Unsupported,
                     refusal(fmt::format("cannot be proved to depend on {} alone",
                                         expressions.print(proof.read))));
    }
    if (padding->value != static_cast<int32_t>(padding->value)) {
      return failure(StatusCode::Unsupported,
                     refusal(fmt::format("compares {} with {}, which no id of 32 bits is",
                                         expressions.print(proof.read), padding->value)));
    }
    HEDDLE_TRY(notePadding(*padding, keys.size));
    if (proof.isCount) {
      // All padding is at the end, after the counted columns.
      noteNeighbours();
    }
  } else if (!proof.isCausalAlone()) {
    return failure(StatusCode::Unsupported, refusal("depends on positions in another way"));
  }
  if (proof.isCausal()) {
    scores = causal(*this, std::move(scores), keys);
  }
  scores.hiding.padding |= proof.read != nullptr;
  scores.hiding.later |= proof.isCausal();
  return scores;
}

} // namespace heddle::onnx
