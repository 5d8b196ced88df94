// SPDX-License-Identifier: Apache-2.0
///
/// Einstein summations, emitted as products: rows times a matrix of the file, queries times keys,
/// weights times values, or an elementwise product. Operands are combined from the left, two at a
/// time. Axes of stored tensors are permuted at compile time; those of rows are only relabelled.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

using namespace mlir;

namespace heddle::onnx {

namespace {

/// The subscripts of each operand and of the result. The axes of an ellipsis are denoted by digits,
/// counted from its last axis.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// A value and the subscripts of its axes.
struct Lettered {
  Value value;
  std::string axes;
};

/// A tensor of the file and the subscripts of its axes as stored.
struct Stored {
  size_t source = 0;
  std::string axes;
};

} // namespace

/// The maximum number of parts that a stored tensor is rearranged from.
static constexpr int64_t mostStoredParts = 256;

static bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

/// Returns the letters of `from` that the other string contains or, if not `areIn`, does not
/// contain.
static std::string select(std::string_view from, std::string_view other, bool areIn) {
  std::string letters;
  std::copy_if(from.begin(), from.end(), std::back_inserter(letters),
               [&](char letter) { return has(other, letter) == areIn; });
  return letters;
}

static Status refuse(const Evaluation &evaluation, std::string_view equation,
                     const std::string &what) {
  return evaluation.failure(StatusCode::Unsupported,
                            fmt::format("equation {} {}", quote(equation), what));
}

// --- equations -----------------------------------------------------------------------------------

/// Returns the subscripts of an operand of this rank, or nullopt if they do not match it.
static std::optional<std::string> lettersOf(std::string_view text, size_t rank) {
  static constexpr std::string_view ellipsis = "...";
  std::string letters(text);
  if (const size_t dots = letters.find(ellipsis); dots != std::string::npos) {
    const size_t others = letters.size() - ellipsis.size();
    if (others > rank || rank - others > onnxRankLimit) {
      return std::nullopt;
    }
    std::string digits;
    for (size_t left = rank - others; left-- > 0;) {
      digits.push_back(static_cast<char>('0' + left));
    }
    letters.replace(dots, ellipsis.size(), digits);
  }
  std::string sorted = letters;
  std::sort(sorted.begin(), sorted.end());
  const bool areDistinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool areLetters = std::all_of(letters.begin(), letters.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9');
  });
  return areDistinct && areLetters && letters.size() == rank ? std::optional(letters)
                                                             : std::nullopt;
}

/// Returns the subscripts of the result of an equation without an arrow: the ellipsis, then the
/// letters that occur once.
static std::string impliedResult(const std::vector<std::string> &operands) {
  std::string all, digits, letters;
  for (const std::string &operand : operands) {
    all += operand;
  }
  std::sort(all.begin(), all.end());
  for (const char each : all) {
    if (each <= '9') {
      digits += has(digits, each) ? "" : std::string(1, each);
    } else if (std::count(all.begin(), all.end(), each) == 1) {
      letters.push_back(each);
    }
  }
  std::reverse(digits.begin(), digits.end());
  return digits + letters;
}

static Result<Equation> parse(Evaluation &evaluation, const Call &call, std::string_view text) {
  std::string left;
  std::copy_if(text.begin(), text.end(), std::back_inserter(left),
               [](char each) { return each != ' '; });
  std::optional<std::string> result;
  if (const size_t arrow = left.find("->"); arrow != std::string::npos) {
    result = left.substr(arrow + 2);
    left.resize(arrow);
  }
  Equation equation;
  const auto wrong = [&] {
    return evaluation.failure(
        StatusCode::Unsupported,
        fmt::format("its equation {} does not name each axis of each of {} operands once",
                    quote(text), call.inputs.size()));
  };
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    const size_t number = equation.operands.size();
    if (number >= call.inputs.size()) {
      return wrong();
    }
    const auto letters = lettersOf(std::string_view(left).substr(begin, end - begin),
                                   evaluation.shapeOf(*call.inputs[number]).size());
    if (!letters) {
      return wrong();
    }
    equation.operands.push_back(*letters);
    begin = end + 1;
  }
  std::string all;
  for (const std::string &operand : equation.operands) {
    all += select(operand, all, false);
  }
  const auto digits = std::count_if(all.begin(), all.end(), [](char each) { return each <= '9'; });
  const bool hasDots = result && result->find("...") != std::string::npos;
  const size_t rank = !result   ? 0
                      : hasDots ? result->size() - 3 + static_cast<size_t>(digits)
                                : result->size();
  const auto named =
      result ? lettersOf(*result, rank) : std::optional(impliedResult(equation.operands));
  if (equation.operands.size() != call.inputs.size() || !named ||
      !select(*named, all, false).empty()) {
    return wrong();
  }
  equation.result = *named;
  return equation;
}

