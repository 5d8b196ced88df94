// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates inputs, outputs and the sequence of nodes.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"
#include "heddle/RectangleEntries.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

/// The maximum number of elements of a constant that is checked for a closed form.
static constexpr int64_t mostIndices = int64_t{1} << 20;
/// The maximum number of elements of a tensor that a graph may make from constants.
static constexpr int64_t mostConstantElements = int64_t{1} << 31;

Evaluation::Evaluation(const Graph &graph, MLIRContext &context, ModelBuilder &builder,
                       EntryPlan plan)
    : graph(graph), forms(formsOf(graph)), builder(builder), plan(std::move(plan)),
      entry(builder.entry(this->plan.name)), context(&context),
      location(UnknownLoc::get(&context)) {
  if (!this->plan.targets.empty()) {
    other = OtherRows{builder.entry(this->plan.targets)};
    other->areTargets = this->plan.known != nullptr || forms.hasPasts();
  }
  for (const GraphNode &each : graph.nodes) {
    for (const std::optional<std::string> &input : each.inputs) {
      if (input) {
        ++readersOf[*input];
      }
    }
  }
  for (const OnnxPort &output : graph.outputs) {
    ++readersOf[std::string(output.name)];
  }
}

Status Evaluation::failure(StatusCode code, const std::string &message) const {
  return Status(code, node == nullptr ? message : fmt::format("{}: {}", node->describe(), message),
                __FILE_NAME__, __LINE__);
}

size_t Evaluation::readers(const std::string &name) const {
  const auto found = readersOf.find(name);
  return found == readersOf.end() ? 0 : found->second;
}

static Element elementOf(ElementType type) {
  const ElementTypeInfo &info = infoOf(type);
  return info.isFloat() ? Element::Real : info.isInteger() ? Element::Integer : Element::Boolean;
}

// --- constants and shapes --------------------------------------------------------------------

/// Returns the first value and the step along each axis if a table of integers is affine in them.
static std::optional<std::vector<int64_t>> linearForm(const OnnxTensor &table) {
  const std::vector<int64_t> &shape = table.shape;
  std::vector<int64_t> form(shape.size() + 1, 0);
  form[0] = integerAt(table, 0);
  uint64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] > 1 &&
        __builtin_sub_overflow(integerAt(table, stride), form[0], &form[axis + 1])) {
      return std::nullopt;
    }
    stride *= static_cast<uint64_t>(shape[axis]);
  }
  std::vector<int64_t> index(shape.size(), 0);
  for (uint64_t number = 0; number < stride; ++number) {
    int64_t expected = form[0];
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t step = 0;
      if (__builtin_mul_overflow(form[axis + 1], index[axis], &step) ||
          __builtin_add_overflow(expected, step, &expected)) {
        return std::nullopt;
      }
    }
    if (integerAt(table, number) != expected) {
      return std::nullopt;
    }
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
  return form;
}

/// Returns the two values of a square table, the first up to and including the diagonal, the second
/// above it, as in causal masks that exporters store; nullopt if the table has another form.
static std::optional<std::array<double, 2>> triangleOf(const OnnxTensor &table, Element element) {
  const std::vector<int64_t> &shape = table.shape;
  const int64_t size = shape.empty() ? 0 : shape.back();
  if (shape.size() < 2 || size < 2 || shape[shape.size() - 2] != size ||
      table.elements() != size * size) {
    return std::nullopt;
  }
  const auto at = [&](int64_t row, int64_t column) {
    const auto index = static_cast<uint64_t>(row * size + column);
    return element == Element::Real ? realAt(table, index)
                                    : std::optional<double>(integerAt(table, index));
  };
  const std::optional<double> below = at(0, 0), above = at(0, 1);
  if (!below || !above || *below == *above) {
    return std::nullopt;
  }
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) {
      if (at(row, column) != (column <= row ? below : above)) {
        return std::nullopt;
      }
    }
  }
  return std::array{*below, *above};
}

