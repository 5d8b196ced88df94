// SPDX-License-Identifier: Apache-2.0
///
/// Plain loop nests: their axes, and the checks of axes against buffers and caches.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace heddle::dataflow {

unsigned NestAttr::getNumNamed() const {
  StringRef inputs = getAxes().getValue().split("->").first;
  return inputs.empty() ? 0 : inputs.count(',') + 1;
}

transformer::Visibility NestAttr::getSeen() const {
  return !getHidden()      ? transformer::Visibility::all()
         : getVisibility() ? getVisibility().getValue()
                           : transformer::Visibility::causal();
}

StringRef NestAttr::getInputAxes(unsigned i) const {
  StringRef rest = getAxes().getValue().split("->").first;
  for (unsigned skipped = 0; skipped < i; ++skipped) {
    rest = rest.split(',').second;
  }
  return rest.split(',').first;
}

/// The dimensions of a buffer, or of the positions of a cache.
static SmallVector<int64_t> shapeOf(Type operand) {
  auto cache = dyn_cast<CacheType>(operand);
  if (!cache) {
    return SmallVector<int64_t>(cast<BufferType>(operand).getShape());
  }
  SmallVector<int64_t> shape = {longestDimension};
  llvm::append_range(shape, cache.getShape());
  return shape;
}

namespace {
/// Collects and checks the axes of a nest, operand by operand.
struct AxisCheck {
  function_ref<InFlightDiagnostic()> emitError;
  /// The size of each axis, from the operands checked so far; negative for t and k.
  llvm::SmallDenseMap<char, int64_t> sizes = llvm::SmallDenseMap<char, int64_t>();
  /// The sizes that caches have for constant axes.
  SmallVector<std::pair<char, int64_t>> cachedSizes = SmallVector<std::pair<char, int64_t>>();
  /// The row space that t, or k, runs over.
  llvm::SmallDenseMap<char, RowSpace> spaces = llvm::SmallDenseMap<char, RowSpace>();
  /// Whether k runs over the positions of a cache, and whether it counts rows of the batch.
  bool hasCachedKeys = false;
  bool hasKeyRows = false;

  /// Checks the axes of one operand. They must be distinct lower-case letters, one per dimension. t
  /// and k are run-time sizes; every other axis must have the same size in all buffers.
  LogicalResult verify(const Twine &name, StringRef axes, Type type);
  /// Checks the axes of caches against those of all operands. Call it after verify() of each.
  LogicalResult verifyShared();

private:
  LogicalResult verifyLetters(const Twine &name, StringRef axes, Type type, size_t rank);
  LogicalResult verifySize(char axis, int64_t size, Type type);
};
} // namespace

LogicalResult AxisCheck::verifyLetters(const Twine &name, StringRef axes, Type type, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!llvm::isLower(axes[i]) || axes.find(axes[i], i + 1) != StringRef::npos) {
      return emitError() << "expects axes that are distinct lower-case letters, got '" << axes
                         << "'";
    }
  }
  auto buffer = dyn_cast<BufferType>(type);
  if ((buffer && buffer.getElement() != ElementType::F32) || axes.size() != rank) {
    return emitError() << "expects " << name << " of f32 with axes '" << axes << "', got " << type;
  }
  return success();
}

LogicalResult AxisCheck::verifySize(char axis, int64_t size, Type type) {
  bool isRow = axis == 't' || axis == 'k';
  if (isRow != (size < 0)) {
    return emitError() << "expects axis '" << axis << "' to be a "
                       << (isRow ? "run-time" : "constant") << " size, got " << type;
  }
  if (!isRow && isa<CacheType>(type)) {
    cachedSizes.emplace_back(axis, size);
    return success();
  }
  int64_t known = sizes.try_emplace(axis, size).first->second;
  if (!isRow && known != size) {
    return emitError() << "expects axis '" << axis << "' to have one size, got " << known << " and "
                       << size;
  }
  hasKeyRows |= axis == 'k' && !isLongest(size) && isa<BufferType>(type);
  if (!isRow) {
    return success();
  }
  RowSpace space = *spaceOfDimension(size);
  RowSpace first = spaces.try_emplace(axis, space).first->second;
  if (first != space) {
    return emitError() << "expects axis '" << axis << "' to run over one row space, got "
                       << first.text() << " and " << space.text();
  }
  return success();
}

