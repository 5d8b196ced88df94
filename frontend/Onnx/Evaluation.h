// SPDX-License-Identifier: Apache-2.0
///
/// Goes through the nodes of a graph once, in order, and writes the program. Each operator is a
/// function here; Operators.cpp has the table of them.
#ifndef HEDDLE_FRONTEND_ONNX_EVALUATION_H
#define HEDDLE_FRONTEND_ONNX_EVALUATION_H

#include "formats/Checkpoint/Safetensors.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Onnx/Constants.h"
#include "frontend/Onnx/Folding.h"
#include "frontend/Onnx/Graph.h"
#include "frontend/Onnx/Values.h"

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace heddle::onnx {

/// What hides rows of a batch: those where an input has this value.
struct Padding {
  std::string input;
  int64_t value = 0;
  /// The input must be 0 or 1: other values would mean something else.
  bool isBit = false;
  /// The first node that hides keys by it.
  std::string node;

  bool isSame(const Padding &other) const { return input == other.input && value == other.value; }
};

/// The output with the scores of tokens.
inline constexpr std::string_view logitsOutput = "logits";
/// The input that says which positions rows have, by its name: nothing else tells it from other
/// ids.
inline constexpr std::string_view positionsInput = "position_ids";

/// What a graph does with rows of one length, as queries or as keys.
struct LengthUses {
  std::optional<Padding> padding;
  /// The token that positions are counted without, which must only end sequences.
  std::optional<Padding> ending;
  /// The first attention that no mask keeps from keys of padding, and the first whose rows see
  /// later ones.
  std::string unmasked;
  std::string unordered;
};

/// What a graph does with rows, found by evaluating it.
struct Uses {
  /// By the number of the length's size; 0 where all rows have one length.
  std::map<int64_t, LengthUses> lengths;
  /// Where rows of one length look at those of another: the numbers of both, and the first node.
  std::optional<int64_t> targets, sources;
  std::string crossing;
  /// The inputs whose values are looked at beyond the padding, with the first node.
  std::map<std::string, std::string> read;
  /// Whether positions of rows matter, and the rows of the shortest table of them.
  bool usesPositions = false;
  /// Whether mathematics is done with positions, and not only rows of tables read by them.
  bool usesAngles = false;
  /// Whether scores have biases by distance.
  bool usesDistances = false;
  std::optional<int64_t> positions;
  /// The first node for which a sequence must be the first columns of its row: what it computes
  /// follows from distances of rows or from their number.
  std::string neighbours;
  /// The width of the output "logits", if there is such a one.
  std::optional<int64_t> vocabulary;
  /// The longest sequence that the graph's own tables allow.
  std::optional<int64_t> longest;

  LengthUses of(int64_t size) const {
    const auto known = lengths.find(size);
    return known == lengths.end() ? LengthUses() : known->second;
  }
};

/// A size by its number, and the constant that the exporter made of it.
struct FixedSize {
  int64_t number = 0;
  int64_t value = 0;
};

/// What the inputs of a graph are rows of: sequences, those of a source and of targets, or those of
/// a run that continues earlier ones.
enum class GraphKind { Sequences, TwoLengths, WithPasts };
GraphKind kindOf(const Graph &graph);
/// Whether a convolution reads an input: then it is an image or a sound.
bool isConvolved(const Graph &graph, std::string_view name);
/// Refuses an input of so many rows beside a past.
Status fixedBesidePast(std::string_view input, int64_t rows);

/// Whether no size of the inputs is open, and all are floats.
bool hasConstantSizes(const Graph &graph);

/// The name of the length that the rows of an input have; nothing if it is no such input.
std::optional<std::string> lengthOf(const OnnxPort &port);
/// Those of all inputs, in their order.
std::vector<std::string> lengthsOf(const Graph &graph);

/// How an entry is written.
struct EntryPlan {
  std::string name;
  /// That of the rows which look at others, where a graph has two lengths; else empty.
  std::string targets = {};
  /// Where the column of each row is an input, instead of its position among the sequence's rows.
  bool hasColumns = false;
  /// What an evaluation before found; null in that one.
  const Uses *known = nullptr;
  /// Sizes that are constants, although the inputs declare them to be open.
  std::vector<FixedSize> fixed = {};
  /// Whether each input is one row with all its elements (WholeTensors.cpp).
  bool isWhole = false;
};

class Evaluation;

/// A node under evaluation.
struct Call {
  const GraphNode &node;
  /// Null: left out.
  std::vector<const Value *> inputs;
  std::vector<Value> results = {};
  /// The attributes that the operator has asked for.
  mutable std::set<std::string, std::less<>> asked = {};

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  void give(Symbolic value) { results.push_back({std::move(value), std::nullopt}); }
  void give(Rows value) { results.push_back({std::nullopt, std::move(value)}); }

  /// Attributes, each with the type that it must have; nothing if there is none.
  const OnnxAttribute *attribute(std::string_view name) const;
  Result<std::optional<int64_t>> integer(std::string_view name) const;
  Result<std::optional<double>> real(std::string_view name) const;
  Result<std::optional<std::string_view>> text(std::string_view name) const;
  Result<std::optional<std::vector<int64_t>>> integers(std::string_view name) const;
  Result<int64_t> integerOr(std::string_view name, int64_t otherwise) const;
  /// An axis, counted from the end if negative.
  Result<size_t> axisOr(std::string_view name, int64_t otherwise, size_t rank) const;
  /// Refuses attributes that the operator did not ask for, but for values that change nothing.
  Status checkAsked() const;
};

using Operator = Status (*)(Evaluation &, Call &);

struct OperatorInfo {
  std::string_view domain;
  std::string_view type;
  /// The first version of the domain's operators that it holds for.
  int64_t since;
  size_t leastInputs;
  size_t mostInputs;
  Operator evaluate;
  /// Which of the first `leastInputs` operands may be left out, a bit each.
  uint32_t omittable = 0;
  /// Whether operands may be activations of no elements, which nothing can be computed with.
  bool takesEmpty = false;
  /// Whether operands may be rows of earlier runs: it joins them with those of a run, or asks for
  /// their number.
  bool takesPasts = false;

  /// Whether an operand may be an empty name. None of a list of any length may.
  bool mayOmit(size_t input) const {
    return mostInputs != SIZE_MAX &&
           (input >= leastInputs || (omittable & uint32_t{1} << input) != 0);
  }
};

/// Names all operators that there is no function for.
Status checkOperators(const Graph &graph);

/// The operator of a node; null if there is none.
const OperatorInfo *findOperator(const GraphNode &node);

/// One entry under evaluation.
class Evaluation {
public:
  Evaluation(const Graph &graph, mlir::MLIRContext &context, ModelBuilder &builder, EntryPlan plan);

  /// Writes the entry.
  Status run();
  /// The outputs of a graph without inputs.
  Result<std::vector<FoldedTensor>> foldedOutputs();
  const Uses &uses() const { return found; }
  /// After a failure: the size that, as a constant, agrees with what contradicted it.
  std::optional<FixedSize> contradicted() const { return contradiction; }
  /// The most rows that a sequence may have, where sizes are constants.
  std::optional<int64_t> mostRows();
  /// Whether a sequence is one image.
  bool isOfImages() const { return hasImages; }
  /// What a size is called in the graph.
  std::string sizeName(int64_t number) const;
  /// The tensors of the file that the program has as parameters.
  std::vector<SafetensorsTensor> tensors() const;
  /// What owns the bytes of those that the file does not have.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> owners() const;

  // --- for operators -------------------------------------------------------------------------

  Expressions expressions;
  /// A size by its number; that of the batch is 0.
  Expr sizeOf(int64_t number);
  Expr batch() { return sizeOf(0); }
  Expr integer(int64_t value) { return expressions.integer(value); }

  std::vector<Expr> shapeOf(const Value &value);
  std::vector<Expr> shapeOf(const Rows &rows);
  /// The integers of a vector that is known; a failure names what is not.
  Result<std::vector<Expr>> vectorOf(const Value &value, std::string_view what);
  /// The one integer of a scalar or of a vector of one.
  Result<Expr> scalarOf(const Value &value, std::string_view what);
  Result<std::vector<int64_t>> constantsOf(const Value &value, std::string_view what);
  /// The number of a constant of one element.
  std::optional<double> numberOf(const Value &value);
  /// The number that all elements of a constant are, whatever its shape.
  std::optional<double> uniformNumberOf(const Value &value);
  /// Adds a tensor that formulas read.
  Symbolic constant(const std::string &name, const OnnxTensor &tensor);
  Symbolic constant(const Elements &elements);
  /// The shape of a formula of constants alone, if it is not too large to be computed here.
  std::optional<std::vector<int64_t>> closedShape(const Symbolic &value);
  bool isClosed(const Value &value) { return value.symbolic && closedShape(*value.symbolic); }
  /// The elements of such a formula.
  Result<Elements> elementsOf(const Symbolic &value);
  /// A formula whose axes are those of a larger shape.
  Expr broadcast(const Symbolic &value, size_t rank);
  Status failure(StatusCode code, const std::string &message) const;
  /// The same where two sizes should be equal: one may be a constant of the exporter's example.
  Status unequal(Expr left, Expr right, const std::string &message);
  /// Whether coordinates are those of a row of a sequence.
  bool areOwn(const std::vector<Expr> &coordinates, size_t batchAxis, Expr row);

  /// A look-up by rows as a value of the program; others fail.
  Result<Rows> rowsOf(const Value &value);
  /// The parameter that a formula reads, and the order of its axes.
  struct StoredParameter {
    Parameter parameter;
    bool transposed = false;
  };
  std::optional<StoredParameter> parameterOf(const Symbolic &value);
  /// A weight [width] of a formula: a vector constant along the last axis.
  std::optional<Parameter> vectorParameter(const Symbolic &value);
  Parameter parameter(size_t source);
  Scope root() { return builder.scope(); }

  /// Each row's position times constants along the last axis; null if there are too many, or some
  /// are not finite.
  mlir::Value angles(const Symbolic &frequencies);

  // --- tensors of constant sizes as one row: WholeTensors.cpp --------------------------------

  bool isWhole() const { return plan.isWhole; }
  /// The elements of a formula over a shape, as a vector of the program.
  Result<Parameter> flatParameter(const Symbolic &value, const std::vector<Expr> &shape);
  /// The same elements in the order of the graph's tensor, and an atom for each axis.
  Result<Rows> inOrder(Rows rows);
  /// The whole value once for each of these parts.
  Result<Rows> repeatedWhole(Rows rows, const Atoms &copies);

  // --- rows: RowLayout.cpp -------------------------------------------------------------------

  Atom newAtom(int64_t size) { return {Atom::Kind::Inner, size, nextAtom++}; }
  Result<Rows> reshaped(Rows rows, std::vector<Expr> shape);
  /// c if the function of the value is c times it.
  std::optional<double> linearFactor(const Rows &rows) const;
  /// The same value with its scalar function written.
  Result<Rows> written(Rows rows);
  /// The same value with these axes after the rows.
  Result<Rows> arranged(Rows rows, const std::vector<Atoms> &physical);
  /// The same value with these atoms, which must be the first, as rows of their own.
  Result<Rows> spread(Rows rows, const Atoms &atoms);
  /// Refuses more parts than can be rows of their own.
  Status checkChoices(const Atoms &atoms) const;
  /// A value of the same rows, with a row for each of these parts.
  mlir::Value choices(const Atoms &atoms);
  /// An axis of size 1 repeated, as heads of keys are for several heads of queries.
  Result<Rows> repeated(Rows rows, size_t axis, int64_t times);
  /// The axis' elements from `first` on, as one atom.
  Result<Rows> sliced(Rows rows, size_t axis, int64_t first, int64_t count);
  /// The first row of each sequence; `index` is the one that the graph reads.
  Result<Rows> firstRow(Rows rows, size_t axis, int64_t index);
  /// Makes the atoms of both the same, which have one shape where neither has size 1.
  Status align(Rows &left, Rows &right);

  // --- pasts: Caches.cpp ---------------------------------------------------------------------

  /// The positions before those of a run.
  Expr earlier();
  /// The rows of a past and those of this run after them, along an axis.
  Result<Rows> withPast(const Rows &past, Rows fresh, size_t axis);

  // --- parts of images: Parts.cpp ------------------------------------------------------------

  /// The parts of each image, so many, as segments.
  mlir::Value parts(int64_t count);
  /// Their axis of rows.
  Result<Atom> rowsOfParts(int64_t count);
  /// The axes of a grid of them; `space` is that of all its places.
  Result<Atoms> placesOf(const std::vector<int64_t> &counts, int64_t &space);
  /// The segments of rows.
  mlir::Value segmentsOf(const Rows &value);
  /// Which rows an axis of that size has, by the number of their size.
  std::optional<int64_t> rowsOfSize(Expr size);
  /// Parts of images and others after them, along their axis.
  Result<Rows> joinedParts(const Call &call, size_t axis);
  // --- two lengths: Lengths.cpp --------------------------------------------------------------

  /// Makes the entry of these rows the present one.
  void enterRowsOf(const Rows &rows);
  /// The same of the rows that a tensor of this shape has.
  void enterShape(const std::vector<Expr> &shape);
  /// Whether rows that become keys are kept in a cache, and read from there.
  bool isKept(const Rows &keys) const;
  /// Keys or values as the queries of other rows read them.
  Result<Rows> kept(Rows keys, const Rows &queries);

  // --- masks: Masks.cpp ----------------------------------------------------------------------

  /// Scores and a bias that must hide keys of padding, those after their query, or both, and
  /// nothing else; `bias` is a formula of the coordinates of the scores.
  Result<Rows> hidden(Rows scores, Expr bias);

  // --- biases by distance: Distances.cpp -----------------------------------------------------

  /// Scores plus a bias: numbers by the distance of a key from its query, and a mask.
  Result<Rows> biased(Rows scores, Expr bias);
  /// Whether a formula has an axis of rows and one of keys.
  bool isOfPairs(const Symbolic &value);

  /// An operation of the program at the present node.
  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    mlir::OpBuilder code(context);
    code.setInsertionPointToEnd(block);
    return Op::create(code, location, std::forward<Arguments>(arguments)...);
  }
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape) const;
  mlir::FloatAttr f32(double value) const;
  mlir::Value segments() const { return rows.value(); }
  /// Those of an axis of keys, or of rows that become keys.
  mlir::Value segmentsOf(const Atom &rowsOrKeys);
  bool isOfRun(const Atom &atom) const {
    return atom.size == sequenceSize || spaces.contains(atom.size);
  }
  mlir::Value weight(const Parameter &parameter);
  /// How many nodes and outputs read a result.
  size_t readers(const std::string &name) const;
  /// Notes what the weights of keys do not hide.
  void noteMixing(const Rows &weights, const Atom &keys);
  void noteLongest(int64_t count) {
    found.longest = std::min(found.longest.value_or(count), count);
  }
  void noteNeighbours() {
    if (found.neighbours.empty()) {
      found.neighbours = node->describe();
    }
  }
  /// Refuses what a function of each element would make of hidden keys, if they were not hidden any
  /// more.
  Status checkHidden(const Rows &rows);
  const GraphNode &present() const { return *node; }
  /// Makes the node that gave a function the present one, where that is known; gives back the one
  /// before.
  const GraphNode *enterFunction(Expr function) {
    const auto made = functions.find(function);
    return std::exchange(node, made == functions.end() ? node : made->second);
  }
  void leaveFunction(const GraphNode *before) { node = before; }
  mlir::MLIRContext *getContext() const { return context; }
  const Graph &getGraph() const { return graph; }

