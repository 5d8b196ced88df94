// SPDX-License-Identifier: Apache-2.0
///
/// Constant folding while a graph is read: a result that depends only on constants becomes a new
/// constant, and a graph without inputs is evaluated completely.
#include "frontend/Onnx/Folding.h"

#include "base/Utf8.h"
#include "frontend/Onnx/Evaluation.h"
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

namespace onnx {

/// The maximum number of elements of a folded tensor.
static constexpr int64_t mostFolded = int64_t{1} << 22;
/// Formulas with more parts than this are folded to tables.
static constexpr size_t mostFormulaParts = 128;

std::optional<std::vector<int64_t>> Evaluation::closedShape(const Symbolic &value) {
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Expr size : value.shape) {
    if (!size->isConstant() || size->integer < 0 ||
        __builtin_mul_overflow(count, size->integer, &count) || count > mostFolded) {
      return std::nullopt;
    }
    shape.push_back(size->integer);
  }
  const auto [known, isNew] = closed.try_emplace(value.body, false);
  if (isNew) {
    known->second = onnx::isClosed(expressions, value.body);
  }
  return known->second ? std::optional(std::move(shape)) : std::nullopt;
}

Result<Elements> Evaluation::elementsOf(const Symbolic &value) {
  const auto shape = closedShape(value);
  if (!shape) {
    return failure(StatusCode::Unsupported, "computes with numbers that do not follow from "
                                            "constants, or with too many of them");
  }
  Result<Elements> elements = onnx::elementsOf(expressions, value.body, *shape);
  return elements.ok() ? std::move(elements)
                       : Result<Elements>(failure(elements.status().code(),
                                                  std::string(elements.status().message())));
}

size_t Evaluation::addTable(const Elements &elements) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  const auto put = [&](const auto &number) {
    const auto view = std::as_bytes(std::span(&number, 1));
    bytes->insert(bytes->end(), view.begin(), view.end());
  };
  for (size_t i = 0; i < elements.count(); ++i) {
    if (elements.element == Element::Real) {
      put(static_cast<float>(elements.reals[i]));
    } else if (elements.element == Element::Integer) {
      put(elements.integers[i]);
    } else {
      put(static_cast<uint8_t>(elements.integers[i]));
    }
  }
  OnnxTensor &table = made.emplace_back();
  table.dtype = elements.element == Element::Real      ? ElementType::F32
                : elements.element == Element::Integer ? ElementType::I64
                                                       : ElementType::Bool;
  table.shape = elements.shape;
  table.owned = bytes;
  table.bytes = *bytes;
  const std::string of = node == nullptr ? plan.name : node->name;
  std::vector<Expr> shape;
  for (const int64_t size : elements.shape) {
    shape.push_back(integer(size));
  }
  const std::string name = fmt::format("{} folded {}", of, ++foldedBy[of]);
  return expressions.addSource({name, elements.element, &table, std::move(shape)});
}

Symbolic Evaluation::constant(const Elements &elements) {
  const auto isSame = [&](size_t i) { return elements.at(i) == elements.at(0); };
  bool isUniform = elements.count() > 0;
  for (size_t i = 1; isUniform && i < elements.count(); ++i) {
    isUniform = isSame(i);
  }
  if (isUniform) {
    Symbolic value{elements.element, {}, nullptr};
    for (const int64_t size : elements.shape) {
      value.shape.push_back(integer(size));
    }
    value.body = elements.isReal() ? expressions.real(elements.reals[0])
                 : elements.element == Element::Integer
                     ? integer(elements.integers[0])
                     : expressions.boolean(elements.integers[0] != 0);
    return value;
  }
  const Source &source = expressions.source(addTable(elements));
  return constant(std::string(source.name), *source.constant);
}

/// Returns whether a formula reads a tensor at its own coordinates, with constant offsets.
static bool isView(Expr body) {
  return body->formula == Formula::Read &&
         std::all_of(body->operands.begin(), body->operands.end(), [](Expr each) {
           return each->isConstant() || each->formula == Formula::Axis ||
                  (each->formula == Formula::Sum && each->terms.size() == 2 &&
                   each->terms[0].factors.size() + each->terms[1].factors.size() == 1);
         });
}

Status Evaluation::fold(Symbolic &value) {
  const Expr body = value.body;
  const bool isData = body->element == Element::Real && expressions.readsTable(body);
  if (body->isConstant() || isView(body) || (!isData && body->weight <= mostFormulaParts) ||
      !closedShape(value)) {
    return {};
  }
  const Result<Elements> elements = elementsOf(value);
  // A value that cannot be computed is rejected where it is read.
  if (elements.ok() && elements->count() > 0) {
    const std::string maker = value.maker;
    value = constant(*elements);
    value.maker = maker;
  }
  return {};
}

Result<std::vector<FoldedTensor>> Evaluation::foldedOutputs() {
  HEDDLE_TRY(begin());
  HEDDLE_TRY(evaluateNodes());
  node = nullptr;
  std::vector<FoldedTensor> tensors;
  for (const OnnxPort &port : graph.outputs) {
    const std::string name(port.name);
    const auto value = values.find(name);
    if (value == values.end() || !value->second.symbolic) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("output {} is computed, expected numbers that follow from "
                                      "constants",
                                      quote(name)));
    }
    Result<Elements> elements = elementsOf(*value->second.symbolic);
    HEDDLE_TRY_WITH(elements.status(), fmt::format("output {}", quote(name)));
    tensors.push_back({name, elements->shape, elements->isReal(), std::move(elements->reals),
                       std::move(elements->integers)});
  }
  return tensors;
}

} // namespace onnx

using namespace onnx;

Result<std::vector<FoldedTensor>> foldOnnxGraph(mlir::MLIRContext &context,
                                                const std::string &path) {
  HEDDLE_ASSIGN(const OnnxFile file, OnnxFile::open(path));
  HEDDLE_ASSIGN(const Graph graph, flatten(file.model(), file.path()));
  HEDDLE_TRY_WITH(checkOperators(graph), path);
  if (!graph.inputs.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: has {} inputs, expected none", path, graph.inputs.size()));
  }
  ModelBuilder builder(context, "onnx");
  Evaluation evaluation(graph, context, builder, {"constants"});
  Result<std::vector<FoldedTensor>> tensors = evaluation.foldedOutputs();
  HEDDLE_TRY_WITH(tensors.status(), path);
  return tensors;
}

} // namespace heddle