LogicalResult AxisCheck::verify(const Twine &name, StringRef axes, Type type) {
  if (isa<CacheType>(type)) {
    if (!axes.starts_with("k")) {
      return emitError() << "expects axes that begin with 'k' for " << name << ", a cache, got '"
                         << axes << "'";
    }
    hasCachedKeys = true;
  }
  SmallVector<int64_t> shape = shapeOf(type);
  if (failed(verifyLetters(name, axes, type, shape.size()))) {
    return failure();
  }
  for (auto [axis, size] : llvm::zip_equal(axes, shape)) {
    if (failed(verifySize(axis, size, type))) {
      return failure();
    }
  }
  return success();
}

LogicalResult AxisCheck::verifyShared() {
  // An axis of caches only has the largest size that they give it.
  llvm::sort(cachedSizes, [](auto one, auto other) { return one.second > other.second; });
  for (auto [axis, size] : cachedSizes) {
    int64_t known = sizes.try_emplace(axis, size).first->second;
    if (known % size != 0) {
      return emitError() << "expects axis '" << axis
                         << "' of a cache to have a size that divides it, got " << size << " of "
                         << known;
    }
  }
  return success();
}

/// Checks the requirements of `relative`, `slides` and `keys_from`.
static LogicalResult verifyOptions(NestAttr nest, AxisCheck &check, ArrayRef<Type> inputs) {
  StringRef axes = nest.getAxes().getValue();
  bool hasPairs = check.sizes.contains('t') && check.sizes.contains('k');
  if (nest.getRelative() &&
      (!hasPairs || check.sizes.lookup('r') % 2 != 1 || nest.getResultAxes().contains('r'))) {
    return check.emitError() << "expects axes 't' and 'k', and 'r' of an odd size that the result "
                                "lacks, with 'relative', got '"
                             << axes << "'";
  }
  if (nest.getSlides()) {
    StringRef first = nest.getNumNamed() > 0 ? nest.getInputAxes(0) : StringRef();
    bool isOfKeys = first.contains('k') && !first.contains('j') && !inputs.empty() &&
                    isa<BufferType>(inputs.front());
    if (!hasPairs || !isOfKeys || check.sizes.lookup('j') % 2 != 1 ||
        nest.getResultAxes().contains('j')) {
      return check.emitError() << "expects a first input with keys 'k', and an axis 'j' of an odd "
                                  "size that others have, with 'slides', got '"
                               << axes << "'";
    }
  }
  if (nest.getKeysFrom()) {
    if (check.hasCachedKeys || inputs.empty() || !isa<CacheType>(inputs.back())) {
      return check.emitError() << "expects a last input that is the only cache with 'keys_from', "
                                  "got '"
                               << axes << "'";
    }
    check.hasCachedKeys = true;
  }
  if (check.hasCachedKeys && (!hasPairs || check.hasKeyRows)) {
    return check.emitError() << "expects axis 't', and an axis 'k' that counts no rows of the "
                                "batch, with a cache, got '"
                             << axes << "'";
  }
  return success();
}

/// Checks which spaces the rows t and the keys k of a nest may have.
static LogicalResult verifySpaces(NestAttr nest, const AxisCheck &check, StringRef axes) {
  if (!check.spaces.contains('t') || !check.spaces.contains('k')) {
    return success();
  }
  RowSpace rows = check.spaces.at('t');
  RowSpace keys = check.spaces.at('k');
  // A row that is a sequence has no keys.
  if (rows == RowSpace::sequences() || keys == RowSpace::sequences()) {
    return check.emitError() << "expects sequences as the only run-time size, of one axis, got '"
                             << axes << "' over " << rows.text() << " and " << keys.text();
  }
  bool areTokens = (rows == RowSpace::tokens() || rows.isOfSteps()) && keys == RowSpace::tokens();
  if (check.hasCachedKeys && !areTokens) {
    return check.emitError() << "expects tokens as rows and keys where a cache has the keys, got "
                             << rows.text() << " and " << keys.text();
  }
  if ((nest.getHidden() || nest.getRelative()) && rows != keys) {
    return check.emitError() << "expects rows and keys of one space where their positions are "
                                "compared, got "
                             << rows.text() << " and " << keys.text();
  }
  return success();
}

