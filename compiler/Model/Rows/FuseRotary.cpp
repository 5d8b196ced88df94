// SPDX-License-Identifier: Apache-2.0
///
/// Fuses the rotation of pairs of columns of each head, as in rotary position embeddings, into one
/// operation.
///
/// Before, with heads as the choices of a row:
///   %x = transformer.columns %h from 0                   // and %y from n, %z from 2 n on
///   %c = transformer.repeat %cosine to(%heads)           // and %s of the sine
///   %a = transformer.multiply %x, %c                     // x c - y s
///   %b = transformer.multiply %y, %s
///   %d = transformer.scale %b, -1.0
///   %e = transformer.add %a, %d
///   %f = transformer.add ...                             // y c + x s
///   %g = transformer.concat %e, %f, %z
///   %q = transformer.join_rows %g in(%heads)
/// After:
///   %q = transformer.rotate %rows, %cosine, %sine {heads = 8}
///
/// All spellings are recognised: the joined rows are expanded to sums of products of adjacent
/// columns (Piece) and compared. Columns may be sliced and concatenated before or after they are
/// multiplied, signs and factors may be anywhere, and columns beyond the pairs may be unchanged.
/// Candidates are joined rows that are sums or concatenations, or such times a number, which
/// remains. Tested by tests/compiler/Model/Rows/fuse-rotary.mlir.
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEROTARYPASS
#include "compiler/Passes.h.inc"

namespace {

/// Adjacent columns of a value; each of its rows may be repeated for choices.
struct Columns {
  Value rows;
  int64_t first = 0;
  bool isRepeated = false;
  friend bool operator==(const Columns &, const Columns &) = default;
};

/// A number times the product of columns.
struct Term {
  double coefficient = 1;
  SmallVector<Columns, 2> factors;
};

/// Adjacent columns, each the sum of these terms at its index.
struct Piece {
  int64_t width = 0;
  SmallVector<Term, 2> terms;
};
using Pieces = SmallVector<Piece, 4>;

/// Limits beyond which an expression is not a rotation and must not be expanded.
constexpr size_t mostPieces = 16, mostTerms = 4, mostFactors = 3;
/// The depth to which operations are read, and the most reads per candidate: each use of a value is
/// read again.
constexpr int mostSteps = 24, mostReads = 512;

int64_t widthOf(Value rows) { return cast<RankedTensorType>(rows.getType()).getDimSize(1); }

/// Returns `count` columns from `first` on.
Pieces slice(const Pieces &pieces, int64_t first, int64_t count) {
  Pieces result;
  for (const Piece &piece : pieces) {
    int64_t skipped = std::min(std::max<int64_t>(first, 0), piece.width);
    int64_t width = std::min(piece.width - skipped, count);
    first -= piece.width;
    if (width <= 0) {
      continue;
    }
    count -= width;
    Piece part{width, piece.terms};
    for (Term &term : part.terms) {
      for (Columns &factor : term.factors) {
        factor.first += skipped;
      }
    }
    result.push_back(std::move(part));
  }
  return result;
}

/// Splits both at each other's boundaries and combines each pair of parts. Returns nothing if the
/// result is too large.
Pieces combine(const Pieces &left, const Pieces &right,
               llvm::function_ref<void(Piece &left, const Piece &right)> combineTerms) {
  Pieces result;
  if (left.empty() || right.empty()) {
    return result;
  }
  int64_t width = 0, at = 0;
  for (const Piece &piece : left) {
    width += piece.width;
  }
  while (at < width) {
    Pieces a = slice(left, at, width - at), b = slice(right, at, width - at);
    int64_t count = std::min(a.front().width, b.front().width);
    Piece piece{count, a.front().terms};
    combineTerms(piece, b.front());
    if (result.size() == mostPieces || piece.terms.size() > mostTerms) {
      return {};
    }
    result.push_back(std::move(piece));
    at += count;
  }
  return result;
}

void addTerms(Piece &left, const Piece &right) { llvm::append_range(left.terms, right.terms); }

void multiplyTerms(Piece &left, const Piece &right) {
  SmallVector<Term, 2> products;
  for (const Term &a : left.terms) {
    for (const Term &b : right.terms) {
      Term &product = products.emplace_back(a);
      product.coefficient *= b.coefficient;
      llvm::append_range(product.factors, b.factors);
      if (product.factors.size() > mostFactors) {
        left.terms.assign(mostTerms + 1, Term());
        return;
      }
    }
  }
  left.terms = std::move(products);
}

/// Reads values as pieces. Rows repeated for choices stand for the rows that they repeat; columns
/// that are not repeated have a separate row for each choice.
class PieceReader {
public:
  explicit PieceReader(Value choices) : choices(choices) {}