/// Returns a triangular table as a formula. Tables of floats that are not a mask are weights, for
/// which it returns null.
Expr Evaluation::triangle(const Symbolic &value, const OnnxTensor &table) {
  const auto values = triangleOf(table, value.element);
  if (!values || (value.element == Element::Real && ((*values)[0] != 0 || (*values)[1] > hides))) {
    return nullptr;
  }
  const auto number = [&](double each) {
    return value.element == Element::Real      ? expressions.real(each)
           : value.element == Element::Boolean ? expressions.boolean(each != 0)
                                               : integer(static_cast<int64_t>(each));
  };
  expressions.within(value.shape);
  const size_t rank = value.shape.size();
  return expressions.select(
      expressions.less(expressions.axis(rank - 2), expressions.axis(rank - 1)),
      number((*values)[1]), number((*values)[0]));
}

/// Returns whether all elements of a Boolean table are equal.
static bool isUniform(const OnnxTensor &table) {
  for (int64_t number = 1; number < table.elements(); ++number) {
    if (integerAt(table, static_cast<uint64_t>(number)) != integerAt(table, 0)) {
      return false;
    }
  }
  return true;
}

Symbolic Evaluation::constant(const std::string &name, const OnnxTensor &tensor) {
  Symbolic value;
  value.element = elementOf(tensor.dtype);
  for (const int64_t size : tensor.shape) {
    value.shape.push_back(integer(size));
  }
  const size_t source = expressions.addSource({name, value.element, &tensor, value.shape});
  const int64_t count = tensor.elements();
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    coordinates.push_back(count == 1 ? integer(0) : expressions.axis(axis));
  }
  if (count == 0) {
    value.body = integer(0);
    return value;
  }
  if (value.element == Element::Integer && count > 1 && count <= mostIndices) {
    if (const auto form = linearForm(tensor)) {
      value.body = integer(form->front());
      for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        value.body = expressions.add(
            value.body, expressions.multiply(integer((*form)[axis + 1]), expressions.axis(axis)));
      }
      return value;
    }
  }
  if (value.element == Element::Boolean && count <= mostIndices && isUniform(tensor)) {
    value.body = expressions.boolean(integerAt(tensor, 0) != 0);
    return value;
  }
  value.body = count <= mostIndices ? triangle(value, tensor) : nullptr;
  if (value.body == nullptr) {
    value.body = expressions.read(source, std::move(coordinates));
  }
  return value;
}

std::vector<Expr> Evaluation::shapeOf(const Rows &rows) {
  std::vector<Expr> shape;
  for (const Atoms &axis : rows.axes) {
    Expr size = integer(1);
    for (const Atom &atom : axis) {
      size = expressions.multiply(size, atom.kind == Atom::Kind::Batch   ? batch()
                                        : atom.kind == Atom::Kind::Past  ? earlier()
                                        : atom.kind == Atom::Kind::Inner ? integer(atom.size)
                                                                         : sizeOf(atom.size));
    }
    shape.push_back(size);
  }
  return shape;
}

std::vector<Expr> Evaluation::shapeOf(const Value &value) {
  return value.symbolic ? value.symbolic->shape : shapeOf(*value.rows);
}

Expr Evaluation::broadcast(const Symbolic &value, size_t rank) {
  std::vector<Expr> coordinates;
  const size_t offset = rank - value.shape.size();
  for (size_t axis = 0; axis < value.shape.size(); ++axis) {
    coordinates.push_back(value.shape[axis]->isConstant(1) ? integer(0)
                                                           : expressions.axis(axis + offset));
  }
  return expressions.substitute(value.body, coordinates);
}

// --- inputs ----------------------------------------------------------------------------------

/// Adds an input of ids or a mask of a length. Runs without padding do not have the mask as an
/// input.
void Evaluation::addIds(const OnnxPort &port, Element element, int64_t size) {
  const std::string name(port.name);
  Symbolic value{element, {batch(), sizeOf(size)}, nullptr};
  if (totalSize && !plan.isFunction && name == positionsInput && size == *sequenceSize) {
    value.body = expressions.add(expressions.axis(1), earlier());
    values[name] = {std::move(value), std::nullopt};
    return;
  }
  const Uses *const known = plan.known;
  const LengthUses uses = known == nullptr ? LengthUses() : known->of(lengthKey(size));
  const bool isPadding = uses.padding && uses.padding->input == name;
  if (size != totalSize && (!totalSize || plan.isFunction || !isPadding)) {
    const bool isRead = known == nullptr || known->read.contains(name);
    ids[name] = isRead ? entry.input(name) : entry.optionalInput(name);
  }
  if (isPadding && (!totalSize || (plan.isFunction && size != totalSize))) {
    entry.pad(name, static_cast<int32_t>(uses.padding->value));
    if (uses.padding->isBit && !known->read.contains(name)) {
      entry.limit(name, 2);
    }
  } else if (uses.ending && uses.ending->input == name) {
    entry.pad(name, static_cast<int32_t>(uses.ending->value));
  }
  const size_t source = expressions.addSource({name, element, nullptr, value.shape});
  value.body = expressions.read(
      source, {expressions.axis(0), size == sequenceSize ? rowCoordinate(1) : expressions.axis(1)});
  values[name] = {std::move(value), std::nullopt};
}