LogicalResult NestAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  ArrayRef<Type> inputs = type.getInputs().take_front(getNumInputs());
  auto result = cast<BufferType>(type.getResult(0));
  StringRef axes = getAxes().getValue();
  if (axes.count("->") != 1) {
    return emitError() << "expects axes 'axes,...->axes', got '" << axes << "'";
  }
  AxisCheck check{emitError};
  ArrayRef<Type> named = inputs.take_front(getNumNamed());
  for (auto [index, input] : llvm::enumerate(named)) {
    if (failed(check.verify("input #" + Twine(index), getInputAxes(index), input))) {
      return failure();
    }
  }
  if (failed(check.verify("a result", getResultAxes(), result)) || failed(check.verifyShared()) ||
      failed(verifyOptions(*this, check, inputs))) {
    return failure();
  }
  auto &sizes = check.sizes;
  char rowAxis = sizes.contains('t') ? 't' : 'k';
  size_t row = getResultAxes().find(rowAxis);
  if (row == StringRef::npos || isLongest(result.getShape()[row])) {
    return emitError() << "expects the row axis '" << rowAxis
                       << "' in the result, as rows such as tokens, got '" << axes << "' and "
                       << result;
  }
  if (failed(verifySpaces(*this, check, axes))) {
    return failure();
  }
  if (isOverLastAxis() && (getResultAxes().size() < 2 || getResultAxes().back() == rowAxis)) {
    return emitError() << "expects a " << stringifyReductionKind(getReduction())
                       << " over the last axis of several, not '" << rowAxis << "', got '" << axes
                       << "'";
  }
  if (getHidden() && !(sizes.contains('t') && sizes.contains('k'))) {
    return emitError() << "expects axes 't' and 'k' with 'hidden', got '" << axes << "'";
  }
  return success();
}

// --- the family ------------------------------------------------------------------------------

StringRef NestAttr::getNoun() const { return "a loop nest"; }

/// Names the axes of inputs and result; those of the result only if they differ from the first
/// input's.
std::string NestAttr::getSizes(FunctionType) const {
  std::string name;
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    name += (i == 0 ? "" : "_") + getInputAxes(i).str();
  }
  if (getNumNamed() == 0 || getInputAxes(0) != getResultAxes()) {
    name += (name.empty() ? "" : "_") + getResultAxes().str();
  }
  if (isOverLastAxis()) {
    name += "_" + stringifyReductionKind(getReduction()).str();
  }
  name += getSlides() ? "_slides" : "";
  return getSeen().isAll() ? name : name + (getSeen().isCausal() ? "_causal" : "_local");
}

LogicalResult NestAttr::verifyNumbers(EmitError emitError) const {
  if (getVisibility() && !getHidden()) {
    return emitError() << "expects 'visibility' only with 'hidden', got '" << Attribute(*this)
                       << "'";
  }
  return success();
}

int64_t NestAttr::getNumInputs() const {
  return static_cast<int64_t>(getNumNamed()) + (getKeysFrom() ? 1 : 0);
}

/// Returns the role of an input. With the row axis the work reads its own row; with another axis
/// `k` it reads other rows; with neither it reads the whole input.
static KernelInput::Role roleOf(StringRef axes, char rowAxis) {
  return axes.contains(rowAxis) ? KernelInput::Role::Rows
         : axes.contains('k')   ? KernelInput::Role::Sequence
                                : KernelInput::Role::Weights;
}

