// SPDX-License-Identifier: Apache-2.0
///
/// Attention, fused and as its two halves: heads, keys in rows or caches, masks and biases.
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir;

namespace heddle::dataflow {

/// Returns the input for keys or values: rows of `width` elements of the same sequences, in their
/// own row space, or a cache of them.
static KernelInput keysOf(FunctionType type, unsigned input, int64_t width, CacheLayout layout,
                          transformer::VisibilityAttr visibility, transformer::HiddenAttr hidden) {
  return {.role = KernelInput::Role::Sequence,
          .shape = SmallVector<int64_t>{RowDimension{spaceOfInput(type, input)}.number(), width},
          .layout = layout,
          .cacheWidth = width,
          .readsFrom = hidden ? std::nullopt : visibility.getValue().from};
}

/// Returns the shape of scores for the keys in input `keys`: [rows, heads, longest].
static SmallVector<int64_t> weightsShape(FunctionType type, int64_t heads, unsigned keys) {
  return {rowsOf(type), heads, RowDimension{spaceOfInput(type, keys), true}.number()};
}

/// Checks that keys are rows of the result's space if positions of rows and keys are compared.
static LogicalResult verifySpaces(EmitError emitError, FunctionType type, unsigned keys,
                                  bool comparesPositions) {
  int64_t rows = rowsOf(type);
  if (isa<CacheType>(type.getInput(keys))) {
    std::optional<RowSpace> space = rowSpaceOf(rows);
    bool areSteps = space && space->isOfSteps() && !comparesPositions;
    return rows == tokensDimension || areSteps
               ? success()
               : emitError() << "expects rows of tokens with keys of a cache, or of steps that see "
                                "all keys, got rows of "
                             << dimensionText(rows);
  }
  int64_t keyRows = RowDimension{spaceOfInput(type, keys)}.number();
  if (comparesPositions && keyRows != rows) {
    return emitError() << "expects keys of the same space as the rows where a mask or a bias "
                          "compares their positions, got "
                       << dimensionText(keyRows) << " for " << dimensionText(rows);
  }
  return success();
}

/// Appends the table of biases by distance, if there is one.
static void addBias(SmallVectorImpl<KernelInput> &inputs, int64_t heads, int64_t distance) {
  if (distance > 0) {
    inputs.push_back({.role = KernelInput::Role::Weights,
                      .shape = SmallVector<int64_t>{heads, 2 * distance + 1},
                      .isDense = true});
  }
}

/// Appends the weights of pairs, if scores are sums over pairs.
static void addPairWeights(SmallVectorImpl<KernelInput> &inputs, bool pairs, int64_t heads,
                           int64_t keySize) {
  if (pairs) {
    inputs.push_back({.role = KernelInput::Role::Weights,
                      .shape = SmallVector<int64_t>{heads, keySize},
                      .isDense = true,
                      .weighsPairs = true});
  }
}

/// Returns how many numbers are near a key, one for each head and tap of each input of locations; 0
/// for an invalid family.
template <typename Attention> static int64_t nearOf(Attention attention) {
  ArrayRef<int64_t> heads = attention.getHeadsOfLocations(), taps = attention.getTapsOfLocations();
  return heads.size() == taps.size() ? transformer::numbersNear(heads, taps).value_or(0) : 0;
}

/// Returns how many numbers each column of a pair adds, each with its own weight.
template <typename Attention> static int64_t linesOf(Attention attention) {
  return attention.getLocationFilters() > 0 ? attention.getLocationFilters() : nearOf(attention);
}

/// Appends the locations, their filters and the weights of columns.
template <typename Attention>
static void addLocations(SmallVectorImpl<KernelInput> &inputs, Attention attention,
                         FunctionType type) {
  if (attention.getHeadsOfLocations().empty()) {
    return;
  }
  for (int64_t heads : attention.getHeadsOfLocations()) {
    KernelInput locations;
    locations.shape = weightsShape(type, heads, 1);
    locations.isDense = true;
    inputs.push_back(locations);
  }
  auto addMatrix = [&](int64_t rows, int64_t columns) {
    inputs.push_back({.role = KernelInput::Role::Weights,
                      .shape = SmallVector<int64_t>{rows, columns},
                      .isDense = true,
                      .weighsPairs = true});
  };
  if (attention.getLocationFilters() > 0) {
    addMatrix(attention.getLocationFilters(), nearOf(attention));
  }
  addMatrix(attention.getKeySize(), linesOf(attention));
}

/// C16
template <typename Attention>
static LogicalResult verifyLocations(EmitError emitError, Attention attention) {
  ArrayRef<int64_t> heads = attention.getHeadsOfLocations(), taps = attention.getTapsOfLocations();
  bool areSizes = heads.size() == taps.size() && transformer::numbersNear(heads, taps);
  bool hasLocations = !heads.empty();
  if (areSizes && attention.getLocationFilters() >= 0 && (attention.getPairs() || !hasLocations) &&
      (hasLocations || attention.getLocationFilters() == 0)) {
    return success();
  }
  return emitError()
         << "expects heads and an odd number of taps for each input of locations, at most "
         << transformer::mostLocationHeads << " heads and " << transformer::mostNear
         << " numbers near a key, with pairs, and filters only with them, got '"
         << Attribute(attention) << "'";
}

/// Checks that the scales of a quantised cache cover whole heads of `size` elements.
static LogicalResult verifyScales(EmitError emitError, FunctionType type, unsigned input,
                                  int64_t size) {
  auto cache = dyn_cast<CacheType>(type.getInput(input));
  auto codes = cache ? dyn_cast<transformer::QuantizedType>(cache.getElementType()) : nullptr;
  if (!codes || codes.getGroupOf(cache.getWidth()) % size == 0) {
    return success();
  }
  return emitError() << "expects scales of whole heads of " << size << " elements, got " << cache;
}

static LogicalResult verifyBiasDistance(EmitError emitError, int64_t distance) {
  if (distance < 0 || distance > transformer::mostDistance) {
    return emitError() << "expects a bias distance of 0 to 2^20, got " << distance;
  }
  return success();
}

/// Checks that the number of adjacent heads that share keys or values divides the number of heads.
static LogicalResult verifyShare(EmitError emitError, StringRef what, int64_t share,
                                 int64_t heads) {
  if (heads % share != 0) {
    return emitError() << "expects a share of " << what << " that divides the " << heads
                       << " heads, got " << share;
  }
  return success();
}

template <typename Attention>
static LogicalResult verifyHidden(EmitError emitError, Attention attention) {
  if (attention.getHidden() && !attention.getVisibility().getValue().isCausal()) {
    return emitError() << "expects 'hidden' only where keys are causal, got '"
                       << Attribute(attention) << "'";
  }
  return success();
}

static LogicalResult verifyRaw(EmitError emitError, AttentionWeightsAttr weights) {
  if (weights.getRaw() && !weights.getVisibility().getValue().isAll()) {
    return emitError() << "expects raw scores of all keys, got '" << Attribute(weights) << "'";
  }
  return success();
}

/// Bf16 is for products, of heads that tensor cores have registers for.
static LogicalResult verifyArithmetic(EmitError emitError, AttentionAttr attention) {
  if (attention.getArithmetic() == Arithmetic::Integers) {
    return emitError() << "expects arithmetic 'f32' or 'bf16', got 'integers'";
  }
  const int64_t size = std::max(attention.getKeySize(), attention.getValueSize());
  if (attention.getArithmetic() == Arithmetic::F32 ||
      (!attention.getPairs() && size <= mostBf16HeadSize)) {
    return success();
  }
  return emitError() << "expects products of heads of at most " << mostBf16HeadSize
                     << " elements with arithmetic 'bf16', got "
                     << (attention.getPairs() ? "sums over pairs"
                                              : "heads of " + std::to_string(size));
}

static Division byHeads(int64_t heads, int64_t size) {
  return {.columns = Division::Columns::Heads, .count = heads, .size = size, .rowsShareWork = true};
}

// --- parts of names --------------------------------------------------------------------------

static StringRef maskOf(transformer::VisibilityAttr visibility, transformer::HiddenAttr hidden) {
  transformer::Visibility value = visibility.getValue();
  return hidden ? "_masked" : value.isAll() ? "" : value.isCausal() ? "_causal" : "_local";
}

/// Returns `flops` for each pair of a row and a key that it sees.
static Flops ofVisibleKeys(transformer::VisibilityAttr visibility, uint64_t flops) {
  return {.perRowAndKey = flops, .mostKeys = uint64_t(visibility.getValue().span(1).value_or(0))};
}

/// Returns the flops of locations per row and key: those of the filters, and those of adding the
/// lines to every column.
template <typename Attention> static uint64_t flopsOfLocations(Attention attention) {
  uint64_t near = nearOf(attention), lines = linesOf(attention);
  uint64_t ofColumns = lines * attention.getHeads() * attention.getKeySize();
  return 2 * (near * attention.getLocationFilters() + ofColumns);
}

/// Names the heads of keys or values, if there are fewer than heads of queries.
static std::string sharedHeads(StringRef what, int64_t heads, int64_t share) {
  return share > 1 ? llvm::formatv("_{0}{1}", what, heads / share).str() : "";
}

static StringRef pairsOf(bool pairs) { return pairs ? "_pairs" : ""; }

/// Names the taps of the locations and the number of their filters.
template <typename Attention> static std::string locationsOf(Attention attention) {
  std::string name;
  for (int64_t taps : attention.getTapsOfLocations()) {
    name += (name.empty() ? "_locations" : "x") + std::to_string(taps);
  }
  return attention.getLocationFilters() > 0
             ? name + "_filters" + std::to_string(attention.getLocationFilters())
             : name;
}

/// Names the cache that holds the keys, or the values if there are no keys.
static std::string cachedOf(FunctionType type) {
  auto cache = dyn_cast<CacheType>(type.getInput(1));
  return cache ? "_cached" + cache.getElementText() : std::string();
}

// --- reference evaluation --------------------------------------------------------------------

/// Returns the score of a key for a row: the scaled dot product, mapped by the region. -inf hides
/// the key.
template <typename Attention>
static double scoreOf(Attention attention, const KernelRun &run, int64_t head,
                      const VisibleKeys &keys, int64_t key, double product) {
  double bias = 0;
  if (int64_t most = attention.getBiasDistance(); most > 0) {
    int64_t distance = std::clamp(key - keys.own, -most, most);
    bias = run.at(attention.getFirstLocation() - 1, head, distance + most);
  }
  SmallVector<double, 2> arguments = {product};
  if (run.regionArguments() > 1) {
    arguments.push_back(std::exchange(bias, 0));
  }
  product = run.applyRegion(arguments);
  if (attention.getVisibility().getValue().sees(keys.own, key)) {
    return product + bias;
  }
  transformer::HiddenAttr hidden = attention.getHidden();
  if (!hidden) {
    return -std::numeric_limits<double>::infinity();
  }
  double number = hidden.getNumber().getValueAsDouble();
  switch (hidden.getKind()) {
  case transformer::HiddenKind::Added:
    return product + bias + number;
  case transformer::HiddenKind::Score:
    return number;
  case transformer::HiddenKind::Product:
    return number + bias;
  }
  llvm_unreachable("every mask has a formula");
}

/// Returns the numbers that a row reads near a key: those of all inputs of locations, or of the
/// filters.
template <typename Attention>
static SmallVector<double> linesAt(Attention attention, const KernelRun &run, int64_t row,
                                   int64_t key, int64_t keyCount) {
  SmallVector<double> near, lines;
  unsigned input = attention.getFirstLocation();
  int64_t longest = run.rowsOf(spaceOfInput(run.type, 1)).longest;
  for (auto [heads, taps] :
       llvm::zip_equal(attention.getHeadsOfLocations(), attention.getTapsOfLocations())) {
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t place = key + tap - taps / 2;
        bool isKey = place >= 0 && place < keyCount;
        near.push_back(isKey ? run.at(input, row, head * longest + place) : 0);
      }
    }
    ++input;
  }
  for (int64_t filter = 0; filter < attention.getLocationFilters(); ++filter) {
    double sum = 0;
    for (auto [number, each] : llvm::enumerate(near)) {
      sum += run.at(input, filter, static_cast<int64_t>(number)) * each;
    }
    lines.push_back(sum);
  }
  return lines.empty() ? near : lines;
}

