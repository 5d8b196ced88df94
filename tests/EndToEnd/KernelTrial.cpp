// SPDX-License-Identifier: Apache-2.0
///
/// Random operands, the launch, and the comparison element by element.
#include "tests/EndToEnd/KernelTrial.h"

#include "formats/Binary/Manifest_generated.h"
#include "formats/Checkpoint/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

// --- scalar maths ----------------------------------------------------------------------------

RegionMaths::RegionMaths(Block &region) {
  OpBuilder builder(region.getParentOp()->getContext());
  Location location = builder.getUnknownLoc();
  holder = ModuleOp::create(location);
  block = &holder->getBodyRegion().emplaceBlock();
  builder.setInsertionPointToEnd(block);
  IRMapping mapping;
  for (BlockArgument argument : region.getArguments()) {
    mapping.map(argument, block->addArgument(builder.getF64Type(), location));
  }
  for (Operation &op : region) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && constant.getType().isF32()) {
      auto value = builder.getF64FloatAttr(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
      mapping.map(constant.getResult(), arith::ConstantOp::create(builder, location, value));
      continue;
    }
    Operation *copy = builder.clone(op, mapping);
    for (OpResult result : copy->getResults()) {
      if (result.getType().isF32()) {
        result.setType(builder.getF64Type());
      }
    }
  }
}

double RegionMaths::apply(llvm::ArrayRef<double> arguments) const {
  llvm::DenseMap<Value, Attribute> known;
  Builder builder(block->getParentOp()->getContext());
  for (auto [argument, value] : llvm::zip_equal(block->getArguments(), arguments)) {
    known[argument] = builder.getF64FloatAttr(value);
  }
  auto number = [&](Value value) { return cast<FloatAttr>(known.at(value)).getValueAsDouble(); };
  for (Operation &op : block->without_terminator()) {
    if (isa<math::FmaOp, math::SqrtOp>(op)) { // which do not fold, or not of every number
      const double x = number(op.getOperand(0));
      known[op.getResult(0)] = builder.getF64FloatAttr(
          isa<math::SqrtOp>(op) ? std::sqrt(x)
                                : x * number(op.getOperand(1)) + number(op.getOperand(2)));
      continue;
    }
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands()) {
      operands.push_back(known.at(operand));
    }
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1) {
      llvm::report_fatal_error("an operation of a region does not fold");
    }
    Attribute folded = dyn_cast<Attribute>(results.front());
    known[op.getResult(0)] = folded ? folded : known.at(cast<Value>(results.front()));
  }
  return number(block->getTerminator()->getOperand(0));
}

// --- rows and operands -----------------------------------------------------------------------

KernelTrial::KernelTrial(KernelOp kernel, uint64_t seed)
    : kernel(kernel), region(kernel.getEpilogue().front()), random(seed) {
  type = kernel.getKernelType();
  if (!kernel.getPairs().empty()) {
    pairs.emplace(kernel.getPairs().front());
  }
}

Result<std::unique_ptr<KernelTrial>>
KernelTrial::create(KernelOp kernel, const MatrixEncoder &encoder, uint64_t seed) {
  std::unique_ptr<KernelTrial> trial(new KernelTrial(kernel, seed));
  trial->drawRows();
  trial->operands.resize(trial->type.getNumInputs());
  for (unsigned i = 0; i < trial->operands.size(); ++i) {
    trial->operands[i].type = trial->type.getInput(i);
    if (!isa<BufferType>(trial->operands[i].type)) {
      trial->drawCache(i);
    } else {
      trial->drawBuffer(i);
    }
  }
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(trial->type);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (input.takesEncoding()) {
      Operand &operand = trial->operands[i];
      HEDDLE_ASSIGN(const StoredValues stored, encoder(i, operand.drawn));
      operand.weights.assign(stored.bytes().begin(), stored.bytes().end());
    }
  }
  for (Operand &operand : trial->operands) {
    lay(operand);
  }
  return trial;
}

void KernelTrial::draw(std::vector<double> &values, double scale) {
  std::normal_distribution<float> normal(0, static_cast<float>(scale));
  std::ranges::generate(values, [&] { return normal(random); });
}

