// SPDX-License-Identifier: Apache-2.0
///
/// Masks for padding. A graph over rectangles hides the keys of padding; a program over ragged rows
/// has no such rows. That they may be left out needs a proof: the bias of every attention, as a
/// formula of the scores' coordinates, must be zero where the key's row is none of padding and hide
/// the key where it is, whatever the query. What else a mask could depend on is in the formula.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <fmt/format.h>

namespace heddle::onnx {

/// A bias of this or less leaves a key no weight.
static constexpr double hides = -1e4;

namespace {

/// A bias, whose coordinates are those of scores.
struct MaskProof {
  Expressions &expressions;
  Expr bias;
  /// The one element of an input that it depends on; null if there is none.
  Expr read = nullptr;
  std::string problem = {};

  void findRead(size_t batchAxis, size_t keyAxis);
  std::optional<Padding> padding();

private:
  /// The bias where truth values of the read are replaced.
  std::optional<double> biasWith(const std::function<Expr(Expr)> &replacement) {
    const Expr result = expressions.replace(bias, replacement);
    return result->isConstant() ? std::optional(result->value()) : std::nullopt;
  }
  static bool isPadding(std::optional<double> present, std::optional<double> absent) {
    return present && absent && *present == 0 && *absent <= hides;
  }
};

void MaskProof::findRead(size_t batchAxis, size_t keyAxis) {
  Expressions::walk(bias, [&](Expr part) {
    if (part->formula != Formula::Read || !problem.empty()) {
      return;
    }
    const Source &source = expressions.source(static_cast<size_t>(part->integer));
    const std::vector<Expr> expected{expressions.axis(batchAxis), expressions.axis(keyAxis)};
    if (source.constant != nullptr) {
      problem = fmt::format("is read from the constant {}", quote(source.name));
    } else if (part->operands != expected) {
      problem = fmt::format("reads {} elsewhere than at the key's own row", quote(source.name));
    } else if (read != nullptr && read != part) {
      problem = "depends on several inputs";
    }
    read = part;
  });
}

/// The proof: which value of the input hides a key, and that no other does.
std::optional<Padding> MaskProof::padding() {
  const std::string &name = expressions.source(static_cast<size_t>(read->integer)).name;
  // Compared with one number: then all other numbers are alike.
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
    const auto with = [&](bool equals) {
      return biasWith([&, equals](Expr part) -> Expr {
        return part->formula == Formula::Equal && part->operands[0] == read
                   ? expressions.boolean(equals)
                   : nullptr;
      });
    };
    if (isPadding(with(false), with(true))) {
      return Padding{name, *compared, false, {}};
    }
    // A visible key is one that is 1.
    if (*compared == 1 && isPadding(with(true), with(false))) {
      return Padding{name, 0, true, {}};
    }
  }
  const auto withValue = [&](int64_t value) {
    return biasWith([&, value](Expr part) -> Expr {
      return part != read                        ? nullptr
             : read->element == Element::Real    ? expressions.real(static_cast<double>(value))
             : read->element == Element::Boolean ? expressions.boolean(value != 0)
                                                 : expressions.integer(value);
    });
  };
  const bool isBit = read->element != Element::Boolean;
  if (isPadding(withValue(1), withValue(0))) {
    return Padding{name, 0, isBit, {}};
  }
  return isPadding(withValue(0), withValue(1)) ? std::optional(Padding{name, 1, isBit, {}})
                                               : std::nullopt;
}

} // namespace

/// Why a mask is refused, and what would be understood.
static std::string refusal(const std::string &what) {
  return fmt::format("the mask {}, expected one that hides the keys of padding and nothing else",
                     what);
}

Result<Rows> Evaluation::hidden(Rows scores, Expr bias) {
  std::optional<size_t> batchAxis, keyAxis;
  for (size_t axis = 0; axis < scores.axes.size(); ++axis) {
    batchAxis = isAxisOf(scores.axes[axis], Atom::Kind::Batch) ? axis : batchAxis;
    keyAxis = isAxisOf(scores.axes[axis], Atom::Kind::Key) ? axis : keyAxis;
  }
  if (bias->isConstant() && bias->value() == 0) {
    return scores;
  }
  if (!batchAxis || !keyAxis) {
    return failure(StatusCode::Unsupported,
                   refusal("is added to what has no axes of a batch and of keys"));
  }
  MaskProof proof{expressions, bias};
  proof.findRead(*batchAxis, *keyAxis);
  if (!proof.problem.empty()) {
    return failure(StatusCode::Unsupported, refusal(proof.problem));
  }
  if (proof.read == nullptr) {
    return failure(StatusCode::Unsupported, refusal("depends on positions alone"));
  }
  std::optional<Padding> padding = proof.padding();
  if (!padding) {
    return failure(StatusCode::Unsupported,
                   refusal(fmt::format("does not follow from {} being one value or another",
                                       expressions.print(proof.read))));
  }
  padding->node = node->describe();
  if (found.padding && !found.padding->isSame(*padding)) {
    return failure(
        StatusCode::Unsupported,
        fmt::format("hides keys where {} is {}, but {} does where {} is {}, expected one "
                    "padding for all",
                    quote(padding->input), padding->value, found.padding->node,
                    quote(found.padding->input), found.padding->value));
  }
  if (!found.padding) {
    found.padding = *padding;
  }
  setMasked(scores.value);
  return scores;
}

} // namespace heddle::onnx
