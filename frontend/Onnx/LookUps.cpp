// SPDX-License-Identifier: Apache-2.0
///
/// Rows of tables, where floating-point arithmetic begins. A formula that reads a table at an index
/// of the row is a look-up, by ids that the caller provides or by the row's position.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

namespace {

/// Positions as in RoBERTa: the number of tokens up to this one that are not padding, times whether
/// this one is not padding, plus an offset. Where padding only ends sequences, the position of
/// every other row is its column plus one plus the offset.
struct CountedPosition {
  std::string input;
  int64_t pad = 0;
  int64_t offset = 0;
};

} // namespace

/// Returns the element of an input and the number that `truth` compares for inequality.
static std::optional<std::pair<Expr, int64_t>> notEqual(Expr truth) {
  if (truth->formula != Formula::Cast || truth->operands[0]->formula != Formula::Not) {
    return std::nullopt;
  }
  const Expr equal = truth->operands[0]->operands[0];
  if (equal->formula != Formula::Equal || equal->operands[0]->formula != Formula::Read ||
      !equal->operands[1]->isConstant()) {
    return std::nullopt;
  }
  return std::pair(equal->operands[0], equal->operands[1]->integer);
}

static std::optional<CountedPosition> countedPosition(Evaluation &evaluation, Expr index,
                                                      size_t batchAxis, size_t rowAxis) {
  Expressions &expressions = evaluation.expressions;
  const Term *product = nullptr;
  CountedPosition result;
  if (index->formula != Formula::Sum) {
    return std::nullopt;
  }
  for (const Term &term : index->terms) {
    if (term.factors.empty()) {
      result.offset = term.coefficient;
    } else if (product == nullptr && term.coefficient == 1 && term.factors.size() == 2) {
      product = &term;
    } else {
      return std::nullopt;
    }
  }
  if (product == nullptr) {
    return std::nullopt;
  }
  const bool isFirst = product->factors[0]->formula == Formula::RunningSum;
  const Expr sum = product->factors[isFirst ? 0 : 1], own = product->factors[isFirst ? 1 : 0];
  if (sum->formula != Formula::RunningSum || sum->operands[0] != expressions.axis(rowAxis)) {
    return std::nullopt;
  }
  const auto counted = notEqual(sum->operands[1]), mine = notEqual(own);
  if (!counted || !mine || counted->second != mine->second ||
      counted->first->integer != mine->first->integer ||
      !evaluation.areOwn(counted->first->operands, batchAxis, expressions.bound()) ||
      !evaluation.areOwn(mine->first->operands, batchAxis, expressions.axis(rowAxis))) {
    return std::nullopt;
  }
  const Source &source = expressions.source(static_cast<size_t>(counted->first->integer));
  if (source.constant != nullptr) {
    return std::nullopt;
  }
  result.input = source.name;
  result.pad = counted->second;
  // The count includes the row itself.
  ++result.offset;
  return result;
}

/// Returns the ids that index the table. If positions start at an offset, the preceding rows of the
/// table are dropped.
Result<mlir::Value> Evaluation::idsOf(Expr index, size_t batchAxis, size_t rowAxis,
                                      Parameter &table) {
  if (index->formula == Formula::Read) {
    const Source &source = expressions.source(static_cast<size_t>(index->integer));
    const auto input = ids.find(source.name);
    if (source.constant == nullptr && input != ids.end() &&
        areOwn(index->operands, batchAxis, rowCoordinate(rowAxis))) {
      found.read.try_emplace(source.name, node == nullptr ? plan.name : node->describe());
      return input->second.value();
    }
  }
  Expr offset =
      expressions.subtract(expressions.subtract(index, rowCoordinate(rowAxis)), earlier());
  if (const auto counted = countedPosition(*this, index, batchAxis, rowAxis)) {
    const Padding ending{counted->input, counted->pad, false,
                         node == nullptr ? "" : node->describe()};
    std::optional<Padding> &known = usesOf(sequenceSize.value_or(0)).ending;
    if (known && !known->isSame(ending)) {
      return failure(StatusCode::Unsupported, "counts other tokens than the positions before");
    }
    known = ending;
    offset = integer(counted->offset);
  }
  if (!offset->isConstant() || offset->integer < 0 || offset->integer >= table.shape()[0]) {
    return failure(StatusCode::Unsupported,
                   fmt::format("reads rows of {} that are neither those of an input nor of "
                               "positions",
                               quote(table.symbol())));
  }
  const int64_t first = offset->integer, count = table.shape()[0] - first;
  found.usesPositions = true;
  found.positions = std::min(found.positions.value_or(count), count);
  if (!plan.hasColumns) {
    return make<transformer::PositionsOp>(rows.value(), static_cast<uint64_t>(first));
  }
  if (first > 0) {
    table = root().rows(fmt::format("{}.from {}", table.symbol(), first), table, first, count);
  }
  return columns.value();
}