/// Returns an error that names the supported forms of inputs.
static Status refuseInput(const OnnxPort &port, std::string_view what) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("input {} {}, expected ids [batch, sequence] or rows of floats "
                                  "[batch, sequence, width]",
                                  quote(port.name), what));
}

/// Adds an input of rows of floats whose length has this number.
Status Evaluation::addRows(const OnnxPort &port, int64_t size, bool hasBatch) {
  const std::string name(port.name);
  const std::optional<int64_t> width = port.shape->back().number;
  if (!width || *width < 1) {
    return refuseInput(port, "has no constant width");
  }
  Rows value;
  value.value = entry.input(name, *width).value();
  const Atom whole = newAtom(*width);
  value.physical = {{whole}};
  value.axes = {{{Atom::Kind::Row, size, 0}}, {whole}};
  if (hasBatch) {
    value.axes.insert(value.axes.begin(), Atoms{{Atom::Kind::Batch, 0, 0}});
  }
  values[name] = {std::nullopt, std::move(value)};
  return {};
}

/// Adds an input [batch, heads, rows, size], in any order after the batch: rows with the other axes
/// side by side.
Status Evaluation::addHeadedRows(const OnnxPort &port, size_t axis, int64_t size) {
  const std::string name(port.name);
  Rows value;
  Atoms inner;
  int64_t width = 1;
  for (size_t i = 0; i < port.shape->size(); ++i) {
    const std::optional<int64_t> count = (*port.shape)[i].number;
    if (i == 0 || i == axis) {
      value.axes.push_back(
          {i == 0 ? Atom{Atom::Kind::Batch, 0, 0} : Atom{Atom::Kind::Row, size, 0}});
      continue;
    }
    if (*count < 1 || __builtin_mul_overflow(width, *count, &width) ||
        width > std::numeric_limits<int32_t>::max()) {
      return refuseInput(port, fmt::format("has an axis of {}", *count));
    }
    inner.push_back(newAtom(*count));
    value.axes.push_back({inner.back()});
  }
  value.value = entry.input(name, width).value();
  value.physical = {inner};
  described.push_back({entryName(), name, true, portAxes(value)});
  values[name] = {std::nullopt, std::move(value)};
  return {};
}

/// Returns whether an input has a batch axis; rows of floats may have none.
static bool hasBatchAxis(const OnnxPort &port) {
  return port.dtype && port.shape &&
         port.shape->size() >= (infoOf(*port.dtype).isFloat() ? size_t{3} : size_t{2});
}

