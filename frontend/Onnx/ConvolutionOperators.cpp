// SPDX-License-Identifier: Apache-2.0
///
/// Convolutions of images and audio of static size, emitted as products over rows.
///
/// An input of static size is one row of the program: a sequence is one image. The outputs of a
/// convolution are parts of that row, which become rows of their own (transformer.choices): the
/// patches of an image or the frames of audio. Attention then applies to the parts of each image as
/// it does to the tokens of a text.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

static int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    count *= size;
  }
  return count;
}

namespace {

/// The parameters of a convolution along one axis.
struct Line {
  int64_t size = 0, kernel = 0, stride = 1, dilation = 1, before = 0, after = 0;

  /// Returns whether the windows are disjoint and cover all elements.
  bool isOfPatches() const {
    return kernel == stride && dilation == 1 && before == 0 && after == 0 && size % kernel == 0;
  }
  /// Returns whether the kernel is centred on every `stride`th element.
  bool isCentred() const {
    return kernel % 2 == 1 && before == after && before == dilation * (kernel - 1) / 2;
  }
  int64_t count() const { return isOfPatches() ? size / kernel : (size + stride - 1) / stride; }
};

/// Emits one convolution.
class Convolution {
public:
  Convolution(Evaluation &evaluation, std::vector<Line> lines, const Parameter &weight,
              Parameter bias)
      : evaluation(evaluation), lines(std::move(lines)), weight(weight), bias(std::move(bias)),
        channels(weight.shape()[1]) {}

  Result<Rows> write(Rows image);

private:
  mlir::RankedTensorType rowsOf(int64_t width) const {
    return evaluation.tensorType({ShapedType::kDynamic, width});
  }
  mlir::Value swapped(mlir::Value value, int64_t first, int64_t second);
  mlir::Value split(mlir::Value value, int64_t width, int64_t count);
  mlir::Value joined(mlir::Value value, int64_t width, int64_t count);
  mlir::Value patches(mlir::Value image);
  mlir::Value frames(mlir::Value sound);
  mlir::Value thinned(mlir::Value rows, int64_t width);
  Parameter matrix() const;