SmallVector<KernelInput> NestAttr::getInputs(FunctionType) const {
  SmallVector<KernelInput> inputs;
  char rowAxis = getAxes().getValue().contains('t') ? 't' : 'k';
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    inputs.push_back({.role = roleOf(getInputAxes(i), rowAxis), .takesAnyCache = true});
  }
  if (getKeysFrom()) {
    inputs.push_back({.role = KernelInput::Role::Extent, .takesAnyCache = true});
  }
  return inputs;
}

SmallVector<KernelResult> NestAttr::getResults(FunctionType) const { return {KernelResult{}}; }

Division NestAttr::getDivision(FunctionType) const { return {}; }

/// Counts two per term of a sum over the axes.
Flops NestAttr::getFlops(FunctionType type) const {
  if (getReduction() != ReductionKind::Sum) {
    return {};
  }
  // If sizes differ, a cache has the smaller one.
  llvm::SmallDenseMap<char, int64_t> sizes;
  auto visit = [&](StringRef axes, Type operand) {
    for (auto [axis, dimension] : llvm::zip_equal(axes, shapeOf(operand))) {
      int64_t &size = sizes.try_emplace(axis, 1).first->second;
      size = std::max(size, dimension);
    }
  };
  for (unsigned i = 0; i < getNumNamed(); ++i) {
    visit(getInputAxes(i), type.getInput(i));
  }
  visit(getResultAxes(), type.getResult(0));
  uint64_t terms = 1;
  for (auto [axis, size] : sizes) {
    terms *= size;
  }
  bool overKeys = sizes.contains('k');
  return overKeys ? Flops{.perRowAndKey = 2 * terms} : Flops{.perRow = 2 * terms};
}

EpilogueSupport NestAttr::getEpilogueSupport() const { return EpilogueSupport::IsRegion; }

std::optional<unsigned> NestAttr::getEpilogueResult() const { return 0; }

bool NestAttr::hidesLaterKeys() const { return !getSeen().isAll(); }

// --- reference evaluation --------------------------------------------------------------------

namespace {
/// The reference evaluation of a nest at one element of its result: holds the value of every axis.
class NestTwin {
public:
  NestTwin(NestAttr nest, const KernelRun &run);

  /// Sets the axes of the result. Returns whether the nest writes that element.
  bool enter(int64_t first, int64_t column);
  double reduced();
  double softmax();
  double dividedBySum();

private:
  ArrayRef<int64_t> resultShape() const {
    return cast<BufferType>(run.type.getResult(0)).getShape();
  }
  /// Returns the row space that t or k counts.
  RowSpace spaceOfAxis(char axis) const;
  int64_t extent(int64_t dimension) const;
  void enterRow(int64_t number);
  int64_t indexIn(char axis, int64_t dimension) const;
  double elementOf(unsigned input);
  double readElement(unsigned input) const;
  double term();
  void overAxes(StringRef axes, function_ref<void()> body);

  NestAttr nest;
  const KernelRun &run;
  char rowAxis;
  /// The index of the last input that is a cache.
  std::optional<unsigned> cache;
  int64_t row = 0, firstRow = 0, firstKey = 0, keyCount = 0, position = 0;
  /// The row itself or, in time order, the first token of its sequence. Caches are indexed by it.
  int64_t token = 0;
  /// The value of each axis except that of the row, with `k` relative to the first key; and the
  /// sizes of constant axes.
  llvm::SmallDenseMap<char, int64_t> axes, sizes;
  std::string reducedAxes;
};
} // namespace