Status Evaluation::addInput(const OnnxPort &port) {
  HEDDLE_ASSIGN(const bool isImage, addImage(port));
  if (hasImages && (!isImage || graph.inputs.size() > 1)) {
    return refuseInput(port, "is beside others, one of which a convolution reads");
  }
  if (isImage) {
    return {};
  }
  if (!port.dtype || !port.shape) {
    return refuseInput(port, port.dtype ? "has no shape" : "is no tensor of numbers");
  }
  const Element element = elementOf(*port.dtype);
  const size_t rank = port.shape->size();
  const size_t least = element == Element::Real ? 3 : 2;
  const bool isFlat = element == Element::Real && rank == 2;
  const std::optional<size_t> headed = plan.isFunction ? headedRowsAxis(port) : std::nullopt;
  if (rank != least && !isFlat && !headed) {
    return refuseInput(port, fmt::format("has {} axes", rank));
  }
  const auto withBatch = std::find_if(graph.inputs.begin(), graph.inputs.end(), hasBatchAxis);
  if (isFlat && withBatch != graph.inputs.end()) {
    // In the graph, all sequences of the batch share these rows; in the program, each has its own.
    return refuseInput(port, fmt::format("has no batch, but {} has", quote(withBatch->name)));
  }
  const OnnxSize &length = (*port.shape)[headed.value_or(isFlat ? 0 : 1)];
  const std::optional<int64_t> batch = isFlat ? std::nullopt : port.shape->front().number;
  if (totalSize && length.number && !plan.isFunction) {
    return fixedBesidePast(port.name, *length.number);
  }
  if (totalSize && batch) {
    return refuseInput(port, "has a fixed batch beside a past");
  }
  // With pasts, a mask covers the positions of the past, too.
  const std::string name = *lengthOf(port);
  const bool isOfAll = forms.isOfPastAndRun(name);
  const auto next = static_cast<int64_t>(sizes.size()) + 1;
  const int64_t size = sizes.try_emplace(name, isOfAll ? *totalSize : next).first->second;
  if (!(isOfAll && size == *totalSize) && !enterLength(size)) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("input {} has rows of another length than the inputs before "
                                    "it, expected one length for all",
                                    quote(port.name)));
  }
  HEDDLE_TRY(fixDeclared(port, length.number, size));
  HEDDLE_TRY(fixDeclared(port, batch, 0));
  if (plan.isFunction && sizeOf(size)->isConstant()) {
    described.push_back({entryName(), std::string(port.name), true, {}, {}, sizeOf(size)->integer});
  }
  if (headed) {
    return addHeadedRows(port, *headed, size);
  }
  if (element == Element::Real) {
    return addRows(port, size, !isFlat);
  }
  addIds(port, element, size);
  return {};
}

/// Returns whether an input may hold one integer per sequence.
static bool areCounts(const OnnxPort &port) {
  return port.dtype && infoOf(*port.dtype).isInteger() && port.shape && port.shape->size() == 1;
}

Status Evaluation::addCounts(const OnnxPort &port) {
  const std::string name(port.name);
  if (totalSize || other || hasImages || !sequenceSize) {
    return refuseInput(port, "has one number for each sequence, which is read beside rows of one "
                             "length without a past");
  }
  HEDDLE_TRY(fixDeclared(port, port.shape->front().number, 0));
  const LengthUses uses = plan.known == nullptr ? LengthUses() : plan.known->of(0);
  ids[name] = entry.optionalInput(name);
  if (uses.padding && uses.padding->input == name) {
    entry.pad(name, static_cast<int32_t>(uses.padding->value));
    entry.limit(name, 2);
  }
  Symbolic value{Element::Integer, {batch()}, nullptr};
  const size_t source = expressions.addSource({name, Element::Integer, nullptr, value.shape});
  value.body = expressions.read(source, {expressions.axis(0)});
  values[name] = {std::move(value), std::nullopt};
  return {};
}

Status Evaluation::addInputs() {
  for (const FixedSize &size : plan.fixed) {
    fixedSizes.emplace(size.number, size.value);
  }
  if (forms.hasPasts()) {
    totalSize = sizes.emplace("all positions so far", 1).first->second;
    runSize = sizes.try_emplace(forms.run, 2).first->second;
  }
  if (plan.isWhole) {
    for (const OnnxPort &port : graph.inputs) {
      HEDDLE_TRY(addWhole(port));
    }
    return {};
  }
  // With pasts, the tokens define the rows of a run, so they come before a mask of all rows
  // wherever it is listed.
  for (const bool isFirst : {true, false}) {
    for (const OnnxPort &port : graph.inputs) {
      const bool comesFirst = !totalSize || areIndices(graph, port.name);
      if (comesFirst == isFirst && !areCounts(port) && (!totalSize || !addPast(port))) {
        HEDDLE_TRY(addInput(port));
      }
    }
  }
  // Added last, when the length that they count is known.
  for (const OnnxPort &port : graph.inputs) {
    HEDDLE_TRY(areCounts(port) ? addCounts(port) : Status());
  }
  if (plan.hasColumns) {
    columns = entry.input(columnsInput);
    if (plan.known->usesAngles || plan.known->usesDistances) {
      columnNumbers = entry.input(columnNumbersInput, 1).value();
    }
  }
  return {};
}

// --- nodes -----------------------------------------------------------------------------------