/// A factor of a product.
static double factorOf(Arithmetic arithmetic, double value) {
  return arithmetic == Arithmetic::Bf16 ? nearestBf16(static_cast<float>(value)) : value;
}

/// score(scale * q K^T) + bias of a row and head: inputs 0 and 1 are Q and K.
template <typename Attention>
static SmallVector<double> scoresOf(Attention attention, const KernelRun &run, int64_t row,
                                    int64_t head, Arithmetic arithmetic = Arithmetic::F32) {
  VisibleKeys keys(run, 1, row);
  int64_t size = attention.getKeySize(), keyHead = head / attention.getKeyShare();
  double scale = attention.getScale().getValueAsDouble();
  SmallVector<double> scores;
  for (int64_t key = 0; key < keys.count; ++key) {
    double product = 0;
    SmallVector<double> lines = linesAt(attention, run, row, key, keys.count);
    for (int64_t d = 0; d < size; ++d) {
      double ofQuery = run.at(0, row, head * size + d), ofKey = keys.at(key, keyHead * size + d);
      for (auto [number, line] : llvm::enumerate(lines)) {
        ofKey += run.at(attention.getNumInputs() - 2, d, static_cast<int64_t>(number)) * line;
      }
      product += attention.getPairs() ? run.at(attention.getNumInputs() - 1, head, d) *
                                            run.applyPairs(ofQuery, ofKey)
                                      : factorOf(arithmetic, ofQuery) * factorOf(arithmetic, ofKey);
    }
    scores.push_back(scoreOf(attention, run, head, keys, key, scale * product));
  }
  return scores;
}