  /// Returns nothing if the value is too large.
  Pieces read(Value value, int steps = mostSteps) {
    if (left == 0) {
      return {};
    }
    --left;
    Operation *op = steps > 0 ? value.getDefiningOp() : nullptr;
    if (auto concat = dyn_cast_if_present<ConcatOp>(op)) {
      return readConcat(concat, steps - 1);
    }
    if (auto columns = dyn_cast_if_present<ColumnsOp>(op)) {
      return slice(read(columns.getInput(), steps - 1), columns.getFirstAttr().getInt(),
                   columns.getType().getDimSize(1));
    }
    if (auto scale = dyn_cast_if_present<ScaleOp>(op)) {
      Pieces pieces = read(scale.getInput(), steps - 1);
      for (Piece &piece : pieces) {
        for (Term &term : piece.terms) {
          term.coefficient *= scale.getFactor().convertToDouble();
        }
      }
      return pieces;
    }
    if (isa_and_present<AddOp, MultiplyOp>(op) &&
        op->getOperand(0).getType() == op->getOperand(1).getType()) {
      Pieces pieces = read(op->getOperand(0), steps - 1);
      return pieces.empty() ? pieces
                            : combine(pieces, read(op->getOperand(1), steps - 1),
                                      isa<AddOp>(op) ? addTerms : multiplyTerms);
    }
    auto repeat = dyn_cast_if_present<RepeatOp>(op);
    if (repeat && areSameSegments(repeat.getChoices(), choices)) {
      Pieces pieces = read(repeat.getInput(), steps - 1);
      for (Piece &piece : pieces) {
        for (Term &term : piece.terms) {
          for (Columns &factor : term.factors) {
            factor.isRepeated = true;
          }
        }
      }
      return pieces;
    }
    return {Piece{widthOf(value), {Term{1, {Columns{value, 0}}}}}};
  }

private:
  Pieces readConcat(ConcatOp concat, int steps) {
    Pieces result;
    for (Value input : concat.getInputs()) {
      Pieces pieces = read(input, steps);
      if (pieces.empty() || result.size() + pieces.size() > mostPieces) {
        return {};
      }
      llvm::append_range(result, pieces);
    }
    return result;
  }

  Value choices;
  int left = mostReads;
};

/// A number times columns of cosines or sines.
struct Angles {
  double coefficient = 1;
  Columns columns;
  friend bool operator==(const Angles &, const Angles &) = default;
};

/// Heads of `size` columns starting at `head`; 2 `pairs` columns of each are rotated.
struct Rotation {
  Columns head;
  int64_t size = 0;
  int64_t pairs = 0;
  Angles cosine, sine;
};

/// Returns the factor of the columns `of` in a term; nothing if it is no such product.
std::optional<Angles> anglesOf(const Term &term, Columns of) {
  if (term.factors.size() != 2) {
    return std::nullopt;
  }
  bool isFirst = term.factors[0] == of;
  if (!isFirst && term.factors[1] != of) {
    return std::nullopt;
  }
  return Angles{term.coefficient, term.factors[isFirst ? 1 : 0]};
}

/// Returns the factors of `first` and of `second` in the two terms of a piece.
std::optional<std::pair<Angles, Angles>> pairOf(const Piece &piece, Columns first, Columns second) {
  if (piece.terms.size() != 2) {
    return std::nullopt;
  }
  for (bool isSwapped : {false, true}) {
    std::optional<Angles> a = anglesOf(piece.terms[isSwapped ? 1 : 0], first);
    std::optional<Angles> b = anglesOf(piece.terms[isSwapped ? 0 : 1], second);
    if (a && b) {
      return std::pair(*a, *b);
    }
  }
  return std::nullopt;
}

/// Matches the rotation of heads whose first columns are `head`; on failure `reason` says what is
/// missing.
std::optional<Rotation> matchFrom(const Pieces &pieces, Columns head, std::string &reason) {
  Rotation rotation{head, 0, pieces[0].width, {}, {}};
  Columns near = head, far{head.rows, head.first + rotation.pairs};
  auto first = pairOf(pieces[0], near, far), second = pairOf(pieces[1], far, near);
  if (!first || !second) {
    // Another factor may be the head's columns and match further.
    reason = reason.empty() ? "the first columns are not those of pairs, turned" : reason;
    return std::nullopt;
  }
  rotation.cosine = second->first;
  rotation.sine = second->second;
  Angles opposite = rotation.sine;
  opposite.coefficient = -opposite.coefficient;
  if (first->first != rotation.cosine || first->second != opposite) {
    reason = "both columns of a pair are not turned by one angle";
    return std::nullopt;
  }
  rotation.size = 2 * rotation.pairs;
  for (const Piece &piece : ArrayRef(pieces).drop_front(2)) {
    Columns same{head.rows, head.first + rotation.size};
    if (piece.terms.size() != 1 || piece.terms[0].coefficient != 1 ||
        piece.terms[0].factors.size() != 1 || piece.terms[0].factors[0] != same) {
      reason = "the columns after the pairs are not left as they are";
      return std::nullopt;
    }
    rotation.size += piece.width;
  }
  return rotation;
}

/// Matches the pieces of the joined value as a rotation.
std::optional<Rotation> match(const Pieces &pieces, std::string &reason) {
  if (pieces.size() < 2 || pieces[0].width != pieces[1].width || pieces[0].terms.size() != 2) {
    reason = "it is not sums of two products in two halves";
    return std::nullopt;
  }
  // Tries both factors: only the head's columns have a row per head.
  for (const Term &term : pieces[0].terms) {
    for (const Columns &head : term.factors) {
      if (head.isRepeated) {
        continue;
      }
      std::optional<Rotation> found = matchFrom(pieces, head, reason);
      if (found && !(found->cosine.columns.isRepeated && found->sine.columns.isRepeated)) {
        reason = "heads of one row are turned by several angles";
        return std::nullopt;
      }
      if (found) {
        return found;
      }
    }
  }
  reason = reason.empty() ? "no head is multiplied" : reason;
  return std::nullopt;
}

/// Writes rotations, and shared angles only once.
class RotationWriter {
public:
  Value write(JoinRowsOp join, const Rotation &rotation) {
    OpBuilder builder(join);
    Location location = join.getLoc();
    Value heads = cut(builder, location, rotation.head, rotation.size);
    auto split = heads.getDefiningOp<SplitRowsOp>();
    Value rows =
        split && areSameSegments(split.getChoices(), join.getChoices())
            ? split.getInput()
            : JoinRowsOp::create(builder, location, join.getType(), heads, join.getChoices())
                  .getResult();
    int64_t count = join.getType().getDimSize(1) / rotation.size;
    return RotateOp::create(builder, location, join.getType(), rows,
                            angles(rotation.cosine, rotation.pairs),
                            angles(rotation.sine, rotation.pairs), count);
  }

private:
  static Value cut(OpBuilder &builder, Location location, Columns columns, int64_t count) {
    if (widthOf(columns.rows) == count) {
      return columns.rows;
    }
    auto type = cast<RankedTensorType>(columns.rows.getType());
    return ColumnsOp::create(
        builder, location,
        RankedTensorType::get({ShapedType::kDynamic, count}, type.getElementType()), columns.rows,
        builder.getI64IntegerAttr(columns.first));
  }

