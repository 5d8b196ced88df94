// SPDX-License-Identifier: Apache-2.0
///
/// Visits the nodes of a graph once, in order, and emits the program. Each operator is a function;
/// Operators.cpp contains the table.
#ifndef HEDDLE_FRONTEND_ONNX_EVALUATION_H
#define HEDDLE_FRONTEND_ONNX_EVALUATION_H

#include "formats/Checkpoint/Safetensors.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Onnx/Constants.h"
#include "frontend/Onnx/Folding.h"
#include "frontend/Onnx/Graph.h"
#include "frontend/Onnx/InputForms.h"
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

/// A padding mask: rows are hidden where an input has this value.
struct Padding {
  std::string input;
  int64_t value = 0;
  /// Whether the input must be 0 or 1; other values would have another meaning.
  bool isBit = false;
  /// The first node that uses the mask to hide keys.
  std::string node;

  bool isSame(const Padding &other) const { return input == other.input && value == other.value; }
};

/// The name of the output with the logits of tokens.
inline constexpr std::string_view logitsOutput = "logits";
/// The name of the input with the positions of rows. Only the name distinguishes it from other ids.
inline constexpr std::string_view positionsInput = "position_ids";

/// How a graph uses rows of one length, as queries or as keys.
struct LengthUses {
  std::optional<Padding> padding;
  /// The token that is excluded when positions are counted; it may occur only at the end of
  /// sequences.
  std::optional<Padding> ending;
  /// The first attention node that does not mask padding keys, and the first one whose rows attend
  /// to later rows.
  std::string unmasked;
  std::string unordered;
};

/// How a graph uses rows, collected by evaluating it.
struct Uses {
  /// Keyed by the number of the symbolic size; 0 if all rows have the same length.
  std::map<int64_t, LengthUses> lengths;
  /// For cross-attention: the sizes of queries and keys by number and by name, and the first such
  /// node.
  std::optional<int64_t> targets, sources;
  std::string target, source;
  std::string crossing;
  /// The inputs whose values are read for more than padding, with the first reading node.
  std::map<std::string, std::string> read;
  /// Whether the graph uses positions of rows.
  bool usesPositions = false;
  /// Whether positions are used in arithmetic, and not only as indices of tables.
  bool usesAngles = false;
  /// Whether scores have biases by distance.
  bool usesDistances = false;
  /// The number of rows of the smallest table of positions.
  std::optional<int64_t> positions;
  /// The first node that requires each sequence to occupy the first columns of its row, because its
  /// result depends on distances between rows or on their number.
  std::string neighbours;
  /// The width of the output "logits", if the graph has one.
  std::optional<int64_t> vocabulary;
  /// The longest sequence that the tables of the graph support.
  std::optional<int64_t> longest;

  LengthUses of(int64_t size) const {
    const auto known = lengths.find(size);
    return known == lengths.end() ? LengthUses() : known->second;
  }
};

/// A symbolic size, by number, and the constant that the exporter replaced it with.
struct FixedSize {
  int64_t number = 0;
  int64_t value = 0;
};

/// Returns whether a convolution reads the input, which is then an image or audio.
bool isConvolved(const Graph &graph, std::string_view name);
/// Returns the error for an input with a fixed number of rows in a graph with past inputs.
Status fixedBesidePast(std::string_view input, int64_t rows);

/// Returns whether all inputs are floats of static shapes.
bool hasConstantSizes(const Graph &graph);

/// Options for emitting an entry.
struct EntryPlan {
  std::string name;
  /// The name of the entry for the target rows, if the graph has two lengths; otherwise empty.
  std::string targets = {};
  /// Whether the column of each row is an input. Otherwise it is the row's position in its
  /// sequence.
  bool hasColumns = false;
  /// The result of the previous evaluation; null in the first one.
  const Uses *known = nullptr;
  /// Sizes that are treated as constants although the inputs declare them as dynamic.
  std::vector<FixedSize> fixed = {};
  /// Whether each input is one row with all of its elements (WholeTensors.cpp).
  bool isWhole = false;
  /// The name of the entry for the rows of earlier runs, if callers give these with each run;
  /// otherwise empty, and they stay in caches.
  std::string pasts = {};
  /// Whether one run of the entries computes all of the graph: no rows are kept for a next run, so
  /// all outputs are given, and rows of one run may see each other in any order.
  bool isFunction = false;
};