/// Returns the softmax of the scores.
template <typename Attention>
static SmallVector<double> weightsOf(Attention attention, const KernelRun &run, int64_t row,
                                     int64_t head) {
  SmallVector<double> weights = scoresOf(attention, run, row, head);
  double most = *llvm::max_element(weights), sum = 0;
  for (double &weight : weights) {
    weight = std::exp(weight - most);
    sum += weight;
  }
  for (double &weight : weights) {
    weight /= sum;
  }
  return weights;
}

// --- attention -------------------------------------------------------------------------------

AttentionAttr AttentionAttr::withArithmetic(Arithmetic arithmetic) const {
  return get(getContext(), getHeads(), getKeySize(), getValueSize(), getScale(), getVisibility(),
             getBiasDistance(), getHidden(), getKeyShare(), getValueShare(), getPairs(),
             getLocationHeads(), getLocationTaps(), getLocationFilters(), arithmetic);
}

StringRef AttentionAttr::getNoun() const { return "an attention"; }

std::string AttentionAttr::getSizes(FunctionType type) const {
  std::string name = llvm::formatv("{0}x{1}", getHeads(), getKeySize()).str();
  if (getValueSize() != getKeySize()) {
    name += "x" + std::to_string(getValueSize());
  }
  name += sharedHeads("keys", getHeads(), getKeyShare());
  name += sharedHeads("values", getHeads(), getValueShare());
  name += pairsOf(getPairs());
  name += locationsOf(*this);
  name += getBiasDistance() > 0 ? "_bias" : "";
  name +=
      getArithmetic() == Arithmetic::F32 ? "" : ("_" + stringifyArithmetic(getArithmetic())).str();
  return name + maskOf(getVisibility(), getHidden()).str() + cachedOf(type);
}