  /// Inserted directly after their operand, so that they dominate every rotation.
  Value angles(const Angles &angles, int64_t count) {
    Value rows = angles.columns.rows;
    auto key = std::tuple(rows, angles.columns.first,
                          std::pair(count, llvm::bit_cast<int64_t>(angles.coefficient)));
    Value &made = written[key];
    if (!made) {
      OpBuilder builder(rows.getContext());
      builder.setInsertionPointAfterValue(rows);
      made = cut(builder, rows.getLoc(), angles.columns, count);
      if (angles.coefficient != 1) {
        made = ScaleOp::create(builder, rows.getLoc(), made,
                               builder.getF32FloatAttr(static_cast<float>(angles.coefficient)));
      }
    }
    return made;
  }

  llvm::DenseMap<std::tuple<Value, int64_t, std::pair<int64_t, int64_t>>, Value> written;
};

/// Returns the factors applied to joined rows, the last one first.
SmallVector<ScaleOp> scalesOf(JoinRowsOp join) {
  SmallVector<ScaleOp> scales;
  auto next = join.getInput().getDefiningOp<ScaleOp>();
  for (; next && scales.size() < mostFactors; next = next.getInput().getDefiningOp<ScaleOp>()) {
    scales.push_back(next);
  }
  return scales;
}

/// Returns the joined value before these factors.
Value turnedBy(JoinRowsOp join, ArrayRef<ScaleOp> scales) {
  return scales.empty() ? join.getInput() : ScaleOp(scales.back()).getInput();
}

struct FuseRotaryPass : impl::FuseRotaryPassBase<FuseRotaryPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<JoinRowsOp> candidates;
    getOperation().walk([&](JoinRowsOp join) {
      Value turned = turnedBy(join, scalesOf(join));
      if (isa_and_present<AddOp, ConcatOp>(turned.getDefiningOp())) {
        candidates.push_back(join);
      }
    });
    RotationWriter writer;
    for (JoinRowsOp join : candidates) {
      std::string reason;
      SmallVector<ScaleOp> scales = scalesOf(join);
      std::optional<Rotation> rotation =
          match(PieceReader(join.getChoices()).read(turnedBy(join, scales)), reason);
      if (!rotation) {
        reportDeclined(join.getLoc(), passNames::fuseRotary, "not fused: " + reason);
        continue;
      }
      int64_t heads = join.getType().getDimSize(1) / rotation->size;
      reportTaken(join.getLoc(), passNames::fuseRotary,
                  Twine(heads) + (heads == 1 ? " head of " : " heads of ") + Twine(rotation->size) +
                      ", " + Twine(2 * rotation->pairs) + " columns of each turned");
      Value rotated = writer.write(join, *rotation);
      OpBuilder builder(join);
      for (ScaleOp scale : llvm::reverse(scales)) {
        rotated = ScaleOp::create(builder, scale.getLoc(), rotated, scale.getFactorAttr());
      }
      join.getResult().replaceAllUsesWith(rotated);
      eraseUnused(join);
    }
  }
};

} // namespace
} // namespace heddle