/// Rejects oversized tensors made from constants.
static Status checkSize(const Evaluation &evaluation, const std::vector<Expr> &shape) {
  int64_t count = 1;
  for (const Expr size : shape) {
    if (size->isConstant() && size->integer < 0) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("makes an axis of {} elements", size->integer));
    }
    if (size->isConstant() &&
        (__builtin_mul_overflow(count, std::max<int64_t>(size->integer, 1), &count) ||
         count > mostConstantElements)) {
      return evaluation.failure(
          StatusCode::Unsupported,
          fmt::format("makes more than {} elements of constants", mostConstantElements));
    }
  }
  return {};
}

Status Evaluation::evaluate(const GraphNode &next) {
  node = &next;
  location = NameLoc::get(StringAttr::get(context, next.name));
  const OperatorInfo *const info = findOperator(next);
  if (next.inputs.size() < info->leastInputs || next.inputs.size() > info->mostInputs) {
    return failure(StatusCode::InvalidArgument,
                   fmt::format("has {} inputs, expected {} to {}", next.inputs.size(),
                               info->leastInputs, info->mostInputs));
  }
  Call call{next, {}};
  for (size_t i = 0; i < next.inputs.size(); ++i) {
    const auto value = next.inputs[i] ? values.find(*next.inputs[i]) : values.end();
    if (value == values.end() && (next.inputs[i] || !info->mayOmit(i))) {
      return failure(StatusCode::InvalidArgument,
                     fmt::format("input {} is {}, expected a value", i + 1,
                                 next.inputs[i] ? "not made" : "left out"));
    }
    call.inputs.push_back(value == values.end() ? nullptr : &value->second);
  }
  expressions.clearProblem();
  HEDDLE_TRY(checkPasts(call, *info));
  HEDDLE_TRY(info->takesEmpty ? Status() : checkNotEmpty(call));
  for (const Value *const input : call.inputs) {
    if (input != nullptr && input->rows && input->rows->value) {
      enterRowsOf(*input->rows);
      break;
    }
  }
  HEDDLE_TRY(info->evaluate(*this, call));
  HEDDLE_TRY(call.checkAsked());
  if (!expressions.problem().empty()) {
    return failure(StatusCode::InvalidArgument, expressions.problem());
  }
  for (size_t i = 0; i < next.outputs.size(); ++i) {
    if (i >= call.results.size() || call.results[i].isMissing()) {
      // An optional result without a use may be missing.
      if (!next.outputs[i].empty() && readers(next.outputs[i]) > 0) {
        return failure(StatusCode::Unsupported,
                       fmt::format("output {} is not supported, and something reads it",
                                   quote(next.outputs[i])));
      }
      continue;
    }
    HEDDLE_TRY(checkSize(*this, shapeOf(call.results[i])));
    if (call.results[i].symbolic) {
      call.results[i].symbolic->maker = next.name;
      HEDDLE_TRY(fold(*call.results[i].symbolic));
    }
    if (call.results[i].rows && call.results[i].rows->function != nullptr) {
      functions.try_emplace(call.results[i].rows->function, &next);
    }
    if (next.outputs[i].empty()) {
      continue;
    }
    values[next.outputs[i]] = std::move(call.results[i]);
  }
  return {};
}

Status Evaluation::begin() {
  HEDDLE_TRY(builder.status());
  rows = entry.segments();
  block = rows.value().getParentBlock();
  if (other) {
    other->rows = other->entry.segments();
    other->block = other->rows.value().getParentBlock();
  }
  location = NameLoc::get(StringAttr::get(context, plan.name));
  return {};
}

Status Evaluation::evaluateNodes() {
  for (const auto &[name, tensor] : graph.constants) {
    values[name] = {constant(name, *tensor), std::nullopt};
  }
  for (const GraphNode &next : graph.nodes) {
    HEDDLE_TRY(evaluate(next));
  }
  return {};
}

Status Evaluation::run() {
  HEDDLE_TRY(begin());
  HEDDLE_TRY(addInputs());
  HEDDLE_TRY(builder.status());
  HEDDLE_TRY(evaluateNodes());
  HEDDLE_TRY(addOutputs());
  HEDDLE_TRY(checkCaches());
  return builder.status();
}

} // namespace heddle::onnx