LogicalResult AttentionAttr::verifyNumbers(EmitError emitError) const {
  return success(succeeded(verifyPositive(
                     *this, emitError,
                     {getHeads(), getKeySize(), getValueSize(), getKeyShare(), getValueShare()})) &&
                 succeeded(verifyShare(emitError, "keys", getKeyShare(), getHeads())) &&
                 succeeded(verifyShare(emitError, "values", getValueShare(), getHeads())) &&
                 succeeded(verifyBiasDistance(emitError, getBiasDistance())) &&
                 succeeded(verifyHidden(emitError, *this)) &&
                 succeeded(verifyLocations(emitError, *this)) &&
                 succeeded(verifyArithmetic(emitError, *this)));
}

int64_t AttentionAttr::getNumInputs() const {
  return 3 + (getBiasDistance() > 0 ? 1 : 0) + getNumLocationInputs() + (getPairs() ? 1 : 0);
}

SmallVector<KernelInput> AttentionAttr::getInputs(FunctionType type) const {
  KernelInput queries;
  queries.shape = {rowsOf(type), multiplySizes(getHeads(), getKeySize())};
  SmallVector<KernelInput> inputs = {
      queries,
      keysOf(type, 1, multiplySizes(getHeads() / getKeyShare(), getKeySize()), CacheLayout::Keys,
             getVisibility(), getHidden()),
      keysOf(type, 2, multiplySizes(getHeads() / getValueShare(), getValueSize()),
             CacheLayout::Rows, getVisibility(), getHidden())};
  for (KernelInput &input : inputs) {
    input.arithmetic = getArithmetic();
  }
  addBias(inputs, getHeads(), getBiasDistance());
  addLocations(inputs, *this, type);
  addPairWeights(inputs, getPairs(), getHeads(), getKeySize());
  return inputs;
}

SmallVector<KernelResult> AttentionAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getHeads(), getValueSize())}}};
}

