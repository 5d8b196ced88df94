// SPDX-License-Identifier: Apache-2.0
///
/// Reshapes, transposes and slices of the axes of rows, and conversion of a value to the layout
/// that an operation reads.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

bool Rows::hasKeys() const {
  const Atoms all = flatten(axes);
  return std::any_of(all.begin(), all.end(),
                     [](const Atom &atom) { return atom.kind == Atom::Kind::Key; });
}

bool Rows::isEmpty() const {
  const Atoms all = flatten(axes);
  return std::any_of(all.begin(), all.end(), [](const Atom &atom) {
    return atom.kind == Atom::Kind::Inner && atom.size == 0;
  });
}

Atoms Rows::order() const {
  Atoms all = spread;
  const Atoms rest = flatten(physical);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

bool isAxisOf(const Atoms &axis, Atom::Kind kind) {
  return axis.size() == 1 && axis.front().kind == kind;
}

bool isInner(const Atoms &axis) {
  return std::all_of(axis.begin(), axis.end(),
                     [](const Atom &atom) { return atom.kind == Atom::Kind::Inner; });
}

Atoms flatten(const std::vector<Atoms> &groups) {
  Atoms all;
  for (const Atoms &group : groups) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

int64_t widthOf(const Atoms &atoms) {
  int64_t width = 1;
  for (const Atom &atom : atoms) {
    width *= atom.kind == Atom::Kind::Inner ? atom.size : 1;
  }
  return width;
}

/// Calls `change` for every list of atoms of a value.
template <typename Change> static void changeAtoms(Rows &rows, Change &&change) {
  change(rows.spread);
  std::for_each(rows.axes.begin(), rows.axes.end(), change);
  std::for_each(rows.physical.begin(), rows.physical.end(), change);
}

/// Replaces all occurrences of an atom by two.
static void splitAtom(Rows &rows, const Atom &whole, const Atom &first, const Atom &second) {
  changeAtoms(rows, [&](Atoms &group) {
    const auto found = std::find(group.begin(), group.end(), whole);
    if (found != group.end()) {
      *found = first;
      group.insert(found + 1, second);
    }
  });
}

/// Transposes [t, a, b] to [t, b, a].
static constexpr int64_t exchange[] = {0, 2, 1};

/// The maximum number of parts that transformer.choices turns into rows.
static constexpr int64_t mostChoices = 255;

/// A dimension as a product of symbolic sizes and a number.
struct Product {
  int64_t number = 1;
  std::vector<int64_t> sizes;

  /// Removes a size; returns false if it is not a factor.
  bool remove(int64_t size) {
    const auto found = std::find(sizes.begin(), sizes.end(), size);
    if (found == sizes.end()) {
      return false;
    }
    sizes.erase(found);
    return true;
  }
};

static std::optional<Product> productOf(Expr size) {
  if (size->isConstant()) {
    return Product{size->integer, {}};
  }
  if (size->formula == Formula::Size) {
    return Product{1, {size->integer}};
  }
  if (size->formula != Formula::Sum || size->terms.size() != 1) {
    return std::nullopt;
  }
  Product product{size->terms.front().coefficient, {}};
  for (const Expr factor : size->terms.front().factors) {
    if (factor->formula != Formula::Size) {
      return std::nullopt;
    }
    product.sizes.push_back(factor->integer);
  }
  return product;
}

/// Brings the elements to row-major order and divides them as a single axis.
static Result<Rows> reshapedWhole(Evaluation &evaluation, Rows rows,
                                  const std::vector<Expr> &shape) {
  HEDDLE_ASSIGN(rows, evaluation.inOrder(std::move(rows)));
  const Atom whole = evaluation.newAtom(widthOf(rows.order()));
  rows.axes = {{whole}};
  rows.physical = {{whole}};
  return evaluation.reshaped(std::move(rows), shape);
}

/// Returns whether an atom is a batch of one, or the row of each sequence if it has one. Unlike
/// other axes of size 1, it is an axis of its own.
static bool isUnit(Evaluation &evaluation, const Atom &atom) {
  return (atom.kind == Atom::Kind::Batch && evaluation.batch()->isConstant(1)) ||
         (atom.kind == Atom::Kind::Row && evaluation.sizeOf(atom.size)->isConstant(1));
}

/// Takes the size of the batch, of rows or of keys from what an axis lacks; returns false if it
/// lacks something else.
static bool takeSize(Evaluation &evaluation, const Atom &atom, Product &wanted) {
  const int64_t number = atom.kind == Atom::Kind::Batch ? 0 : atom.size;
  const Expr whole = evaluation.sizeOf(number);
  const bool divides = whole->isConstant() && wanted.number % whole->integer == 0;
  if (!divides && !wanted.remove(number)) {
    return false;
  }
  wanted.number /= divides ? whole->integer : 1;
  return true;
}

/// Adds the atoms of size 1 that are left to the last axis: they can belong to any.
static void addUnits(Atoms &left, std::vector<Atoms> &axes) {
  while (!left.empty() && left.back().kind == Atom::Kind::Inner && left.back().size == 1 &&
         !axes.empty()) {
    axes.back().push_back(left.back());
    left.pop_back();
  }
}

static constexpr const char *mixedAxes =
    "the reshape mixes the batch, rows or keys with other axes, expected one that divides or joins "
    "neighbouring axes";

/// Regroups the atoms in their order and divides parts of the width where necessary.
Result<Rows> Evaluation::reshaped(Rows rows, std::vector<Expr> shape) {
  Atoms left = onnx::flatten(rows.axes);
  std::reverse(left.begin(), left.end());
  std::vector<Atoms> axes;
  const auto refuse = [&] { return failure(StatusCode::Unsupported, mixedAxes); };
  const auto isNextUnit = [&] { return !left.empty() && isUnit(*this, left.back()); };
  for (size_t number = 0; number < shape.size(); ++number) {
    std::optional<Product> wanted = productOf(shape[number]);
    if (!wanted || wanted->number < 1) {
      return refuse();
    }
    Atoms &axis = axes.emplace_back();
    if (shape[number]->isConstant(1) && isNextUnit()) {
      axis.push_back(left.back());
      left.pop_back();
    }
    while (wanted->number > 1 || !wanted->sizes.empty()) {
      if (left.empty()) {
        return refuse();
      }
      const Atom next = left.back();
      left.pop_back();
      if (next.kind != Atom::Kind::Inner) {
        if (!takeSize(*this, next, *wanted)) {
          return refuse();
        }
        axis.push_back(next);
      } else if (wanted->number % next.size == 0) {
        wanted->number /= next.size;
        axis.push_back(next);
      } else if (wanted->number > 1 && next.size % wanted->number == 0) {
        // Where only the batch, rows or keys are missing, no part of a width helps.
        const Atom first = newAtom(wanted->number), second = newAtom(next.size / wanted->number);
        splitAtom(rows, next, first, second);
        // The axes so far keep their atoms: only the current atom is divided.
        axis.push_back(first);
        left.push_back(second);
        wanted->number = 1;
      } else {
        return plan.isWhole && rows.axes.size() > 1 ? reshapedWhole(*this, std::move(rows), shape)
                                                    : Result<Rows>(refuse());
      }
    }
    const bool hasPlace = std::any_of(shape.begin() + static_cast<int64_t>(number) + 1, shape.end(),
                                      [](Expr size) { return size->isConstant(1); });
    if (!axis.empty() && isNextUnit() && left.back().kind == Atom::Kind::Row && !hasPlace) {
      // Rows join the axis before them: [batch, 1, width] becomes [batch, width].
      axis.push_back(left.back());
      left.pop_back();
    }
  }
  std::for_each(axes.begin(), axes.end(), [&](Atoms &axis) { mergePlaces(axis); });
  addUnits(left, axes);
  if (!left.empty()) {
    return refuse();
  }
  rows.axes = std::move(axes);
  return rows;
}

RankedTensorType Evaluation::tensorType(llvm::ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

FloatAttr Evaluation::f32(double value) const {
  return FloatAttr::get(Float32Type::get(context), static_cast<float>(value));
}

Status Evaluation::checkChoices(const Atoms &atoms) const {
  const int64_t count = widthOf(atoms);
  return count <= mostChoices
             ? Status()
             : failure(StatusCode::Unsupported,
                       fmt::format("makes {} parts of a row rows of their own, expected at most {}",
                                   count, mostChoices));
}

mlir::Value Evaluation::choices(const Atoms &atoms) {
  return make<transformer::ChoicesOp>(segments().getType(), segments(),
                                      static_cast<uint64_t>(widthOf(atoms)));
}

Result<Rows> Evaluation::spread(Rows rows, const Atoms &atoms) {
  HEDDLE_ASSIGN(rows, written(std::move(rows)));
  if (rows.spread == atoms) {
    return rows;
  }
  const Atoms order = rows.order();
  const bool isFirst =
      order.size() >= atoms.size() && std::equal(atoms.begin(), atoms.end(), order.begin());
  HEDDLE_TRY(checkChoices(atoms));
  if (!isFirst || rows.pooled || rows.hasKeys() || rows.space != 0) {
    return failure(StatusCode::Unsupported,
                   "needs an order of axes that the program has no operation for");
  }
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), {order}));
  const Atoms rest(order.begin() + static_cast<int64_t>(atoms.size()), order.end());
  rows.value = make<transformer::SplitRowsOp>(tensorType({ShapedType::kDynamic, widthOf(rest)}),
                                              rows.value, choices(atoms));
  rows.spread = atoms;
  rows.physical = {rest};
  return rows;
}