/// Draws row numbers of a table, numbers below a limit, or all rows in the order of the previous
/// operand.
void KernelTrial::drawIntegers(unsigned index, const KernelInput &input) {
  std::vector<double> &values = operands[index].values;
  if (input.role == KernelInput::Role::Order) {
    const std::vector<double> &chosen = operands[index - 1].values;
    std::iota(values.begin(), values.end(), 0);
    std::ranges::sort(values, [&](double left, double right) {
      return std::pair(chosen[static_cast<size_t>(left)], left) <
             std::pair(chosen[static_cast<size_t>(right)], right);
    });
    return;
  }
  const int64_t limit = input.role == KernelInput::Role::Chosen
                            ? input.limit
                            : kernel.getOperandBuffer(index + 1).getShape().front();
  for (double &value : values) {
    value = static_cast<double>(random() % static_cast<uint64_t>(limit));
  }
}

void KernelTrial::drawBuffer(unsigned index) {
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(type);
  Operand &operand = operands[index];
  auto buffer = cast<BufferType>(operand.type);
  operand.values.resize(extent(buffer.getShape().front()) * rowElements(buffer));
  bool isMatrix = index < inputs.size() && inputs[index].role == KernelInput::Role::Matrix;
  draw(operand.values, isMatrix ? 1 / std::sqrt(static_cast<double>(buffer.getWidth())) : 1);
  if (index < inputs.size() && inputs[index].isInteger) {
    drawIntegers(index, inputs[index]);
  }
  operand.drawn.assign(operand.values.begin(), operand.values.end());
  if (buffer.getElementType().isBF16()) {
    std::vector<uint16_t> halves;
    for (float &value : operand.drawn) {
      halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
      // Exact in bf16 already: encoding does not round.
      value = bf16ToF32(halves.back());
    }
    std::ranges::copy(operand.drawn, operand.values.begin());
    const auto bytes = std::as_bytes(std::span(halves));
    operand.weights.assign(bytes.begin(), bytes.end());
  }
  if (auto quantized = dyn_cast<transformer::QuantizedType>(buffer.getElementType())) {
    const QuantizedValues codes(operand.drawn, quantized, buffer.getWidth());
    std::ranges::copy(codes.widen(), operand.values.begin());
    operand.weights = codes.rows();
  }
}

/// Writes the bytes that kernels read.
void KernelTrial::lay(Operand &operand) {
  auto buffer = dyn_cast<BufferType>(operand.type);
  if (!buffer) {
    return;
  }
  if (operand.memory.empty()) {
    operand.memory.assign(operand.values.begin(), operand.values.end());
  }
  for (float &value : operand.memory) {
    value = buffer.getElementType().isInteger(32)
                ? std::bit_cast<float>(static_cast<int32_t>(value))
                : value;
  }
  operand.weights.resize(operand.weights.empty() ? 0 : operand.weights.size() + 4 * slack);
  operand.memory.resize(operand.memory.size() + slack);
}

void KernelTrial::perturb() {
  std::uniform_real_distribution<double> relative(-0x1p-20, 0x1p-20);
  SmallVector<KernelInput> inputs = kernel.getComputes().getInputs(type);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    const KernelInput input = i < inputs.size() ? inputs[i] : KernelInput();
    // Where rows are rounded, a number beside a tie may become the next one of few: that is no
    // rounding of f32, and would allow anything. What is rounded in between has ties of its own.
    const bool isRounded = !input.takesEncoding() && input.arithmetic != dataflow::Arithmetic::F32;
    if (input.isInteger || isRounded) {
      continue;
    }
    for (double &value : operand.values) {
      value *= 1 + relative(random);
    }
  }
}

double KernelTrial::at(unsigned input, int64_t row, int64_t column) const {
  const Operand &operand = operands[input];
  return operand.values.at(row * rowElements(cast<BufferType>(operand.type)) + column);
}

// --- running ---------------------------------------------------------------------------------