private:
  Status begin();
  Status evaluateNodes();
  /// Makes a result that follows from constants one of its own, where it is data or a large
  /// formula.
  Status fold(Symbolic &value);
  /// Adds a tensor that no file has; its number among the sources.
  size_t addTable(const Elements &elements);
  Status addWhole(const OnnxPort &port);
  Status addWholeOutput(const OnnxPort &port);
  Result<Rows> wholeConstant(const Symbolic &value);
  /// The parts of a row in another order, by exchanges of neighbours.
  Result<Rows> permuted(Rows rows, const Atoms &to);
  Status notePadding(Padding padding, int64_t length);
  LengthUses &usesOf(int64_t size) { return found.lengths[other ? size : 0]; }
  /// Makes the entry of a length the present one; false if there is a third length.
  bool enterLength(int64_t size);
  bool enterOther();
  Status noteCrossing(int64_t queries, int64_t keys);
  std::string cacheName();
  Expr triangle(const Symbolic &value, const OnnxTensor &table);
  Rows joined(Rows rows);
  Status addInputs();
  Status addInput(const OnnxPort &port);
  Status addRows(const OnnxPort &port, int64_t size, bool hasBatch);
  /// False if the input is none that a convolution reads.
  Result<bool> addImage(const OnnxPort &port);
  Result<mlir::Value> constantPart(const Symbolic &value, int64_t width);
  /// Makes one axis of the places of a grid where an axis has all of them.
  void mergePlaces(Atoms &axis) const;
  Status fixDeclared(const OnnxPort &port, std::optional<int64_t> size, int64_t number);
  /// False if the input is no past.
  bool addPast(const OnnxPort &port);
  void addIds(const OnnxPort &port, Element element, int64_t size);
  /// How many columns of each sequence are no padding: [batch].
  Status addCounts(const OnnxPort &port);
  Status checkPasts(const Call &call, const OperatorInfo &info) const;
  Status checkCaches() const;
  Status checkNotEmpty(const Call &call);
  const Segments &history();
  /// The rows of the other length as keys.
  const Segments &memory();
  Status addOutputs();
  Status addOutput(const OnnxPort &port);
  Status evaluate(const GraphNode &next);
  Result<mlir::Value> idsOf(Expr index, size_t batchAxis, size_t rowAxis, Parameter &table);
  bool isTableRow(const Symbolic &value);
  Result<mlir::Value> placeOf(Expr index, size_t rowAxis, const Rows &of, const Parameter &table);
  Result<Rows> lookUp(const Symbolic &value);
  /// A formula of a row's position and of columns as a value; null if it is none that can be
  /// written.
  mlir::Value rowsOfPosition(const Symbolic &value, size_t rowAxis);
  /// Which axes of scores are rows, keys and, if there are any, heads.
  struct ScoreAxes {
    size_t row = 0, key = 0;
    std::optional<size_t> head;
    int64_t keySize = 0;
  };
  Result<Rows> withDistance(Rows scores, Expr bias, const ScoreAxes &axes);
  Parameter bucketRow(const Parameter &table, int64_t index);
  mlir::Value biasByPositions(const Parameter &table, std::span<const int64_t> buckets,
                              mlir::Value queries, mlir::Value keys);
  /// Null if all distances have one bucket.
  mlir::Value biasByColumns(const Parameter &table, std::span<const int64_t> buckets);
  Expr withoutLengths(Expr bias, const ScoreAxes &axes);

  const Graph &graph;
  ModelBuilder &builder;
  EntryPlan plan;
  Entry entry;
  Segments rows;
  Ids columns;
  /// The same as numbers [rows, 1], where mathematics is done with them.
  mlir::Value columnNumbers;
  mlir::MLIRContext *context;
  mlir::Block *block = nullptr;
  mlir::Location location;
  const GraphNode *node = nullptr;
  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, size_t, std::less<>> readersOf;
  std::map<std::string, Ids, std::less<>> ids;
  std::map<std::string, int64_t, std::less<>> sizes;
  std::map<int64_t, int64_t> fixedSizes;
  /// Rows that are parts of images: how many each has, by the number of their size, and their
  /// segments, by how many.
  std::map<int64_t, int64_t> spaces;
  std::map<int64_t, mlir::Value> partsOf;
  /// The places of grids, and the rows that they are.
  std::vector<std::pair<Atoms, Atom>> grids;
  bool hasImages = false;
  std::optional<FixedSize> contradiction;
  /// The number of the size of a sequence.
  std::optional<int64_t> sequenceSize;
  /// That of all positions so far, where there are pasts.
  std::optional<int64_t> totalSize;
  /// Pasts by their inputs, and whether they were joined with the rows of this run; the joined
  /// rows.
  std::map<std::string, bool> pasts;
  llvm::DenseSet<mlir::Value> caches;
  Segments seen, remembered;
  /// What the present entry has, for the rows of the other length.
  struct OtherRows {
    Entry entry;
    Segments rows = {}, seen = {}, remembered = {};
    mlir::Block *block = nullptr;
    std::optional<int64_t> sequenceSize = std::nullopt;
    bool areTargets = false;
  };
  std::optional<OtherRows> other;
  /// Whether the present entry is that of the rows which look at others.
  bool areTargets = false;
  /// A value and its function, which is still to be written.
  using Unwritten = std::pair<mlir::Value, Expr>;
  /// Keys that are kept, and the order of their parts.
  llvm::DenseMap<Unwritten, std::vector<std::pair<Atoms, mlir::Value>>> keptKeys;
  std::set<std::string> cacheNames;
  /// What has become keys or values of targets, or does so in another evaluation.
  llvm::DenseSet<Unwritten> keysRead;
  /// Tensors that were computed here, how many by node, and which formulas depend on constants
  /// alone.
  std::deque<OnnxTensor> made;
  std::map<std::string, int> foldedBy;
  std::map<Expr, bool> closed;
  std::map<size_t, Parameter> parameters;
  /// The first node that gave each function of a value: it is written where somebody reads it.
  std::map<Expr, const GraphNode *> functions;
  /// Look-ups by their formula and shape: each is written once.
  std::map<std::pair<Expr, std::vector<Expr>>, Rows> looked;
  Uses found;
  int nextAtom = 1;
};

/// A number of each row, `count` times side by side.
mlir::Value sideBySide(Evaluation &evaluation, mlir::Value number, int64_t count);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_EVALUATION_H
