// SPDX-License-Identifier: Apache-2.0
///
/// Inputs of static size (images and audio) and the parts of them that are rows of their own. Each
/// sequence of the program is one row, the image, and its parts are choices of it.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"
#include "heddle/RowSpace.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

bool isConvolved(const Graph &graph, std::string_view name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode &node) {
    return node.type == "Conv" && !node.inputs.empty() && node.inputs.front() == name;
  });
}

Result<bool> Evaluation::addImage(const OnnxPort &port) {
  const std::string name(port.name);
  if (!isConvolved(graph, name) || !port.dtype || !infoOf(*port.dtype).isFloat() || !port.shape ||
      port.shape->size() < 3) {
    return false;
  }
  Rows image;
  Atoms parts;
  int64_t width = 1;
  image.axes = {{{Atom::Kind::Batch, 0, 0}}};
  for (size_t axis = 1; axis < port.shape->size(); ++axis) {
    const std::optional<int64_t> size = (*port.shape)[axis].number;
    if (!size || *size < 1 || __builtin_mul_overflow(width, *size, &width) ||
        width > std::numeric_limits<int32_t>::max()) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("input {} is convolved and has no constant size in axis {}, "
                                      "expected images or sounds that all have one size",
                                      quote(name), axis));
    }
    parts.push_back(newAtom(*size));
    image.axes.push_back({parts.back()});
  }
  HEDDLE_TRY(fixDeclared(port, port.shape->front().number, 0));
  image.value = entry.input(name, width).value();
  image.physical = {parts};
  values[name] = {std::nullopt, std::move(image)};
  hasImages = true;
  return true;
}

mlir::Value Evaluation::parts(int64_t count) {
  mlir::Value &segments = partsOf[count];
  if (!segments) {
    segments = make<transformer::ChoicesOp>(rows.value().getType(), rows.value(),
                                            static_cast<uint64_t>(count));
  }
  return segments;
}

Result<Atom> Evaluation::rowsOfParts(int64_t count) {
  static constexpr int64_t most = SplitSize::mostParts;
  if (count < 2 || count > most) {
    return failure(StatusCode::Unsupported,
                   fmt::format("makes {} rows of each image, expected 2 to {}", count, most));
  }
  const auto next = static_cast<int64_t>(sizes.size()) + 1;
  const auto [known, isNew] = sizes.try_emplace(fmt::format("{} parts", count), next);
  if (isNew) {
    fixedSizes.emplace(next, count);
    spaces.emplace(next, count);
  }
  return Atom{Atom::Kind::Row, known->second, 0};
}

Result<Atoms> Evaluation::placesOf(const std::vector<int64_t> &counts, int64_t &space) {
  int64_t all = 1;
  for (const int64_t count : counts) {
    all *= count;
  }
  HEDDLE_ASSIGN(const Atom whole, rowsOfParts(all));
  space = whole.size;
  if (counts.size() == 1) {
    return Atoms{whole};
  }
  Atoms places;
  const int id = nextAtom++;
  for (const int64_t count : counts) {
    const auto next = static_cast<int64_t>(sizes.size()) + 1;
    const auto [known, isNew] = sizes.try_emplace(fmt::format("{} places", count), next);
    fixedSizes.emplace(known->second, count);
    places.push_back({Atom::Kind::Row, known->second, id});
  }
  grids.push_back({places, whole});
  return places;
}

void Evaluation::mergePlaces(Atoms &axis) const {
  for (const auto &[places, whole] : grids) {
    const auto found = std::search(axis.begin(), axis.end(), places.begin(), places.end());
    if (found != axis.end()) {
      *found = whole;
      axis.erase(found + 1, found + static_cast<int64_t>(places.size()));
    }
  }
}

mlir::Value Evaluation::segmentsOf(const Rows &value) {
  return value.space == 0 ? rows.value() : parts(spaces.at(value.space));
}

std::optional<int64_t> Evaluation::rowsOfSize(Expr size) {
  if (sequenceSize && size == sizeOf(*sequenceSize)) {
    return *sequenceSize;
  }
  const auto found = std::find_if(spaces.begin(), spaces.end(), [&](const auto &space) {
    return size->isConstant(space.second);
  });
  return found == spaces.end() ? std::nullopt : std::optional(found->first);
}

/// Returns a constant that is concatenated with the parts, such as a class token, as a part of
/// every image. The graph provides it for the first image of the batch.
Result<mlir::Value> Evaluation::constantPart(const Symbolic &value, int64_t width) {
  const std::optional<Parameter> vector = vectorParameter(value);
  if (!vector || vector->shape()[0] != width) {
    return failure(StatusCode::Unsupported,
                   "joins the parts of images with what is no row of the file");
  }
  const Parameter table =
      root().reshape(fmt::format("{}.part", vector->symbol()), *vector, {1, width});
  const mlir::Value first = make<transformer::PositionsOp>(rows.value(), uint64_t{0});
  return mlir::Value(make<transformer::GatherOp>(StringRef(table.symbol()), first, width));
}

Result<Rows> Evaluation::joinedParts(const Call &call, size_t axis) {
  int64_t width = 0, count = 0;
  Rows result;
  for (const Value *const input : call.inputs) {
    if (input->rows) {
      result = *input->rows;
    }
  }
  for (size_t other = 0; other < result.axes.size(); ++other) {
    if (other != axis && !isAxisOf(result.axes[other], Atom::Kind::Batch)) {
      width += widthOf(result.axes[other]);
    }
  }
  SmallVector<mlir::Value> values;
  for (const Value *const input : call.inputs) {
    const std::vector<Expr> shape = shapeOf(*input);
    if (shape.size() != 3 || !shape[axis]->isConstant() ||
        (input->symbolic && !shape[axis]->isConstant(1))) {
      return failure(StatusCode::Unsupported, "joins parts of images with other axes, expected "
                                              "[batch, parts, width]");
    }
    const int64_t rowsHere = shape[axis]->integer;
    count += rowsHere;
    if (input->symbolic) {
      HEDDLE_ASSIGN(const mlir::Value constant, constantPart(*input->symbolic, width));
      values.push_back(constant);
      continue;
    }
    Rows part = *input->rows;
    if (part.space == 0 || !isAxisOf(part.axes[axis], Atom::Kind::Row)) {
      return failure(StatusCode::Unsupported, "joins rows that are no parts of images");
    }
    const size_t other = axis == 1 ? 2 : 1;
    const Atoms own = part.axes[other];
    result.axes[other] = own;
    HEDDLE_ASSIGN(part, arranged(std::move(part), {own}));
    values.push_back(make<transformer::JoinRowsOp>(
        tensorType({ShapedType::kDynamic, rowsHere * width}), part.value, parts(rowsHere)));
  }
  HEDDLE_ASSIGN(const Atom whole, rowsOfParts(count));
  const mlir::Value all =
      make<transformer::ConcatOp>(tensorType({ShapedType::kDynamic, count * width}), values);
  result.value =
      make<transformer::SplitRowsOp>(tensorType({ShapedType::kDynamic, width}), all, parts(count));
  result.axes[axis] = {whole};
  result.physical = {result.axes[axis == 1 ? 2 : 1]};
  result.space = whole.size;
  result.function = nullptr;
  return result;
}

} // namespace heddle::onnx