/// What is said about the tensor of an entry's input or output in files
/// (heddle/RectangleEntries.h).
struct PortTensor {
  std::string entry;
  std::string port;
  bool isInput = false;
  /// Empty: as for any rows.
  std::vector<int64_t> axes = {};
  /// The input whose rows precede those of an output; empty: none.
  std::string after = {};
  /// The number of rows that each sequence must have; 0: any.
  int64_t rows = 0;
};

class Evaluation;

/// A node being evaluated, with its operands and results.
struct Call {
  const GraphNode &node;
  /// Null for an omitted operand.
  std::vector<const Value *> inputs;
  std::vector<Value> results = {};
  /// The attributes that the operator has queried.
  mutable std::set<std::string, std::less<>> asked = {};

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  void give(Symbolic value) { results.push_back({std::move(value), std::nullopt}); }
  void give(Rows value) { results.push_back({std::nullopt, std::move(value)}); }

  /// Return an attribute, checked to have the expected type, or nullopt if it is absent.
  const OnnxAttribute *attribute(std::string_view name) const;
  Result<std::optional<int64_t>> integer(std::string_view name) const;
  Result<std::optional<double>> real(std::string_view name) const;
  Result<std::optional<std::string_view>> text(std::string_view name) const;
  Result<std::optional<std::vector<int64_t>>> integers(std::string_view name) const;
  Result<int64_t> integerOr(std::string_view name, int64_t otherwise) const;
  /// Returns an axis; negative values count from the end.
  Result<size_t> axisOr(std::string_view name, int64_t otherwise, size_t rank) const;
  /// Rejects attributes that the operator did not query, unless their values have no effect.
  Status checkAsked() const;
};

using Operator = Status (*)(Evaluation &, Call &);

struct OperatorInfo {
  std::string_view domain;
  std::string_view type;
  /// The first version of the operator set that this entry applies to.
  int64_t since;
  size_t leastInputs;
  size_t mostInputs;
  Operator evaluate;
  /// A bit mask of those of the first `leastInputs` operands that may be omitted.
  uint32_t omittable = 0;
  /// Whether operands may be empty activations, which cannot be used in computations.
  bool takesEmpty = false;
  /// Whether operands may be rows of earlier runs. Such an operator concatenates them with the rows
  /// of the current run or queries their number.
  bool takesPasts = false;

  /// Returns whether an operand may be omitted. Operands of variadic operators may not.
  bool mayOmit(size_t input) const {
    return mostInputs != SIZE_MAX &&
           (input >= leastInputs || (omittable & uint32_t{1} << input) != 0);
  }
};

/// Reports all operators that are not supported.
Status checkOperators(const Graph &graph);

/// Returns the operator of a node, or null if it is not supported.
const OperatorInfo *findOperator(const GraphNode &node);

/// Evaluates one entry.
class Evaluation {
public:
  Evaluation(const Graph &graph, mlir::MLIRContext &context, ModelBuilder &builder, EntryPlan plan);

  /// Emits the entry.
  Status run();
  /// Returns the outputs of a graph without inputs.
  Result<std::vector<FoldedTensor>> foldedOutputs();
  const Uses &uses() const { return found; }
  /// After a failure: the symbolic size and the constant value for which the mismatched sizes
  /// agree.
  std::optional<FixedSize> contradicted() const { return contradiction; }
  /// Returns the maximum number of rows of a sequence, if sizes are static.
  std::optional<int64_t> mostRows();
  /// Returns what is said about tensors in files.
  const std::vector<PortTensor> &portTensors() const { return described; }
  /// Returns whether each sequence is one image.
  bool isOfImages() const { return hasImages; }
  /// Returns the name of a size in the graph.
  std::string sizeName(int64_t number) const;
  /// Returns the tensors of the file that are parameters of the program.
  std::vector<SafetensorsTensor> tensors() const;
  /// Returns the buffers of tensors that are not stored in the file.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> owners() const;

  // --- for operators -------------------------------------------------------------------------