/// The inverse of spread().
Rows Evaluation::joined(Rows rows) {
  if (!rows.spread.empty()) {
    const Atoms order = rows.order();
    rows.value = make<transformer::JoinRowsOp>(tensorType({ShapedType::kDynamic, widthOf(order)}),
                                               rows.value, choices(rows.spread));
    rows.spread.clear();
    rows.physical = {order};
  }
  return rows;
}

Result<Rows> Evaluation::arranged(Rows rows, const std::vector<Atoms> &physical) {
  HEDDLE_ASSIGN(rows, written(std::move(rows)));
  rows = joined(std::move(rows));
  if (rows.physical == physical) {
    return rows;
  }
  const auto refuse = [&] {
    return failure(StatusCode::Unsupported,
                   "needs an order of axes that the program has no operation for");
  };
  const Atoms from = onnx::flatten(rows.physical), to = onnx::flatten(physical);
  if (rows.hasKeys() || physical.size() > 2 || rows.physical.size() > 2 ||
      from.size() != to.size()) {
    return refuse();
  }
  const auto setGroups = [&](std::vector<Atoms> groups) {
    // Convert through [t, w], the common form of all layouts.
    const int64_t width = widthOf(from);
    if (rows.physical.size() == 2) {
      rows.value =
          make<transformer::MergeHeadsOp>(tensorType({ShapedType::kDynamic, width}), rows.value);
    }
    if (groups.size() == 2) {
      rows.value = make<transformer::SplitHeadsOp>(
          tensorType({ShapedType::kDynamic, widthOf(groups[0]), widthOf(groups[1])}), rows.value);
    }
    rows.physical = std::move(groups);
  };
  const auto cut = [](const Atoms &atoms, size_t count) {
    return std::vector<Atoms>{{atoms.begin(), atoms.begin() + static_cast<int64_t>(count)},
                              {atoms.begin() + static_cast<int64_t>(count), atoms.end()}};
  };
  if (from != to) {
    // Swap two adjacent parts.
    const auto start = std::find(to.begin(), to.end(), from.front());
    const size_t second = static_cast<size_t>(to.end() - start);
    Atoms swapped(from.begin() + static_cast<int64_t>(second), from.end());
    swapped.insert(swapped.end(), from.begin(), from.begin() + static_cast<int64_t>(second));
    if (start == to.end()) {
      return refuse();
    }
    if (swapped != to) {
      HEDDLE_ASSIGN(rows, permuted(std::move(rows), to));
      return arranged(std::move(rows), physical);
    }
    const std::vector<Atoms> groups = cut(from, second);
    if (rows.physical != groups) {
      setGroups(groups);
    }
    rows.value = make<transformer::TransposeOp>(
        tensorType({ShapedType::kDynamic, widthOf(groups[1]), widthOf(groups[0])}), rows.value,
        ArrayRef<int64_t>(exchange));
    rows.physical = {groups[1], groups[0]};
  }
  if (rows.physical != physical) {
    setGroups(physical);
  }
  return rows;
}