  Evaluation &evaluation;
  std::vector<Line> lines;
  Parameter weight, bias;
  int64_t channels;
};

/// Transposes two parts of each row: [first, second] to [second, first].
mlir::Value Convolution::swapped(mlir::Value value, int64_t first, int64_t second) {
  if (first == 1 || second == 1) {
    return value;
  }
  value = evaluation.make<transformer::SplitHeadsOp>(
      evaluation.tensorType({ShapedType::kDynamic, first, second}), value);
  static constexpr int64_t swap[] = {0, 2, 1};
  value = evaluation.make<transformer::TransposeOp>(
      evaluation.tensorType({ShapedType::kDynamic, second, first}), value, ArrayRef<int64_t>(swap));
  return evaluation.make<transformer::MergeHeadsOp>(rowsOf(first * second), value);
}

/// split() views rows [count * width] as `count` rows of `width`; joined() is the inverse.
mlir::Value Convolution::split(mlir::Value value, int64_t width, int64_t count) {
  return evaluation.make<transformer::SplitRowsOp>(rowsOf(width), value, evaluation.parts(count));
}
mlir::Value Convolution::joined(mlir::Value value, int64_t width, int64_t count) {
  return evaluation.make<transformer::JoinRowsOp>(rowsOf(width * count), value,
                                                  evaluation.parts(count));
}

/// Extracts the patches of an image [channels, height, width] as rows. The elements of each row
/// have the order (column, channel, line), which takes two transpositions of adjacent parts.
/// One-dimensional data is an image of height 1.
mlir::Value Convolution::patches(mlir::Value image) {
  const Line down = lines.size() == 2 ? lines[0] : Line{1, 1};
  const Line right = lines.back();
  const int64_t height = down.count(), width = right.count();
  const int64_t elements = right.kernel * channels * down.kernel;
  // (channel; y, line, x, column) to (y; line, x, column, channel).
  mlir::Value value = swapped(image, channels, down.size * right.size);
  if (height > 1) {
    value = split(value, down.kernel * right.size * channels, height);
  }
  // (line; x, column, channel) to (x; column, channel, line).
  value = swapped(value, down.kernel, right.size * channels);
  if (height > 1) {
    value = joined(value, right.size * channels * down.kernel, height);
  }
  return split(value, elements, height * width);
}

/// Returns every `stride`th row.
mlir::Value Convolution::thinned(mlir::Value rows, int64_t width) {
  const Line &line = lines.front();
  if (line.stride == 1) {
    return rows;
  }
  const int64_t whole = line.count() * line.stride;
  mlir::Value all = joined(rows, width, line.size);
  if (whole > line.size) {
    // The columns of this padding are dropped again below.
    const int64_t more = (whole - line.size) * width;
    const mlir::Value some =
        evaluation.make<transformer::ColumnsOp>(rowsOf(more), all, uint64_t{0});
    all = evaluation.make<transformer::ConcatOp>(rowsOf(whole * width),
                                                 SmallVector<mlir::Value>{all, some});
  }
  const mlir::Value groups = split(all, line.stride * width, line.count());
  return evaluation.make<transformer::ColumnsOp>(rowsOf(width), groups, uint64_t{0});
}

/// Returns the window of the kernel at each position; the rows are the elements of one line.
mlir::Value Convolution::frames(mlir::Value sound) {
  const Line &line = lines.front();
  if (line.kernel > 1) {
    MLIRContext *const context = evaluation.getContext();
    const auto window = transformer::WindowAttr::get(context, line.kernel, /*width=*/1, 1, 1,
                                                     line.dilation, 1, /*across=*/1, false);
    sound = evaluation.make<transformer::SlideOp>(
        rowsOf(channels * line.kernel), transformer::SlideKind::Patches, sound,
        evaluation.parts(line.size), mlir::Value(), mlir::Value(), FlatSymbolRefAttr(), window,
        uint64_t{1});
  }
  return thinned(sound, channels * line.kernel);
}

/// Returns the weight [made, channels, kernel...] as a matrix that matches the column order of
/// patches() or frames().
Parameter Convolution::matrix() const {
  const std::vector<int64_t> &sizes = weight.shape();
  const int64_t columns = sizes.back();
  const int64_t others = elementsOf(sizes) / (sizes[0] * columns);
  const Scope scope = evaluation.root().scope(weight.symbol());
  return scope.patchMatrix("patches",
                           scope.reshape("elements", weight, {sizes[0], others, 1, columns}));
}

Result<Rows> Convolution::write(Rows image) {
  const bool isOfRows = image.space != 0;
  const bool areParts =
      std::all_of(lines.begin(), lines.end(), [](const Line &line) { return line.isOfPatches(); });
  const int64_t made = weight.shape()[0];
  std::vector<int64_t> counts;
  for (const Line &line : lines) {
    counts.push_back(line.count());
  }
  HEDDLE_ASSIGN(image, evaluation.written(std::move(image)));
  Atoms order;
  for (const Atom &atom : flatten(image.axes)) {
    if (atom.kind == Atom::Kind::Inner) {
      order.push_back(atom);
    }
  }
  HEDDLE_ASSIGN(image, evaluation.arranged(std::move(image), {order}));
  Rows result;
  HEDDLE_ASSIGN(const Atoms places, evaluation.placesOf(counts, result.space));
  mlir::Value value = image.value;
  if (areParts && !isOfRows) {
    value = patches(value);
  } else {
    value = isOfRows
                ? value
                : split(swapped(value, channels, lines.front().size), channels, lines.front().size);
    value = frames(value);
  }
  result.value = evaluation.make<transformer::LinearOp>(
      rowsOf(made), value, FlatSymbolRefAttr::get(evaluation.getContext(), matrix().symbol()),
      bias.valid() ? FlatSymbolRefAttr::get(evaluation.getContext(), bias.symbol())
                   : FlatSymbolRefAttr());
  const Atom whole = evaluation.newAtom(made);
  result.physical = {{whole}};
  result.axes = {{{Atom::Kind::Batch, 0, 0}}, {whole}};
  for (const Atom &place : places) {
    result.axes.push_back({place});
  }
  return result;
}

} // namespace

/// Reads an attribute with `count` integers, one or two per axis.
static Result<std::vector<int64_t>> numbersOf(Evaluation &evaluation, const Call &call,
                                              std::string_view name, size_t count,
                                              int64_t otherwise) {
  HEDDLE_ASSIGN(const auto given, call.integers(name));
  const std::vector<int64_t> numbers = given.value_or(std::vector<int64_t>(count, otherwise));
  const bool areInRange = std::all_of(numbers.begin(), numbers.end(), [](int64_t each) {
    return each >= 0 && each <= std::numeric_limits<uint16_t>::max();
  });
  if (numbers.size() != count || !areInRange) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              fmt::format("attribute {} is [{}], expected {} numbers from 0 to {}",
                                          quote(name), fmt::join(numbers, ", "), count,
                                          std::numeric_limits<uint16_t>::max()));
  }
  return numbers;
}