// --- axes in another order -----------------------------------------------------------------------

/// Permutes the axes of a value to this order; subscripts that it lacks become axes of size 1.
static Lettered ordered(Evaluation &evaluation, const Lettered &from, const std::string &axes) {
  if (from.value.rows) {
    Rows rows = *from.value.rows;
    rows.axes.clear();
    for (const char letter : axes) {
      rows.axes.push_back(has(from.axes, letter) ? from.value.rows->axes[from.axes.find(letter)]
                                                 : Atoms());
    }
    return {Value{std::nullopt, std::move(rows)}, axes};
  }
  Expressions &expressions = evaluation.expressions;
  Symbolic result = *from.value.symbolic;
  result.shape.clear();
  std::vector<Expr> coordinates(from.axes.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const size_t own = from.axes.find(axes[axis]);
    result.shape.push_back(own == std::string::npos ? evaluation.integer(1)
                                                    : from.value.symbolic->shape[own]);
    if (own != std::string::npos) {
      coordinates[own] = expressions.axis(axis);
    }
  }
  expressions.within(result.shape);
  result.body = expressions.substitute(result.body, coordinates);
  return {Value{std::move(result), std::nullopt}, axes};
}

/// Returns the stored tensor that a formula reads as a whole.
static std::optional<Stored> storedOf(Evaluation &evaluation, const Lettered &value) {
  if (!value.value.symbolic || value.value.symbolic->body->formula != Formula::Read) {
    return std::nullopt;
  }
  const Symbolic &symbolic = *value.value.symbolic;
  const auto number = static_cast<size_t>(symbolic.body->integer);
  const Source &source = evaluation.expressions.source(number);
  if (source.constant == nullptr || symbolic.element != Element::Real ||
      source.shape.size() != symbolic.shape.size()) {
    return std::nullopt;
  }
  Stored stored{number, {}};
  for (size_t axis = 0; axis < source.shape.size(); ++axis) {
    const Expr coordinate = symbolic.body->operands[axis];
    if (coordinate->formula != Formula::Axis ||
        symbolic.shape[static_cast<size_t>(coordinate->integer)] != source.shape[axis]) {
      return std::nullopt;
    }
    stored.axes.push_back(value.axes[static_cast<size_t>(coordinate->integer)]);
  }
  return stored;
}

// --- products ------------------------------------------------------------------------------------

namespace {

/// The roles of the subscripts of two operands: shared ones that later operands or the result use,
/// shared ones that are summed, and those of one operand only.
struct Meeting {
  std::string shared, summed, left, right;

  Meeting(const std::string &a, const std::string &b, std::string_view needed)
      : shared(select(select(a, b, true), needed, true)),
        summed(select(select(a, b, true), needed, false)), left(select(a, b, false)),
        right(select(b, a, false)) {}
};

/// Combines the operands of one equation.
class Joiner {
public:
  Joiner(Evaluation &evaluation, std::string_view equation)
      : evaluation(evaluation), equation(equation) {}

  /// Multiplies two operands and sums over the subscripts that are not needed any more.
  Result<Lettered> join(const Lettered &left, const Lettered &right, std::string_view needed);

private:
  Status refuse(const std::string &what) const { return onnx::refuse(evaluation, equation, what); }
  Status checkSizes(const Lettered &left, const Lettered &right) const;
  Result<Parameter> folded(const Stored &stored, const std::string &axes, int64_t rows);
  Result<Lettered> map(const Lettered &rows, const Lettered &weight, const Stored &stored,
                       const Meeting &meeting);
  Result<Lettered> multiply(Lettered left, Lettered right, Meeting meeting);

  Evaluation &evaluation;
  std::string_view equation;
};

Status Joiner::checkSizes(const Lettered &left, const Lettered &right) const {
  const std::vector<Expr> mine = evaluation.shapeOf(left.value),
                          theirs = evaluation.shapeOf(right.value);
  for (size_t axis = 0; axis < left.axes.size(); ++axis) {
    const size_t other = right.axes.find(left.axes[axis]);
    if (other != std::string::npos && mine[axis] != theirs[other]) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("the sizes of '{}' are {} and {}, expected the same",
                                            left.axes[axis],
                                            evaluation.expressions.print(mine[axis]),
                                            evaluation.expressions.print(theirs[other])));
    }
  }
  return {};
}