/// Permutes the parts from first to last: moves the next part to the front of the remaining ones by
/// swapping two adjacent groups within each of the parts that are already in place.
Result<Rows> Evaluation::permuted(Rows rows, const Atoms &to) {
  Atoms order = rows.order();
  if (rows.pooled || rows.space != 0 ||
      !std::is_permutation(order.begin(), order.end(), to.begin())) {
    return failure(StatusCode::Unsupported,
                   "needs an order of axes that the program has no operation for");
  }
  if (rows.physical.size() == 2) {
    rows.value = make<transformer::MergeHeadsOp>(tensorType({ShapedType::kDynamic, widthOf(order)}),
                                                 rows.value);
  }
  rows.physical = {order};
  for (size_t done = 0; done + 1 < to.size(); ++done) {
    const auto begin = order.begin() + static_cast<int64_t>(done);
    const auto found = std::find(begin, order.end(), to[done]);
    if (found == begin) {
      continue;
    }
    const std::vector<Atoms> groups{{begin, found}, {found, order.end()}};
    const Atoms inPlace(order.begin(), begin);
    if (!inPlace.empty()) {
      HEDDLE_ASSIGN(rows, spread(std::move(rows), inPlace));
    }
    const int64_t first = widthOf(groups[0]), second = widthOf(groups[1]);
    rows.value = make<transformer::SplitHeadsOp>(tensorType({ShapedType::kDynamic, first, second}),
                                                 rows.value);
    rows.value = make<transformer::TransposeOp>(tensorType({ShapedType::kDynamic, second, first}),
                                                rows.value, ArrayRef<int64_t>(exchange));
    rows.value = make<transformer::MergeHeadsOp>(tensorType({ShapedType::kDynamic, first * second}),
                                                 rows.value);
    rows.physical = {onnx::flatten({groups[1], groups[0]})};
    rows = joined(std::move(rows));
    order = rows.order();
  }
  return rows;
}