NestTwin::NestTwin(NestAttr nest, const KernelRun &run)
    : nest(nest), run(run), rowAxis(nest.getAxes().getValue().contains('t') ? 't' : 'k') {
  for (unsigned i = 0; i < nest.getNumInputs(); ++i) {
    if (isa<CacheType>(run.type.getInput(i))) {
      cache = i;
    }
  }
  auto visit = [&](StringRef letters, Type operand) {
    for (auto [axis, size] : llvm::zip_equal(letters, shapeOf(operand))) {
      // If sizes differ, a cache has the smaller one.
      int64_t &known = sizes.try_emplace(axis, size).first->second;
      known = std::max(known, size);
    }
  };
  visit(nest.getResultAxes(), run.type.getResult(0));
  for (unsigned i = 0; i < nest.getNumNamed(); ++i) {
    visit(nest.getInputAxes(i), run.type.getInput(i));
    for (char axis : nest.getInputAxes(i)) {
      bool isLoop = axis != rowAxis && !(nest.getRelative() && axis == 'r') &&
                    !nest.getResultAxes().contains(axis);
      if (isLoop && !StringRef(reducedAxes).contains(axis)) {
        reducedAxes.push_back(axis);
      }
    }
  }
}

RowSpace NestTwin::spaceOfAxis(char axis) const {
  auto found = sizes.find(axis);
  std::optional<RowSpace> space =
      found == sizes.end() ? std::nullopt : spaceOfDimension(found->second);
  return space.value_or(RowSpace::tokens());
}

int64_t NestTwin::extent(int64_t dimension) const {
  std::optional<RowDimension> rows = RowDimension::of(dimension);
  if (!rows) {
    return dimension;
  }
  return rows->isLongest ? run.rowsOf(rows->space).longest : run.rowsOf(rows->space).count();
}

void NestTwin::enterRow(int64_t number) {
  row = number;
  RowSpace space = spaceOfAxis(rowAxis);
  const RunRows &rows = run.rowsOf(space);
  if (space.isOrdered()) {
    token = run.rowsOf(RowSpace::tokens()).offsets[rows.sequenceOf[row]];
    keyCount = cache ? run.cachedPositions(*cache, token) : 0;
    return;
  }
  token = row;
  const RunRows &keys = run.rowsOf(spaceOfAxis('k'));
  int32_t sequence = rows.sequenceOf[row];
  firstRow = rows.offsets[sequence];
  firstKey = keys.offsets[sequence];
  keyCount = cache ? run.cachedPositions(*cache, row) : keys.offsets[sequence + 1] - firstKey;
  position = cache ? rows.positions[row] : row - firstRow;
}

bool NestTwin::enter(int64_t first, int64_t column) {
  SmallVector<int64_t> indices;
  for (int64_t dimension : llvm::reverse(resultShape().drop_front())) {
    indices.insert(indices.begin(), column % extent(dimension));
    column /= extent(dimension);
  }
  indices.insert(indices.begin(), first);
  enterRow(indices[nest.getResultAxes().find(rowAxis)]);
  for (auto [axis, dimension, index] :
       llvm::zip_equal(nest.getResultAxes(), resultShape(), indices)) {
    int64_t first = axis == rowAxis ? firstRow : firstKey;
    axes[axis] = rowSpaceOf(dimension) ? index - first : index;
  }
  bool hasKey = rowAxis == 't' && nest.getResultAxes().contains('k');
  return !hasKey || (axes['k'] >= 0 && axes['k'] < keyCount);
}

int64_t NestTwin::indexIn(char axis, int64_t dimension) const {
  if (axis == rowAxis) {
    return isLongest(dimension) ? row - firstRow : row;
  }
  return axes.lookup(axis) + (rowSpaceOf(dimension) ? firstKey : 0);
}

double NestTwin::elementOf(unsigned input) {
  if (nest.getSlides() && input == 0) {
    int64_t key = axes['k'], place = key + axes['j'] - sizes['j'] / 2;
    axes['k'] = place;
    double element = place >= 0 && place < keyCount ? readElement(input) : 0;
    axes['k'] = key;
    return element;
  }
  return readElement(input);
}