/// Returns a matrix with this number of rows whose elements are in the order of `axes`. At most two
/// adjacent groups of stored axes may be swapped.
Result<Parameter> Joiner::folded(const Stored &stored, const std::string &axes, int64_t rows) {
  const Parameter whole = evaluation.parameter(stored.source);
  const auto sizeOf = [&](std::string_view letters) {
    int64_t size = 1;
    for (const char letter : letters) {
      size *= whole.shape()[stored.axes.find(letter)];
    }
    return size;
  };
  const std::string name = fmt::format("{}.{}", whole.symbol(), axes);
  const Scope own = evaluation.root().scope(name);
  const int64_t columns = sizeOf(axes) / rows;
  if (axes == stored.axes) {
    return own.reshape("matrix", whole, {rows, columns});
  }
  // Stored as a, b, c, d; needed as a, c, b, d.
  const auto first = static_cast<size_t>(
      std::mismatch(axes.begin(), axes.end(), stored.axes.begin()).first - axes.begin());
  const size_t moved = stored.axes.find(axes[first]);
  const std::string before = stored.axes.substr(0, first);
  const std::string b = stored.axes.substr(first, moved - first);
  size_t end = moved;
  while (end < stored.axes.size() &&
         axes.compare(first, end + 1 - moved, stored.axes, moved, end + 1 - moved) == 0) {
    ++end;
  }
  const std::string c = stored.axes.substr(moved, end - moved), rest = stored.axes.substr(end);
  const int64_t parts = rest.empty() ? sizeOf(before) : sizeOf(c);
  if (before + c + b + rest != axes || (!before.empty() && !rest.empty()) ||
      parts > mostStoredParts) {
    return refuse(fmt::format("reads the axes {} of a tensor that lies as {}, expected an order "
                              "of two groups that change places",
                              quote(axes), quote(stored.axes)));
  }
  std::vector<Parameter> list;
  if (rest.empty()) {
    // Transposes a matrix [b, c] for each index of the leading axes.
    const Parameter flat = own.reshape("flat", whole, {parts * sizeOf(b), sizeOf(c)});
    for (int64_t i = 0; i < parts; ++i) {
      const Parameter part = own.rows(fmt::format("part{}", i), flat, i * sizeOf(b), sizeOf(b));
      list.push_back(own.transposed(fmt::format("turned{}", i), part));
    }
  } else {
    // Gathers all of b for each row of c.
    const Parameter flat = own.reshape("flat", whole, {sizeOf(b), parts * sizeOf(rest)});
    for (int64_t i = 0; i < parts; ++i) {
      list.push_back(own.columns(fmt::format("part{}", i), flat, i * sizeOf(rest), sizeOf(rest)));
    }
  }
  const Parameter joined = list.size() == 1 ? list.front() : own.concat("joined", list);
  return own.reshape("matrix", joined, {rows, columns});
}

/// Multiplies rows by a stored tensor: a matrix whose columns are the summed axes.
Result<Lettered> Joiner::map(const Lettered &rows, const Lettered &weight, const Stored &stored,
                             const Meeting &meeting) {
  if (!meeting.shared.empty()) {
    return refuse(fmt::format("multiplies each {} with a matrix of its own, expected one for all",
                              quote(meeting.shared)));
  }
  // The subscripts of the rows are the left ones.
  const std::string summed = select(rows.axes, meeting.summed, true);
  const std::string made = select(stored.axes, meeting.right, true);
  HEDDLE_ASSIGN(Rows given, evaluation.rowsOf(rows.value));
  Lettered turned = ordered(evaluation, {Value{std::nullopt, std::move(given)}, rows.axes},
                            meeting.left + summed);
  const std::vector<Expr> shape = evaluation.shapeOf(turned.value);
  std::vector<Expr> flat(shape.begin(), shape.begin() + static_cast<int64_t>(meeting.left.size()));
  std::vector<Expr> result = flat;
  flat.push_back(evaluation.integer(1));
  for (size_t axis = meeting.left.size(); axis < shape.size(); ++axis) {
    flat.back() = evaluation.expressions.multiply(flat.back(), shape[axis]);
  }
  int64_t outputs = 1;
  for (const char letter : made) {
    result.push_back(weight.value.symbolic->shape[weight.axes.find(letter)]);
    outputs *= result.back()->integer;
  }
  HEDDLE_ASSIGN(Rows flatRows, evaluation.reshaped(*std::move(turned.value.rows), flat));
  HEDDLE_ASSIGN(const Parameter matrix, folded(stored, made + summed, outputs));
  HEDDLE_ASSIGN(Rows product, linear(evaluation, std::move(flatRows), matrix));
  HEDDLE_ASSIGN(product, evaluation.reshaped(std::move(product), result));
  return Lettered{Value{std::nullopt, std::move(product)}, meeting.left + made};
}