  Expressions expressions;
  /// Returns a symbolic size by its number; the batch is 0.
  Expr sizeOf(int64_t number);
  Expr batch() { return sizeOf(0); }
  Expr integer(int64_t value) { return expressions.integer(value); }

  std::vector<Expr> shapeOf(const Value &value);
  std::vector<Expr> shapeOf(const Rows &rows);
  /// Returns the elements of an integer vector; the error names `what` if they are unknown.
  Result<std::vector<Expr>> vectorOf(const Value &value, std::string_view what);
  /// Returns the integer of a scalar or of a vector of size 1.
  Result<Expr> scalarOf(const Value &value, std::string_view what);
  Result<std::vector<int64_t>> constantsOf(const Value &value, std::string_view what);
  /// Returns the value of a constant with one element.
  std::optional<double> numberOf(const Value &value);
  /// Returns the common value of all elements of a constant of any shape.
  std::optional<double> uniformNumberOf(const Value &value);
  /// Adds a tensor that formulas can read.
  Symbolic constant(const std::string &name, const OnnxTensor &tensor);
  Symbolic constant(const Elements &elements);
  /// Returns the shape of a formula that depends only on constants, if it is small enough to be
  /// folded.
  std::optional<std::vector<int64_t>> closedShape(const Symbolic &value);
  bool isClosed(const Value &value) { return value.symbolic && closedShape(*value.symbolic); }
  /// Computes the elements of a closed formula.
  Result<Elements> elementsOf(const Symbolic &value);
  /// Rewrites a formula for the axes of a broadcast shape of this rank.
  Expr broadcast(const Symbolic &value, size_t rank);
  Status failure(StatusCode code, const std::string &message) const;
  /// Like failure(), for two sizes that should be equal: one may be a constant of the exporter's
  /// example.
  Status unequal(Expr left, Expr right, const std::string &message);
  /// Returns whether the coordinates are those of a row of a sequence.
  bool areOwn(const std::vector<Expr> &coordinates, size_t batchAxis, Expr row);

  /// Emits a look-up as rows of the program; fails for other formulas.
  Result<Rows> rowsOf(const Value &value);
  /// A parameter that a formula reads, and whether its axes are swapped.
  struct StoredParameter {
    Parameter parameter;
    bool transposed = false;
  };
  std::optional<StoredParameter> parameterOf(const Symbolic &value);
  /// Returns a formula as a parameter [width]: a constant vector along the last axis.
  std::optional<Parameter> vectorParameter(const Symbolic &value);
  Parameter parameter(size_t source);
  Scope root() { return builder.scope(); }

  /// Multiplies the position of each row by constants along the last axis. Returns null if there
  /// are too many constants, or some are not finite.
  mlir::Value angles(const Symbolic &frequencies);

  // --- tensors of constant sizes as one row: WholeTensors.cpp --------------------------------

  bool isWhole() const { return plan.isWhole; }
  /// Returns the elements of a formula over a shape as a vector parameter.
  Result<Parameter> flatParameter(const Symbolic &value, const std::vector<Expr> &shape);
  /// Permutes the elements to the order of the graph's tensor, with one atom per axis.
  Result<Rows> inOrder(Rows rows);
  /// Repeats the whole value once for each of these parts.
  Result<Rows> repeatedWhole(Rows rows, const Atoms &copies);

  // --- rows: RowLayout.cpp -------------------------------------------------------------------

  Atom newAtom(int64_t size) { return {Atom::Kind::Inner, size, nextAtom++}; }
  Result<Rows> reshaped(Rows rows, std::vector<Expr> shape);
  /// Returns c if the value's function multiplies it by c.
  std::optional<double> linearFactor(const Rows &rows) const;
  /// Emits the pending scalar function of the value.
  Result<Rows> written(Rows rows);
  /// Returns the same value with these axes after the rows.
  Result<Rows> arranged(Rows rows, const std::vector<Atoms> &physical);
  /// Returns the same value with these atoms, which must be the first, as rows of their own.
  Result<Rows> spread(Rows rows, const Atoms &atoms);
  /// Rejects more parts than can be rows of their own.
  Status checkChoices(const Atoms &atoms) const;
  /// Returns a value with one row for each of these parts of a row.
  mlir::Value choices(const Atoms &atoms);
  /// Repeats an axis of size 1, as when several heads of queries share one head of keys.
  Result<Rows> repeated(Rows rows, size_t axis, int64_t times);
  /// Slices `count` elements of an axis from `first` on, as one atom.
  Result<Rows> sliced(Rows rows, size_t axis, int64_t first, int64_t count);
  /// Returns the first row of each sequence; `index` is the row that the graph reads.
  Result<Rows> firstRow(Rows rows, size_t axis, int64_t index);
  /// Splits the atoms of both operands so that they match. The shapes must agree on all axes that
  /// do not have size 1.
  Status align(Rows &left, Rows &right);