LogicalResult AttentionAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (isa<CacheType>(type.getInput(1)) != isa<CacheType>(type.getInput(2))) {
    return emitError() << "expects keys and values that are both buffers or both caches, got "
                       << type.getInput(1) << " and " << type.getInput(2);
  }
  if (getArithmetic() != Arithmetic::F32 && isa<CacheType>(type.getInput(1))) {
    return emitError() << "expects keys and values in rows with arithmetic '"
                       << stringifyArithmetic(getArithmetic()) << "', got " << type.getInput(1);
  }
  if (spaceOfInput(type, 1) != spaceOfInput(type, 2)) {
    return emitError() << "expects keys and values of one row space, got " << type.getInput(1)
                       << " and " << type.getInput(2);
  }
  if (failed(verifyScales(emitError, type, 1, getKeySize())) ||
      failed(verifyScales(emitError, type, 2, getValueSize()))) {
    return failure();
  }
  return verifySpaces(emitError, type, 1, hidesLaterKeys() || getBiasDistance() > 0);
}

Division AttentionAttr::getDivision(FunctionType) const {
  return byHeads(getHeads(), getValueSize());
}

Flops AttentionAttr::getFlops(FunctionType) const {
  uint64_t sizes = getKeySize() + getValueSize();
  return ofVisibleKeys(getVisibility(), 2 * getHeads() * sizes + flopsOfLocations(*this));
}

EpilogueSupport AttentionAttr::getEpilogueSupport() const { return EpilogueSupport::MapsScores; }

std::optional<unsigned> AttentionAttr::getEpilogueResult() const { return std::nullopt; }

bool AttentionAttr::hidesLaterKeys() const { return !getVisibility().getValue().isAll(); }

std::optional<double> AttentionAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                              int64_t column) const {
  int64_t head = column / getValueSize(), d = column % getValueSize();
  VisibleKeys values(run, 2, row);
  const bool isRounded = getArithmetic() != Arithmetic::F32;
  SmallVector<double> scores = scoresOf(*this, run, row, head, getArithmetic());
  // A power of two: whatever it is, numbers are rounded alike.
  const double most = std::ceil(*llvm::max_element(scores) / M_LN2) * M_LN2;
  double sum = 0, weights = 0;
  for (auto [key, score] : llvm::enumerate(scores)) {
    const double weight = std::exp(score - most);
    const double value = values.at(key, head / getValueShare() * getValueSize() + d);
    weights += weight;
    sum += (isRounded ? run.roundToBf16(weight) : weight) * factorOf(getArithmetic(), value);
  }
  return sum / weights;
}

// --- attention_weights -----------------------------------------------------------------------

StringRef AttentionWeightsAttr::getNoun() const { return "an attention"; }

std::string AttentionWeightsAttr::getSizes(FunctionType type) const {
  return llvm::formatv("{0}x{1}{2}{3}{4}{5}{6}{7}{8}", getHeads(), getKeySize(),
                       sharedHeads("keys", getHeads(), getKeyShare()), pairsOf(getPairs()),
                       locationsOf(*this), getRaw() ? "_raw" : "",
                       getBiasDistance() > 0 ? "_bias" : "", maskOf(getVisibility(), getHidden()),
                       cachedOf(type));
}

LogicalResult AttentionWeightsAttr::verifyNumbers(EmitError emitError) const {
  return success(
      succeeded(verifyPositive(*this, emitError, {getHeads(), getKeySize(), getKeyShare()})) &&
      succeeded(verifyShare(emitError, "keys", getKeyShare(), getHeads())) &&
      succeeded(verifyBiasDistance(emitError, getBiasDistance())) &&
      succeeded(verifyHidden(emitError, *this)) && succeeded(verifyRaw(emitError, *this)) &&
      succeeded(verifyLocations(emitError, *this)));
}

int64_t AttentionWeightsAttr::getNumInputs() const {
  return 2 + (getBiasDistance() > 0 ? 1 : 0) + getNumLocationInputs() + (getPairs() ? 1 : 0);
}

SmallVector<KernelInput> AttentionWeightsAttr::getInputs(FunctionType type) const {
  KernelInput queries;
  queries.shape = {rowsOf(type), multiplySizes(getHeads(), getKeySize())};
  SmallVector<KernelInput> inputs = {
      queries, keysOf(type, 1, multiplySizes(getHeads() / getKeyShare(), getKeySize()),
                      CacheLayout::Keys, getVisibility(), getHidden())};
  addBias(inputs, getHeads(), getBiasDistance());
  addLocations(inputs, *this, type);
  addPairWeights(inputs, getPairs(), getHeads(), getKeySize());
  return inputs;
}