/// Multiplies queries by keys, or weights by values, in either order.
Result<Lettered> Joiner::multiply(Lettered left, Lettered right, Meeting meeting) {
  if (meeting.summed.size() != 1 || meeting.left.size() != 1 || meeting.right.size() != 1) {
    return refuse(fmt::format("sums over {} and keeps {} and {} of activations, expected one axis "
                              "each, as of queries and keys, or weights and values",
                              quote(meeting.summed), quote(meeting.left), quote(meeting.right)));
  }
  HEDDLE_ASSIGN(left.value.rows, evaluation.rowsOf(left.value));
  HEDDLE_ASSIGN(right.value.rows, evaluation.rowsOf(right.value));
  const Atoms &kept = left.value.rows->axes[left.axes.find(meeting.left)];
  if (!isAxisOf(kept, Atom::Kind::Row)) {
    std::swap(left, right);
    std::swap(meeting.left, meeting.right);
  }
  Lettered a = ordered(evaluation, {Value{std::nullopt, std::move(left.value.rows)}, left.axes},
                       meeting.shared + meeting.left + meeting.summed);
  Lettered b = ordered(evaluation, {Value{std::nullopt, std::move(right.value.rows)}, right.axes},
                       meeting.shared + meeting.summed + meeting.right);
  HEDDLE_ASSIGN(Rows rows, product(evaluation, *std::move(a.value.rows), *std::move(b.value.rows)));
  return Lettered{Value{std::nullopt, std::move(rows)},
                  meeting.shared + meeting.left + meeting.right};
}

Result<Lettered> Joiner::join(const Lettered &left, const Lettered &right,
                              std::string_view needed) {
  HEDDLE_TRY(checkSizes(left, right));
  const Meeting meeting(left.axes, right.axes, needed);
  const std::string alone = select(meeting.left + meeting.right, needed, false);
  if (!alone.empty()) {
    return refuse(fmt::format("sums {} of one operand alone", quote(alone)));
  }
  if (meeting.summed.empty()) {
    const std::string axes = left.axes + meeting.right;
    HEDDLE_ASSIGN(Value product,
                  combined(evaluation, Formula::Multiply, ordered(evaluation, left, axes).value,
                           ordered(evaluation, right, axes).value));
    return Lettered{std::move(product), axes};
  }
  if (const auto stored = storedOf(evaluation, right)) {
    return map(left, right, *stored, meeting);
  }
  if (const auto stored = storedOf(evaluation, left)) {
    return map(right, left, *stored, Meeting(right.axes, left.axes, needed));
  }
  return multiply(left, right, meeting);
}

} // namespace

static Status einsum(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const std::optional<std::string_view> text, call.text("equation"));
  HEDDLE_ASSIGN(const Equation equation,
                parse(evaluation, call, text.value_or(std::string_view())));
  Joiner joiner(evaluation, *text);
  Lettered result{*call.inputs[0], equation.operands[0]};
  for (size_t i = 1; i < equation.operands.size(); ++i) {
    std::string needed = equation.result;
    for (size_t later = i + 1; later < equation.operands.size(); ++later) {
      needed += equation.operands[later];
    }
    HEDDLE_ASSIGN(result, joiner.join(result, {*call.inputs[i], equation.operands[i]}, needed));
  }
  if (const std::string summed = select(result.axes, equation.result, false); !summed.empty()) {
    return refuse(evaluation, *text, fmt::format("sums {} of one operand alone", quote(summed)));
  }
  call.results.push_back(ordered(evaluation, result, equation.result).value);
  return {};
}

std::vector<OperatorInfo> einsumOperators() {
  constexpr size_t any = SIZE_MAX;
  return {{"", "Einsum", 12, 1, any, einsum}};
}

} // namespace heddle::onnx