/// Returns whether a formula is a row of a table of the file whose leading axes have size 1.
bool Evaluation::isTableRow(const Symbolic &value) {
  const Expr body = value.body;
  if (body->formula != Formula::Read || body->operands.size() < 2 ||
      body->operands.back() != expressions.axis(value.shape.size() - 1)) {
    return false;
  }
  const Source &source = expressions.source(static_cast<size_t>(body->integer));
  return source.constant != nullptr && std::all_of(source.shape.begin(), source.shape.end() - 2,
                                                   [](Expr size) { return size->isConstant(1); });
}

/// Returns the indices of parts within their image, which index the table.
Result<mlir::Value> Evaluation::placeOf(Expr index, size_t rowAxis, const Rows &of,
                                        const Parameter &table) {
  const Expr offset = expressions.subtract(index, expressions.axis(rowAxis));
  const int64_t count = spaces.at(of.space);
  if (!offset->isConstant() || offset->integer < 0 || offset->integer + count > table.shape()[0]) {
    return failure(StatusCode::Unsupported,
                   fmt::format("reads rows of {} that are not those of parts of images",
                               quote(table.symbol())));
  }
  return mlir::Value(
      make<transformer::PositionsOp>(segmentsOf(of), static_cast<uint64_t>(offset->integer)));
}

std::optional<Evaluation::RowAxes> Evaluation::describeRows(const Symbolic &value, Rows &result) {
  const size_t rank = value.shape.size();
  RowAxes axes;
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    Atoms &atoms = result.axes.emplace_back();
    if (value.shape[axis] == batch() && !axes.batch) {
      axes.batch = axis;
      atoms = {{Atom::Kind::Batch, 0, 0}};
    } else if (const auto size = rowsOfSize(value.shape[axis]);
               size && !axes.row && (!value.shape[axis]->isConstant(1) || axis + 2 == rank)) {
      axes.row = axis;
      atoms = {{Atom::Kind::Row, *size, 0}};
      result.space = spaces.contains(*size) ? *size : 0;
    } else if (!value.shape[axis]->isConstant(1)) {
      return std::nullopt;
    }
  }
  return axes;
}

Result<Rows> Evaluation::lookUp(const Symbolic &value) {
  if (plan.isWhole) {
    return wholeConstant(value);
  }
  const auto refuse = [&](std::string_view what) {
    return failure(StatusCode::Unsupported,
                   fmt::format("reads {}, expected rows of activations or of a table", what));
  };
  const Expr body = value.body;
  const size_t rank = value.shape.size();
  if (body->element != Element::Real || rank < 2 || (!sequenceSize && spaces.empty())) {
    return refuse(body->element == Element::Real ? "numbers other than rows of a table"
                                                 : "integers");
  }
  enterShape(value.shape);
  Rows result;
  const std::optional<RowAxes> axes = describeRows(value, result);
  if (!axes) {
    return refuse("a tensor with axes other than batch, rows and width");
  }
  const auto [batchAxis, rowAxis] = *axes;
  const bool isTable = isTableRow(value);
  if (!isTable && result.space == 0 && rowAxis && value.shape.back()->isConstant()) {
    if (const mlir::Value made = rowsOfPosition(value, *rowAxis)) {
      const Atom whole = newAtom(value.shape.back()->integer);
      result.axes.push_back({whole});
      result.physical = {{whole}};
      result.value = made;
      return result;
    }
  }
  if (!isTable || !rowAxis || !value.shape.back()->isConstant()) {
    return refuse("values other than rows of a table");
  }
  Parameter table = parameter(static_cast<size_t>(body->integer));
  if (table.shape().back() != value.shape.back()->integer) {
    return refuse("parts of rows of a table");
  }
  if (table.shape().size() > 2) {
    const int64_t count = table.shape()[table.shape().size() - 2];
    table = root().reshape(fmt::format("{}.table", table.symbol()), table,
                           {count, table.shape().back()});
  }
  // Without a batch axis, all sequences share the row, so the look-up is by position.
  expressions.within(value.shape);
  HEDDLE_ASSIGN(const mlir::Value index,
                result.space == 0
                    ? idsOf(body->operands[body->operands.size() - 2], batchAxis.value_or(rank),
                            *rowAxis, table)
                    : placeOf(body->operands[body->operands.size() - 2], *rowAxis, result, table));
  const int64_t width = table.shape()[1];
  const Atom whole = newAtom(width);
  result.axes.push_back({whole});
  result.physical = {{whole}};
  result.value = make<transformer::GatherOp>(StringRef(table.symbol()), index, width);
  return result;
}

Result<Rows> Evaluation::rowsOf(const Value &value) {
  if (value.rows) {
    enterRowsOf(*value.rows);
    return *value.rows;
  }
  const std::pair key(value.symbolic->body, value.symbolic->shape);
  const auto known = looked.find(key);
  if (known != looked.end()) {
    enterRowsOf(known->second);
    return known->second;
  }
  // The location is the node of the look-up, not the first node that uses it.
  const mlir::Location present = location;
  if (!value.symbolic->maker.empty()) {
    location = NameLoc::get(StringAttr::get(context, value.symbolic->maker));
  }
  Result<Rows> result = lookUp(*value.symbolic);
  location = present;
  if (result.ok()) {
    looked.emplace(key, *result);
  }
  return result;
}

} // namespace heddle::onnx