Result<Rows> Evaluation::sliced(Rows rows, size_t axis, int64_t first, int64_t count) {
  const Atoms whole = rows.axes[axis];
  const int64_t size = widthOf(whole);
  if (first == 0 && count == size) {
    return rows;
  }
  if (count == 0) {
    // No operation has an empty result. Only Concat can read it, and drops it.
    rows.axes[axis] = {newAtom(0)};
    return rows;
  }
  Atoms rest;
  for (const Atom &atom : rows.order()) {
    if (std::find(whole.begin(), whole.end(), atom) == whole.end()) {
      rest.push_back(atom);
    }
  }
  Atoms order = rest;
  order.insert(order.end(), whole.begin(), whole.end());
  if (!rest.empty() && order == rows.order() && widthOf(rest) <= mostChoices && !rows.pooled) {
    // Columns of each part, such as each head.
    HEDDLE_ASSIGN(rows, spread(std::move(rows), rest));
    rows.value = make<transformer::ColumnsOp>(tensorType({ShapedType::kDynamic, count}), rows.value,
                                              static_cast<uint64_t>(first));
    rows.axes[axis] = count > 1 ? Atoms{newAtom(count)} : Atoms();
    rows.physical = {rows.axes[axis]};
    return rows;
  }
  order = whole;
  order.insert(order.end(), rest.begin(), rest.end());
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), {order}));
  const int64_t step = widthOf(rest);
  rows.value = make<transformer::ColumnsOp>(tensorType({ShapedType::kDynamic, count * step}),
                                            rows.value, static_cast<uint64_t>(first * step));
  // A single element is not an axis any more.
  rows.axes[axis].clear();
  if (count > 1) {
    const Atom part = newAtom(count);
    rows.axes[axis] = {part};
    rest.insert(rest.begin(), part);
  }
  rows.physical = {rest};
  return rows;
}