void KernelTrial::launch(const Artifact &artifact, const manifest::Dispatch &dispatch,
                         std::vector<void *> results) {
  std::vector<void *> pointers = std::move(results);
  SmallVector<int64_t> changes = kernel.getChanges();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!isa<BufferType>(operand.type)) {
      if (!llvm::is_contained(changes, static_cast<int64_t>(i))) {
        pointers.push_back(&operand.view);
      }
    } else {
      pointers.push_back(operand.weights.empty() ? static_cast<void *>(operand.memory.data())
                                                 : operand.weights.data());
    }
  }
  const manifest::Kernel &code = *artifact.manifest().kernels()->Get(dispatch.kernel());
  std::vector<float> scratch(
      (code.scratch() + code.scratch_per_longest() * tokens().longest) / sizeof(float) + slack);
  std::vector<const HeddleRows *> named;
  for (RowSpace space : namedSpaces(type)) {
    const auto *found =
        llvm::find_if(spaces, [&](const auto &each) { return each.first == space; });
    named.push_back(&views[static_cast<size_t>(found - spaces.begin())]);
  }
  const HeddleKernelContext context{pointers.data(), named.data(), scratch.data()};
  const DeviceProgram &program = *artifact.program();
  const DeviceKernel *finish =
      dispatch.finish_kernel() < 0
          ? nullptr
          : &program.kernel(static_cast<uint32_t>(dispatch.finish_kernel()));
  const manifest::Grid &grid = *dispatch.grid();
  const bool alongSequences =
      kernel.getComputes().getDivision(type).rows == Division::Rows::AlongSequences;
  const int64_t rows = alongSequences ? tokens().sequences() : rowsOf(kernel.getRows()).count();
  const manifest::TargetColumns &work = *grid.columns()->Get(artifact.isaNumber());
  const auto columns = static_cast<int64_t>(work.count());
  const int64_t tile = work.row_tile();
  const int64_t cut = rows / tile / 2 * tile;
  auto stream = *hostDevice()->createStream(1);
  for (Range part : {Range{0, cut}, Range{cut, rows}}) {
    stream->launch(0,
                   {&program.kernel(dispatch.kernel()),
                    finish,
                    &context,
                    part,
                    {0, columns},
                    tile,
                    scratch.size() * sizeof(float)},
                   nullptr);
  }
}

std::string KernelTrial::run(const Artifact &artifact, const manifest::Dispatch &dispatch) {
  SmallVector<KernelResult> described = kernel.getComputes().getResults(type);
  std::vector<std::vector<float>> memory;
  std::vector<HeddleResult> views;
  for (auto [number, result] : llvm::enumerate(described)) {
    auto buffer = dyn_cast<BufferType>(type.getResult(number));
    if (buffer) {
      memory.emplace_back(extent(buffer.getShape().front()) * rowElements(buffer) + slack,
                          std::bit_cast<float>(untouched));
    } else {
      memory.push_back(operands[*result.changes].memory); // as it was
    }
    views.push_back({memory.back().data(), 0, 0, buffer ? rowElements(buffer) : 0});
  }
  std::vector<void *> pointers;
  for (auto [number, result] : llvm::enumerate(described)) {
    pointers.push_back(result.changes ? static_cast<void *>(&operands[*result.changes].view)
                                      : &views[number]);
  }
  launch(artifact, dispatch, std::move(pointers));
  std::string difference;
  for (auto [number, result] : llvm::enumerate(described)) {
    std::string found = result.changes ? compareKept(number, *result.changes, memory[number])
                                       : compareBuffer(number, memory[number]);
    difference = difference.empty() ? found : difference;
  }
  for (auto [number, result] : llvm::enumerate(described)) {
    if (result.changes) {
      std::copy(memory[number].begin(), memory[number].end(),
                operands[*result.changes].memory.begin());
    }
  }
  return difference;
}

// --- expected results ------------------------------------------------------------------------

void KernelTrial::normalize(std::vector<std::optional<double>> &row) const {
  const double width = static_cast<double>(row.size());
  const double epsilon = kernel.getNorm()->getEpsilon().getValueAsDouble();
  const unsigned weight = kernel.getNumInputs() + kernel.getNumElementwise();
  double mean = 0, squares = 0;
  for (const auto &value : row) {
    mean += *value / width;
  }
  double most = *row.front(), exponentials = 0;
  for (const auto &value : row) {
    most = std::max(most, *value);
  }
  for (const auto &value : row) {
    exponentials += std::exp(*value - most);
  }
  const bool isCentred = kernel.getNorm()->getKind() == NormKind::LayerNorm;
  for (auto &value : row) {
    *value -= isCentred ? mean : 0;
    squares += *value * *value;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const auto column = static_cast<int64_t>(i);
    switch (kernel.getNorm()->getKind()) {
    case NormKind::LayerNorm:
      row[i] = *row[i] / std::sqrt(squares / width + epsilon) * at(weight, column, 0) +
               at(weight + 1, column, 0);
      break;
    case NormKind::RmsNorm:
      row[i] = *row[i] / std::sqrt(squares / width + epsilon) * at(weight, column, 0);
      break;
    case NormKind::Softmax:
      row[i] = std::exp(*row[i] - most) / exponentials;
      break;
    case NormKind::Normalize:
      row[i] = *row[i] / std::max(std::sqrt(squares), epsilon);
      break;
    }
  }
}