/// Returns the parameters of the convolution for each axis.
static Result<std::vector<Line>> linesOf(Evaluation &evaluation, const Call &call,
                                         const std::vector<Expr> &shape,
                                         const std::vector<int64_t> &weight) {
  const size_t count = weight.size() - 2;
  HEDDLE_ASSIGN(const auto strides, numbersOf(evaluation, call, "strides", count, 1));
  HEDDLE_ASSIGN(const auto dilations, numbersOf(evaluation, call, "dilations", count, 1));
  HEDDLE_ASSIGN(const auto pads, numbersOf(evaluation, call, "pads", 2 * count, 0));
  HEDDLE_ASSIGN(const auto kernel, call.integers("kernel_shape"));
  HEDDLE_ASSIGN(const auto groups, call.integerOr("group", 1));
  HEDDLE_ASSIGN(const auto automatic, call.text("auto_pad"));
  const std::vector<int64_t> sizes(weight.begin() + 2, weight.end());
  if (kernel.value_or(sizes) != sizes || !shape[1]->isConstant(weight[1] * groups)) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("its weight has shape [{}], expected {} channels and the kernel [{}]",
                    fmt::join(weight, ", "), evaluation.expressions.print(shape[1]),
                    fmt::join(kernel.value_or(sizes), ", ")));
  }
  if (groups != 1 || automatic.value_or("NOTSET") != "NOTSET") {
    return evaluation.failure(StatusCode::Unsupported,
                              "has groups or auto_pad, expected one group and pads");
  }
  std::vector<Line> lines;
  for (size_t i = 0; i < count; ++i) {
    const Line line{shape[i + 2]->integer, sizes[i], strides[i],
                    dilations[i],          pads[i],  pads[i + count]};
    const bool isLine = count == 1 && line.isCentred();
    if (line.stride < 1 || line.dilation < 1 || (!line.isOfPatches() && !isLine)) {
      return evaluation.failure(
          StatusCode::Unsupported,
          fmt::format("has a kernel of {} with stride {}, dilation {} and pads {} and {} over {}, "
                      "expected patches side by side or, along one axis, as many pads as keep the "
                      "kernel's middle inside",
                      line.kernel, line.stride, line.dilation, line.before, line.after, line.size));
    }
    lines.push_back(line);
  }
  return lines;
}

static Status convolve(Evaluation &evaluation, Call &call) {
  const auto stored =
      call.inputs[1]->symbolic ? evaluation.parameterOf(*call.inputs[1]->symbolic) : std::nullopt;
  const Value &input = *call.inputs[0];
  const std::vector<Expr> shape = evaluation.shapeOf(input);
  const bool hasWeight = stored && !stored->transposed &&
                         stored->parameter.shape().size() == shape.size() &&
                         (shape.size() == 3 || shape.size() == 4);
  const bool isImage =
      input.rows && isAxisOf(input.rows->axes[0], Atom::Kind::Batch) && !input.rows->hasKeys() &&
      std::all_of(shape.begin() + 1, shape.end(), [](Expr size) { return size->isConstant(); });
  if (!hasWeight || !isImage || (input.rows->space != 0 && shape.size() != 3) ||
      input.rows->pooled) {
    return evaluation.failure(StatusCode::Unsupported,
                              "expects images [batch, channels, height, width] or sounds [batch, "
                              "channels, frames] of one size, and a weight of the file");
  }
  HEDDLE_ASSIGN(std::vector<Line> lines,
                linesOf(evaluation, call, shape, stored->parameter.shape()));
  Parameter bias;
  if (call.has(2)) {
    const auto vector = call.inputs[2]->symbolic
                            ? evaluation.vectorParameter(*call.inputs[2]->symbolic)
                            : std::nullopt;
    if (!vector || vector->shape()[0] != stored->parameter.shape()[0]) {
      return evaluation.failure(StatusCode::Unsupported,
                                "has a bias that is no vector as wide as its result");
    }
    bias = *vector;
  }
  HEDDLE_ASSIGN(Rows result,
                Convolution(evaluation, std::move(lines), stored->parameter, std::move(bias))
                    .write(*input.rows));
  call.give(std::move(result));
  return {};
}

std::vector<OperatorInfo> convolutionOperators() { return {{"", "Conv", 1, 2, 3, convolve}}; }

} // namespace heddle::onnx