double NestTwin::readElement(unsigned input) const {
  StringRef letters = nest.getInputAxes(input);
  auto type = dyn_cast<CacheType>(run.type.getInput(input));
  SmallVector<int64_t> shape = shapeOf(run.type.getInput(input));
  int64_t column = 0;
  for (auto [axis, dimension] :
       llvm::zip_equal(letters.drop_front(), ArrayRef(shape).drop_front())) {
    int64_t share = type ? sizes.lookup(axis) / dimension : 1;
    column = column * extent(dimension) + indexIn(axis, dimension) / share;
  }
  if (type) {
    return run.atPosition(input, token, axes.lookup('k'), column);
  }
  int64_t first = cast<BufferType>(run.type.getInput(input)).getShape().front();
  return run.at(input, indexIn(letters.front(), first), column);
}

double NestTwin::term() {
  if (nest.getRelative()) {
    int64_t most = sizes['r'] / 2;
    axes['r'] = std::clamp(axes['k'] - position, -most, most) + most;
  }
  if (nest.getHidden() && !nest.getSeen().sees(position, axes['k'])) {
    return nest.getHidden().getValueAsDouble();
  }
  SmallVector<double> elements;
  for (unsigned i = 0; i < nest.getNumNamed(); ++i) {
    elements.push_back(elementOf(i));
  }
  return run.applyRegion(elements);
}

void NestTwin::overAxes(StringRef letters, function_ref<void()> body) {
  if (letters.empty()) {
    return body();
  }
  char axis = letters.front();
  for (int64_t end = axis == 'k' ? keyCount : sizes[axis], i = 0; i < end; ++i) {
    axes[axis] = i;
    overAxes(letters.drop_front(), body);
  }
}

double NestTwin::reduced() {
  double value = 0;
  overAxes(reducedAxes,
           [&] { value = (nest.getReduction() == ReductionKind::Sum ? value : 0) + term(); });
  return value;
}

double NestTwin::softmax() {
  StringRef axis = nest.getResultAxes().take_back();
  double own = term(), most = own, sum = 0;
  overAxes(axis, [&] { most = std::max(most, term()); });
  overAxes(axis, [&] { sum += std::exp(term() - most); });
  return std::exp(own - most) / sum;
}

double NestTwin::dividedBySum() {
  double own = term(), sum = 0;
  overAxes(nest.getResultAxes().take_back(), [&] { sum += term(); });
  return own / sum;
}

std::optional<double> NestAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                         int64_t column) const {
  NestTwin twin(*this, run);
  if (!twin.enter(row, column)) {
    return std::nullopt;
  }
  return getReduction() == ReductionKind::Softmax       ? twin.softmax()
         : getReduction() == ReductionKind::DivideBySum ? twin.dividedBySum()
                                                        : twin.reduced();
}

// --- options ---------------------------------------------------------------------------------

ParseResult parseNestOptions(AsmParser &parser, FloatAttr &hidden,
                             transformer::VisibilityAttr &visibility, bool &relative,
                             bool &keysFrom, bool &slides) {
  return parseOptions(parser, [&](StringRef name) -> OptionalParseResult {
    if (name == "hidden") {
      return ParseResult(failure(parser.parseEqual() || parser.parseAttribute(hidden)));
    }
    if (name == "visibility") {
      if (parser.parseEqual()) {
        return ParseResult(failure());
      }
      visibility = dyn_cast_if_present<transformer::VisibilityAttr>(
          transformer::VisibilityAttr::parse(parser, Type()));
      return ParseResult(success(static_cast<bool>(visibility)));
    }
    if (name == "relative") {
      relative = true;
      return ParseResult(success());
    }
    if (name == "keys_from") {
      keysFrom = true;
      return ParseResult(success());
    }
    if (name == "slides") {
      slides = true;
      return ParseResult(success());
    }
    return std::nullopt;
  });
}

void printNestOptions(AsmPrinter &printer, FloatAttr hidden, transformer::VisibilityAttr visibility,
                      bool relative, bool keysFrom, bool slides) {
  if (hidden) {
    printer << ", hidden = " << hidden;
  }
  if (visibility) {
    printer << ", visibility = ";
    visibility.print(printer);
  }
  printer << (relative ? ", relative" : "") << (keysFrom ? ", keys_from" : "")
          << (slides ? ", slides" : "");
}

} // namespace heddle::dataflow