SmallVector<KernelResult> AttentionWeightsAttr::getResults(FunctionType type) const {
  return {{.shape = weightsShape(type, getHeads(), 1)}};
}

LogicalResult AttentionWeightsAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (failed(verifyScales(emitError, type, 1, getKeySize()))) {
    return failure();
  }
  return verifySpaces(emitError, type, 1, hidesLaterKeys() || getBiasDistance() > 0);
}

Division AttentionWeightsAttr::getDivision(FunctionType) const { return byHeads(getHeads(), 0); }

Flops AttentionWeightsAttr::getFlops(FunctionType) const {
  return ofVisibleKeys(getVisibility(),
                       uint64_t{2} * getHeads() * getKeySize() + flopsOfLocations(*this));
}

EpilogueSupport AttentionWeightsAttr::getEpilogueSupport() const {
  return EpilogueSupport::MapsScores;
}

std::optional<unsigned> AttentionWeightsAttr::getEpilogueResult() const { return std::nullopt; }

bool AttentionWeightsAttr::hidesLaterKeys() const { return !getVisibility().getValue().isAll(); }

std::optional<double> AttentionWeightsAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                                     int64_t column) const {
  int64_t longest = run.rowsOf(spaceOfInput(run.type, 1)).longest;
  SmallVector<double> weights = getRaw() ? scoresOf(*this, run, row, column / longest)
                                         : weightsOf(*this, run, row, column / longest);
  auto key = static_cast<size_t>(column % longest);
  return key < weights.size() ? std::optional(weights[key]) : std::nullopt;
}

// --- attend ----------------------------------------------------------------------------------

StringRef AttendAttr::getNoun() const { return "an attention"; }

std::string AttendAttr::getSizes(FunctionType type) const {
  return llvm::formatv("{0}x{1}{2}{3}{4}", getHeads(), getValueSize(),
                       sharedHeads("values", getHeads(), getValueShare()),
                       maskOf(getVisibility(), {}), cachedOf(type));
}

LogicalResult AttendAttr::verifyNumbers(EmitError emitError) const {
  return success(
      succeeded(verifyPositive(*this, emitError, {getHeads(), getValueSize(), getValueShare()})) &&
      succeeded(verifyShare(emitError, "values", getValueShare(), getHeads())));
}

int64_t AttendAttr::getNumInputs() const { return 2; }

SmallVector<KernelInput> AttendAttr::getInputs(FunctionType type) const {
  KernelInput weights;
  weights.shape = weightsShape(type, getHeads(), 1);
  weights.isDense = true;
  return {weights, keysOf(type, 1, multiplySizes(getHeads() / getValueShare(), getValueSize()),
                          CacheLayout::Rows, getVisibility(), {})};
}

SmallVector<KernelResult> AttendAttr::getResults(FunctionType type) const {
  return {{.shape = SmallVector<int64_t>{rowsOf(type), multiplySizes(getHeads(), getValueSize())}}};
}

LogicalResult AttendAttr::verifyOperands(EmitError emitError, FunctionType type) const {
  if (failed(verifyScales(emitError, type, 1, getValueSize()))) {
    return failure();
  }
  return verifySpaces(emitError, type, 1, hidesLaterKeys());
}

Division AttendAttr::getDivision(FunctionType) const { return byHeads(getHeads(), getValueSize()); }

Flops AttendAttr::getFlops(FunctionType) const {
  return ofVisibleKeys(getVisibility(), uint64_t{2} * getHeads() * getValueSize());
}

EpilogueSupport AttendAttr::getEpilogueSupport() const { return EpilogueSupport::None; }

std::optional<unsigned> AttendAttr::getEpilogueResult() const { return std::nullopt; }

bool AttendAttr::hidesLaterKeys() const { return !getVisibility().getValue().isAll(); }

std::optional<double> AttendAttr::evaluate(const KernelRun &run, unsigned, int64_t row,
                                           int64_t column) const {
  int64_t head = column / getValueSize(), d = column % getValueSize();
  VisibleKeys values(run, 1, row);
  int64_t longest = run.rowsOf(spaceOfInput(run.type, 1)).longest;
  transformer::Visibility visibility = getVisibility().getValue();
  double sum = 0;
  for (int64_t key = 0; key < values.count; ++key) {
    if (visibility.sees(values.own, key)) {
      sum += run.at(0, row, head * longest + key) *
             values.at(key, head / getValueShare() * getValueSize() + d);
    }
  }
  return sum;
}

} // namespace heddle::dataflow