std::vector<std::optional<double>> KernelTrial::rowOf(unsigned result, int64_t row) const {
  KernelFamily family = kernel.getComputes();
  auto buffer = dyn_cast<BufferType>(type.getResult(result));
  auto state = dyn_cast<StateType>(type.getResult(result));
  const int64_t positions = state && state.getKeyed() ? tokens().longest : 1;
  const int64_t width =
      buffer ? rowElements(buffer) : keptWidth(type.getResult(result)) * positions;
  // A nest applies its region itself.
  const bool isMapped = family.getEpilogueResult() == result &&
                        family.getEpilogueSupport() != EpilogueSupport::IsRegion;
  std::vector<std::optional<double>> values;
  for (int64_t column = 0; column < width; ++column) {
    std::optional<double> value = family.evaluate(*this, result, row, column);
    if (value && isMapped) {
      SmallVector<double> arguments = {*value};
      for (unsigned i = 0; i < kernel.getNumElementwise(); ++i) {
        const unsigned index = kernel.getNumInputs() + i;
        BufferType operand = kernel.getOperandBuffer(index);
        const bool isRepeated = operand.getWidth() == 1;
        arguments.push_back(operand.getShape().size() == 1
                                ? at(index, isRepeated ? 0 : column, 0)
                                : at(index, row, isRepeated ? 0 : column));
      }
      value = region.apply(arguments);
    }
    values.push_back(value);
  }
  if (isMapped && kernel.getNorm()) {
    normalize(values);
  }
  return values;
}

/// Returns whether the difference is at most a few roundings, relative to the value. If f32 may be
/// further off, so is a twin whose operands are perturbed by some roundings.
static bool isClose(float result, double twin, double other) {
  if (std::isnan(twin) || std::isinf(twin)) {
    return std::isnan(twin) ? std::isnan(result) : result == static_cast<float>(twin);
  }
  return std::abs(result - twin) <=
         1e-5 * std::max(1.0, std::abs(twin)) + 8 * std::abs(twin - other);
}

std::string KernelTrial::compareRow(unsigned number, int64_t row,
                                    llvm::function_ref<float(int64_t)> result) {
  std::vector<std::optional<double>> &twin = twins[{number, row}];
  if (twin.empty()) {
    twin = rowOf(number, row);
  }
  std::vector<std::optional<double>> other = twin;
  for (size_t i = 0; i < twin.size(); ++i) {
    const auto column = static_cast<int64_t>(i);
    if (!twin[i]) {
      if (std::bit_cast<uint32_t>(result(column)) != untouched) {
        return (std::ostringstream() << "row " << row << ", column " << column << ": "
                                     << result(column) << " where nothing may be written")
            .str();
      }
      continue;
    }
    if (isClose(result(column), *twin[i], *twin[i])) {
      continue;
    }
    if (other == twin) {
      std::vector<std::vector<double>> kept;
      for (Operand &operand : operands) {
        kept.push_back(operand.values);
      }
      perturb();
      turnsTies = true;
      other = rowOf(number, row);
      turnsTies = false;
      for (auto [operand, values] : llvm::zip_equal(operands, kept)) {
        operand.values = values;
      }
    }
    if (!isClose(result(column), *twin[i], *other[i])) {
      return (std::ostringstream() << "row " << row << ", column " << column << ": "
                                   << result(column) << ", its twin is " << *twin[i])
          .str();
    }
  }
  return {};
}

std::string KernelTrial::compareBuffer(unsigned number, const std::vector<float> &result) {
  auto buffer = cast<BufferType>(type.getResult(number));
  const int64_t width = rowElements(buffer);
  const bool isInteger = buffer.getElementType().isInteger(32);
  for (int64_t row = 0; row < extent(buffer.getShape().front()); ++row) {
    std::string difference = compareRow(number, row, [&](int64_t column) {
      const float value = result[row * width + column];
      return isInteger ? static_cast<float>(std::bit_cast<int32_t>(value)) : value;
    });
    if (!difference.empty()) {
      return difference;
    }
  }
  return {};
}

} // namespace heddle