Result<Rows> Evaluation::firstRow(Rows rows, size_t axis, int64_t index) {
  if (index != 0 || rows.pooled || rows.hasKeys()) {
    return failure(StatusCode::Unsupported,
                   fmt::format("reads row {} of each sequence, expected the first one", index));
  }
  const std::vector<Atoms> flat{rows.order()};
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), flat));
  rows.value = make<transformer::PoolOp>(transformer::Pooling::Cls, rows.value, segmentsOf(rows),
                                         /*blocks=*/mlir::Value());
  rows.axes[axis].clear();
  rows.pooled = true;
  rows.space = 0;
  return rows;
}

Result<Rows> Evaluation::repeated(Rows rows, size_t axis, int64_t times) {
  Atoms before, after;
  for (size_t i = 0; i < rows.axes.size(); ++i) {
    for (const Atom &atom : rows.axes[i]) {
      if (atom.kind == Atom::Kind::Inner && i != axis) {
        (i < axis ? before : after).push_back(atom);
      }
    }
  }
  if (rows.hasKeys() || rows.pooled || after.empty()) {
    return failure(StatusCode::Unsupported,
                   "repeats activations, expected heads of rows to be repeated");
  }
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), {before, after}));
  const Atom copies = newAtom(times);
  before.push_back(copies);
  rows.value = make<transformer::RepeatHeadsOp>(
      tensorType({ShapedType::kDynamic, widthOf(before), widthOf(after)}), rows.value);
  rows.axes[axis] = {copies};
  rows.physical = {before, after};
  return rows;
}

Status Evaluation::align(Rows &left, Rows &right) {
  const size_t rank = std::max(left.axes.size(), right.axes.size());
  left.axes.insert(left.axes.begin(), rank - left.axes.size(), {});
  right.axes.insert(right.axes.begin(), rank - right.axes.size(), {});
  for (size_t axis = 0; axis < rank; ++axis) {
    for (size_t i = 0; i < std::min(left.axes[axis].size(), right.axes[axis].size()); ++i) {
      const Atom a = left.axes[axis][i], b = right.axes[axis][i];
      if (a.kind != Atom::Kind::Inner || b.kind != Atom::Kind::Inner) {
        if (a.kind != b.kind || a.size != b.size) {
          return failure(StatusCode::Unsupported,
                         "its operands have different axes, expected rows of one form");
        }
        continue;
      }
      Rows &larger = a.size > b.size ? left : right;
      const int64_t least = std::min(a.size, b.size);
      if (std::max(a.size, b.size) % least != 0) {
        return failure(StatusCode::Unsupported, "its operands divide an axis in different parts");
      }
      if (a.size != b.size) {
        const Atom whole = larger.axes[axis][i];
        splitAtom(larger, whole, newAtom(least), newAtom(whole.size / least));
      }
      // The left atom replaces the right one.
      const Atom mine = left.axes[axis][i], theirs = right.axes[axis][i];
      changeAtoms(right,
                  [&](Atoms &group) { std::replace(group.begin(), group.end(), theirs, mine); });
    }
    if (!left.axes[axis].empty() && !right.axes[axis].empty() &&
        left.axes[axis].size() != right.axes[axis].size()) {
      return failure(StatusCode::Unsupported, "its operands have axes of different sizes");
    }
  }
  return {};
}

/// Rejects activations without elements, such as a slice of columns beyond the last one.
Status Evaluation::checkNotEmpty(const Call &call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.has(i) && call.inputs[i]->rows && call.inputs[i]->rows->isEmpty()) {
      return failure(StatusCode::Unsupported,
                     fmt::format("reads {}, which has no elements, expected a Concat with others",
                                 quote(*call.node.inputs[i])));
    }
  }
  return {};
}

} // namespace heddle::onnx