  // --- pasts: Caches.cpp ---------------------------------------------------------------------

  /// Returns the number of positions before the current run.
  Expr earlier();
  /// Returns whether rows or keys are those of earlier runs together with those of this one.
  bool isOfAll(const Atom &atom) const { return totalSize && atom.size == *totalSize; }
  /// Appends the rows of this run to those of a past along an axis.
  Result<Rows> withPast(const Rows &past, Rows fresh, size_t axis);

  // --- parts of images: Parts.cpp ------------------------------------------------------------

  /// Returns the segments of images that are divided into `count` parts each.
  mlir::Value parts(int64_t count);
  /// Returns the row atom of these parts.
  Result<Atom> rowsOfParts(int64_t count);
  /// Returns the axes of a grid of parts; `space` is set to the symbolic size of the whole grid.
  Result<Atoms> placesOf(const std::vector<int64_t> &counts, int64_t &space);
  /// Returns the segments of rows.
  mlir::Value segmentsOf(const Rows &value);
  /// Returns the number of the symbolic size if an axis of this size holds rows.
  std::optional<int64_t> rowsOfSize(Expr size);
  /// Concatenates parts of images along their axis.
  Result<Rows> joinedParts(const Call &call, size_t axis);
  // --- two lengths: Lengths.cpp --------------------------------------------------------------

  /// Makes the entry of these rows the current one.
  void enterRowsOf(const Rows &rows);
  /// Makes the entry of the rows of a tensor of this shape the current one.
  void enterShape(const std::vector<Expr> &shape);
  /// Returns whether keys are stored in a cache and read from there.
  bool isKept(const Rows &keys) const;
  /// Returns keys or values as they are read by queries of the other length.
  Result<Rows> kept(Rows keys, const Rows &queries);

  // --- masks: Masks.cpp ----------------------------------------------------------------------

  /// Adds a bias that must hide padding keys, keys after the query, or both, and nothing else.
  /// `bias` is a formula of the coordinates of the scores.
  Result<Rows> hidden(Rows scores, Expr bias);

  // --- biases by distance: Distances.cpp -----------------------------------------------------

  /// Adds a bias to scores: values by the distance between key and query, and a mask.
  Result<Rows> biased(Rows scores, Expr bias);
  /// Returns whether a formula has an axis of rows and one of keys.
  bool isOfPairs(const Symbolic &value);

  /// Creates an operation at the current node.
  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    mlir::OpBuilder code(context);
    code.setInsertionPointToEnd(block);
    return Op::create(code, location, std::forward<Arguments>(arguments)...);
  }
  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape) const;
  mlir::FloatAttr f32(double value) const;
  mlir::Value segments() const { return rows.value(); }
  /// Returns the segments of an axis of keys, or of rows that become keys.
  mlir::Value segmentsOf(const Atom &rowsOrKeys);
  /// Returns the coordinate of rows along an axis: 0 if each sequence has one row.
  Expr rowCoordinate(size_t axis) {
    return sequenceSize && sizeOf(*sequenceSize)->isConstant(1) ? integer(0)
                                                                : expressions.axis(axis);
  }
  /// Returns whether keys are rows of the source, which a run of another entry stores.
  bool isOfSource(const Atom &keys) const { return other && !isOfRun(keys) && !isOfAll(keys); }
  bool isOfRun(const Atom &atom) const {
    return atom.size == sequenceSize || spaces.contains(atom.size);
  }
  mlir::Value weight(const Parameter &parameter);
  /// Returns the number of nodes and outputs that read a result.
  size_t readers(const std::string &name) const;
  /// Records which keys the weights leave visible.
  void noteMixing(const Rows &weights, const Atom &keys);
  void noteLongest(int64_t count) {
    found.longest = std::min(found.longest.value_or(count), count);
  }
  void noteNeighbours() {
    if (found.neighbours.empty()) {
      found.neighbours = node->describe();
    }
  }
  /// Rejects an elementwise function that would change the scores or weights of hidden keys so that
  /// they are no longer hidden.
  Status checkHidden(const Rows &rows);
  const GraphNode &present() const { return *node; }
  /// Makes the node that produced a function the current one, if it is known. Returns the previous
  /// node.
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
  /// Folds a result that depends only on constants into a new constant if it is data or a large
  /// formula.
  Status fold(Symbolic &value);
  /// Adds a computed table as a source and returns its number.
  size_t addTable(const Elements &elements);
  Status addWhole(const OnnxPort &port);
  Status addWholeOutput(const OnnxPort &port);
  Result<Rows> wholeConstant(const Symbolic &value);
  /// Permutes the parts of a row by transposing adjacent parts.
  Result<Rows> permuted(Rows rows, const Atoms &to);
  Status notePadding(Padding padding, int64_t length);
  LengthUses &usesOf(int64_t size) { return found.lengths[lengthKey(size)]; }
  /// Returns the key of a length in Uses::lengths.
  int64_t lengthKey(int64_t size) const {
    return !other ? 0 : totalSize && size == *totalSize ? *runSize : size;
  }
  /// Makes the entry of a length the current one; returns false if there is a third length.
  bool enterLength(int64_t size);
  bool enterOther();
  Status noteCrossing(int64_t queries, int64_t keys);
  std::string cacheName();
  Expr triangle(const Symbolic &value, const OnnxTensor &table);
  Rows joined(Rows rows);
  Status addInputs();
  Status addInput(const OnnxPort &port);
  Status addRows(const OnnxPort &port, int64_t size, bool hasBatch);
  Status addHeadedRows(const OnnxPort &port, size_t axis, int64_t size);
  /// Returns false if no convolution reads the input.
  Result<bool> addImage(const OnnxPort &port);
  Result<mlir::Value> constantPart(const Symbolic &value, int64_t width);
  /// Merges the axes of a grid if one axis contains all of them.
  void mergePlaces(Atoms &axis) const;
  Status fixDeclared(const OnnxPort &port, std::optional<int64_t> size, int64_t number);
  /// Returns false if the input is not a past.
  bool addPast(const OnnxPort &port);
  void addIds(const OnnxPort &port, Element element, int64_t size);
  /// Adds an input [batch] with the number of unpadded columns of each sequence.
  Status addCounts(const OnnxPort &port);
  Status checkPasts(const Call &call, const OperatorInfo &info) const;
  Status checkCaches() const;
  /// Adds the entry that stores the rows of earlier runs which a caller gives.
  void addPastEntry(const Rows &past, int64_t width);
  /// Returns the axes of a tensor in files: those of a value, as PortTensor::axes.
  std::vector<int64_t> portAxes(const Rows &value) const;
  /// Returns the rows of this run among rows that were joined with a past.
  Rows freshRows(const Rows &joined) const;
  /// Returns the name of the current entry.
  const std::string &entryName() const { return other && areTargets ? plan.targets : plan.name; }
  bool isOfCache(const Rows &result) const;
  Status addRowsOutput(const OnnxPort &port, Rows result);
  Status addFunctionOutput(const OnnxPort &port, Rows result);
  Status checkNotEmpty(const Call &call);
  const Segments &history();
  /// Returns the segments of the rows of the other length as keys.
  const Segments &memory();
  Status addOutputs();
  Status addOutput(const OnnxPort &port);
  Status evaluate(const GraphNode &next);
  Result<mlir::Value> idsOf(Expr index, size_t batchAxis, size_t rowAxis, Parameter &table);
  bool isTableRow(const Symbolic &value);
  Result<mlir::Value> placeOf(Expr index, size_t rowAxis, const Rows &of, const Parameter &table);
  /// The axes of sequences and of their rows, if there are any.
  struct RowAxes {
    std::optional<size_t> batch, row;
  };
  /// Describes the axes before the last in `result`; nullopt if one is neither of sequences, nor of
  /// rows, nor of size 1.
  std::optional<RowAxes> describeRows(const Symbolic &value, Rows &result);
  Result<Rows> lookUp(const Symbolic &value);
  /// Emits a formula of a row's position and columns; returns null if it cannot be emitted.
  mlir::Value rowsOfPosition(const Symbolic &value, size_t rowAxis);
  /// The axes of scores for rows, keys and, if present, heads.
  struct ScoreAxes {
    size_t row = 0, key = 0;
    std::optional<size_t> head;
    int64_t keySize = 0;
  };
  Result<Rows> withDistance(Rows scores, Expr bias, const ScoreAxes &axes);
  Parameter bucketRow(const Parameter &table, int64_t index);
  mlir::Value biasByPositions(const Parameter &table, std::span<const int64_t> buckets,
                              mlir::Value queries, mlir::Value keys);
  /// Returns null if all distances have the same bucket.
  mlir::Value biasByColumns(const Parameter &table, std::span<const int64_t> buckets);
  Expr withoutLengths(Expr bias, const ScoreAxes &axes);

  const Graph &graph;
  const InputForms forms;
  ModelBuilder &builder;
  EntryPlan plan;
  Entry entry;
  Segments rows;
  Ids columns;
  /// The columns as floats [rows, 1], for arithmetic.
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
  /// For rows that are parts of images: the number of parts per image by their symbolic size, and
  /// their segments by the number of parts.
  std::map<int64_t, int64_t> spaces;
  std::map<int64_t, mlir::Value> partsOf;
  /// The axes of grids and the row atoms that they form.
  std::vector<std::pair<Atoms, Atom>> grids;
  bool hasImages = false;
  std::optional<FixedSize> contradiction;
  /// The number of the symbolic size of a sequence.
  std::optional<int64_t> sequenceSize;
  /// The number of the total size, past included, if there are pasts.
  std::optional<int64_t> totalSize;
  /// The number of the size of a run's rows, if there are pasts.
  std::optional<int64_t> runSize;
  /// The past inputs, and whether each has been joined with the rows of this run.
  std::map<std::string, bool> pasts;
  /// Joined rows: the past, and the rows of this run with the same axes.
  struct Joined {
    std::string past;
    mlir::Value fresh;
  };
  llvm::DenseMap<mlir::Value, Joined> caches;
  std::optional<Entry> pastEntry;
  std::vector<PortTensor> described;
  Segments seen, remembered;
  /// The state of the current entry, saved for the rows of the other length.
  struct OtherRows {
    Entry entry;
    Segments rows = {}, seen = {}, remembered = {};
    mlir::Block *block = nullptr;
    std::optional<int64_t> sequenceSize = std::nullopt;
    bool areTargets = false;
  };
  std::optional<OtherRows> other;
  /// Whether the current entry is that of the targets.
  bool areTargets = false;
  /// A value and its function, which has not been emitted yet.
  using Unwritten = std::pair<mlir::Value, Expr>;
  /// Cached keys by the order of their parts.
  llvm::DenseMap<Unwritten, std::vector<std::pair<Atoms, mlir::Value>>> keptKeys;
  std::set<std::string> cacheNames;
  /// Values that are used as keys or values of targets, in this or a previous evaluation.
  llvm::DenseSet<Unwritten> keysRead;
  /// Tensors that were folded, the number of them by node, and whether formulas depend only on
  /// constants.
  std::deque<OnnxTensor> made;
  std::map<std::string, int> foldedBy;
  std::map<Expr, bool> closed;
  std::map<size_t, Parameter> parameters;
  /// The first node that produced each function of a value; the function is emitted at its first
  /// use.
  std::map<Expr, const GraphNode *> functions;
  /// Look-ups by formula and shape, each emitted once.
  std::map<std::pair<Expr, std::vector<Expr>>, Rows> looked;
  Uses found;
  int nextAtom = 1;
};

/// Repeats a number of each row `count` times along the columns.
mlir::Value sideBySide(Evaluation &evaluation, mlir::Value number, int64_t count);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_EVALUATION_H
