// SPDX-License-Identifier: Apache-2.0
///
/// Models in C++, written as primitive operations: embeddings, linear maps, contractions, softmax,
/// norms. The compiler finds fused operations. A layer reads like its paper:
///
///     const Scope self = layer.scope("attention.self");
///     const Tensor query = self.linear("query", x, width).splitHeads(heads);
///     const Tensor key = self.linear("key", x, width).splitHeads(heads);
///     const Tensor value = self.linear("value", x, width).splitHeads(heads);
///     const Tensor scores = self.contract("thd,khd->thk", query, key, rows) * scale;
///     const Tensor mixed = self.contract("thk,khd->thd", scores.softmax(rows), value, rows);
///
/// Shapes are written [t, w]: t is the number of rows of all sequences of a batch, concatenated and
/// never padded; w, h (heads) and d (head size) are constants; k are the keys of the row's own
/// sequence. Values are f32, including those that a caller passes; ids are i32.
///
/// Misuse never crashes: the model keeps the first error, values created after it are invalid,
/// operations on them do nothing, and text() and build() return that error.
///
/// Installed as heddle/ModelBuilder.h. Does not include headers of LLVM or MLIR.
#ifndef HEDDLE_FRONTEND_BUILDER_MODELBUILDER_H
#define HEDDLE_FRONTEND_BUILDER_MODELBUILDER_H

#include "dialects/Transformer/Enumerators.h"
#include "dialects/Transformer/Visibility.h"
#include "formats/Config/Generation.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
class Type;
class Value;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace heddle {

struct ModelState;
class Tensor;

/// The base of Tensor, Ids, Mask, Segments, Cache and State. Cheap to copy; valid until text() or
/// build().
class ModelValue {
public:
  ModelValue() = default;
  /// Wraps a value of the program, for operations that the builder lacks.
  ModelValue(ModelState *state, mlir::Value content);

  /// False for the result of an operation that failed.
  bool valid() const { return state != nullptr && content != nullptr; }
  /// The value in the program; null if invalid.
  mlir::Value value() const;
  ModelState *model() const { return state; }

protected:
  ModelState *state = nullptr;
  /// From mlir::Value::getAsOpaquePointer().
  void *content = nullptr;
};

/// Describes which rows of a batch form one sequence.
class Segments : public ModelValue {
public:
  using ModelValue::ModelValue;

  /// All positions of each sequence so far: those of earlier runs of the entry, then these rows.
  Segments history() const;
  /// Blocks of `size` (2 to 2^20) rows of each sequence, as rows of their own; the last block of a
  /// sequence may be shorter. Tensor::pool() creates values for them, and every operation on rows
  /// accepts them: attention may have queries of rows and keys of blocks.
  Segments blocks(int64_t size) const;
  /// The `count` (1 to 255) choices of each row, as rows of their own: those of row r start at r *
  /// count, its first choice first. Tensor::topK() creates choices.
  Segments choices(int64_t count) const;
  /// Every `down`th row as rows of their own or, for images whose rows have `across` pixels, every
  /// `down`th row of pixels and every `right`th of its columns: ceil(n / stride) of n places. If
  /// `across` is GridSize::anyWidth, callers pass the width of each image with its length. Windows
  /// create values for these rows.
  Segments strided(int64_t down, int64_t right = 1, int64_t across = 1) const;
};

/// The rows of a sequence that a convolution or pooling reads: places in a line or, with `across`,
/// the pixels of an image, row by row. Along an axis it begins (p / 2) places before its own place,
/// p = max((ceil(n / stride) - 1) * stride + (elements - 1) * dilation + 1 - n, 0).
struct Window {
  int64_t height = 1, width = 1;
  int64_t strideDown = 1, strideRight = 1;
  int64_t dilationDown = 1, dilationRight = 1;
  /// Pixels of a row of an image; GridSize::anyWidth: each image has its own.
  int64_t across = 1;
  /// The window ends at its own row.
  bool causal = false;
};

/// The rows of one tensor (keys or values) at all positions so far of every sequence. A cache
/// persists between runs of an entry.
class Cache : public ModelValue {
public:
  using ModelValue::ModelValue;

  /// Appends the rows of each sequence, [t, w]. Returns the cache to use from then on, which
  /// becomes a result of the entry.
  Cache append(const Tensor &x, const Segments &rows) const;
  /// The rows of the cache at the positions of `segments`, a history or a memory: [k, w].
  Tensor rows(const Segments &segments) const;
};

/// The contents of a state before the first run.
enum class Begins { Zero, Given };

/// A summary of all positions of a sequence so far: the sum of rows, the last rows, or the carried
/// values of a recurrence. A state persists between runs of an entry, and its size does not depend
/// on the number of positions.
class State : public ModelValue {
public:
  using ModelValue::ModelValue;

  /// The mean of all rows of the sequence up to and including each row of x; the state holds the
  /// sum of earlier runs: [t, w] to the same.
  Tensor prefixMean(const Tensor &x, const Segments &rows) const;
  /// Adds the rows of each sequence, [t, w]. Returns the state to use from then on, which becomes a
  /// result of the entry; only prefixMean() may still use the old state.
  State accumulate(const Tensor &x, const Segments &rows) const;
  /// Keeps the last rows of each sequence, [t, w], as many as fit into the state. Returns the new
  /// state, as accumulate() does; only Scope::convolve() may still use the old one.
  State keep(const Tensor &x, const Segments &rows) const;
  /// The row that store() stored in the previous run, [s, w]: zeros before the first run, or with
  /// Begins::Given the row that another entry stored in its state with the same name.
  Tensor load(Begins begins = Begins::Zero) const;
  /// The same for a state with keys, those of `memory`: [s, h, k].
  Tensor load(const Segments &memory) const;
  /// Stores a row for each sequence, [s, w], or numbers of its keys, [s, h, k], such as the carried
  /// values of a recurrence. Returns the new state, as accumulate() does; only load() may still use
  /// the old one.
  State store(const Tensor &row) const;
};

/// One integer for each row, [t].
class Ids : public ModelValue {
public:
  using ModelValue::ModelValue;
};

struct Chosen;

/// Describes which keys a query sees, [t, k].
class Mask : public ModelValue {
public:
  using ModelValue::ModelValue;

  /// A bias to add to scores, [t, k]: zero where the mask is true, `hidden` (-1e4 or less)
  /// elsewhere.
  Tensor bias(double hidden) const;
};

/// The largest integer power that is written as products; larger ones are exp(c log |x|).
inline constexpr double mostPowerProducts = 1024;

/// f32 values. An operation takes its name (see Scope) from the tensor it is called on.
class Tensor : public ModelValue {
public:
  using ModelValue::ModelValue;

  /// The sizes, -1 for t and k; empty if invalid.
  std::vector<int64_t> shape() const;
  /// The size of the last axis, -1 if it is k; 0 if invalid.
  int64_t width() const;

  /// [t, h * d] to [t, h, d].
  Tensor splitHeads(int64_t heads) const;
  /// [t, h, d] to [t, h * d].
  Tensor mergeHeads() const;
  /// [t, g, d] to [t, g * times, d]: repeats every head for the queries that share it.
  Tensor repeatHeads(int64_t times) const;
  /// Reorders the axes: axis i of the result is axis permutation[i].
  Tensor transpose(std::span<const int64_t> permutation) const;
  Tensor transpose(std::initializer_list<int64_t> permutation) const {
    return transpose(std::span(permutation.begin(), permutation.size()));
  }
  /// [t, h, k] to the same: exp(x - max) / sum over the keys of each row and head.
  Tensor softmax(const Segments &keys) const;
  /// [t, h, k] to the same: x / sum over the keys of each row and head.
  Tensor divideBySum(const Segments &keys) const;
  /// [t, h, k]: the score where the mask is true, `hidden` (-1e4 or less, or minus infinity)
  /// elsewhere.
  Tensor select(const Mask &mask, double hidden) const;
  /// Any shape: a scalar function of every element.
  Tensor activate(transformer::Activation function) const;
  /// [t, w] to [t, count]: the columns from `first` on.
  Tensor columns(int64_t first, int64_t count) const;
  /// The elements of a window, concatenated: [t, w] to [t, elements * w]; a linear map of the
  /// result is a convolution over all channels. With `groups`, the elements of each part of the
  /// columns are adjacent. The result's rows are `to`, if the window has strides. `before` holds
  /// the rows of earlier runs, for a causal window over a line: see State::keep().
  Tensor patches(const Window &window, const Segments &rows, const Segments &to = {},
                 int64_t groups = 1, const State &before = {}) const;
  /// The maximum of each column in a window. Places outside the sequence are ignored; a causal
  /// window reads zeros there.
  Tensor largest(const Window &window, const Segments &rows, const Segments &to = {}) const;
  /// [t, w] to [s, w], one row for each of the s sequences.
  Tensor pool(transformer::Pooling method, const Segments &rows) const;
  /// [t, w] to [b, w], one row for each of the b blocks, which are blocks of `rows`; or [c, w] to
  /// [t, w], one row for each that made the choices `rows`.
  Tensor pool(transformer::Pooling method, const Segments &rows, const Segments &blocks) const;
  /// [s, w] to [t, w]: the row of each sequence at every row of it.
  Tensor spread(const Segments &rows) const;
  /// [t, w] and the keys [k, w] of each row to [t, k, w]: the sums of both.
  Tensor pairSum(const Tensor &keys, const Segments &rows, const Segments &keySegments) const;
  /// [t, w]: the `choices` largest columns of each row in descending order; ties go to the lower
  /// column. NaN is larger than any number.
  Chosen topK(const Segments &choices) const;
  /// [t, w] to [c, w]: each row once for every choice of it.
  Tensor repeat(const Segments &choices) const;
  /// [t, count * w] to [c, w]: equal parts of the columns of each row as its choices.
  Tensor splitRows(const Segments &choices) const;
  /// [c, w] to [t, count * w]: the choices of each row side by side. Between splitRows() and this,
  /// heads are rows of their own.
  Tensor joinRows(const Segments &choices) const;
  /// [t, count] to [t, columns]: the values of a row in the columns that it chose by topK(), and
  /// zero elsewhere.
  Tensor placeColumns(const Ids &chosen, int64_t columns) const;
  /// [t, w]: exp(x - max) / sum over the columns of each row.
  Tensor rowSoftmax() const;
  /// [t, w] or [s, w]: each row divided by its Euclidean length, or by epsilon if that is larger.
  Tensor normalize(double epsilon) const;

  /// Any shape: the element-wise sum. The right side has the shape of the left, or is a weight with
  /// its trailing axes, or a mask's bias [t, k] added to scores [t, h, k].
  Tensor operator+(const Tensor &right) const;
  /// Any shape: the element-wise product. The right side has the shape of the left, or is a weight
  /// with its trailing axes, a weight of one number [1], or one number for each row, [t, 1].
  Tensor operator*(const Tensor &right) const;
  /// Any shape: every element times a number, or plus one.
  Tensor operator*(double factor) const;
  Tensor operator+(double number) const;
  /// Any shape: the element-wise difference, quotient, minimum or maximum. The right side may have
  /// the same shapes as that of a product.
  Tensor combine(transformer::Combination function, const Tensor &right) const;
  Tensor operator-(const Tensor &right) const;
  Tensor operator/(const Tensor &right) const;
  /// Any shape: every element clamped to bounds, which may be infinite.
  Tensor clamp(double least, double most) const;
  /// Any shape: every element to a power, as products and roots if these suffice. Integer powers of
  /// negative numbers are defined for any exponent.
  Tensor power(double exponent) const;
  /// [t, w] to [t, 1]: the mean, sum, largest or smallest of the columns of each row.
  Tensor reduce(transformer::Reduction method) const;
};

/// The result of Tensor::topK(): the columns, [c], and their values, [t, count].
struct Chosen {
  Ids column;
  Tensor value;
};

/// A weight: a tensor of the checkpoint, or one that is derived from other weights.
class Parameter {
public:
  Parameter() = default;
  Parameter(ModelState *state, std::string name, std::vector<int64_t> shape)
      : state(state), name(std::move(name)), sizes(std::move(shape)) {}

  /// The symbol, which for a tensor of the checkpoint is its name there; empty if invalid.
  const std::string &symbol() const { return name; }
  const std::vector<int64_t> &shape() const { return sizes; }
  bool valid() const { return state != nullptr; }
  ModelState *model() const { return state; }

private:
  ModelState *state = nullptr;
  std::string name;
  std::vector<int64_t> sizes;
};

/// The names of the two parameters of a layer norm in a checkpoint.
struct NormNames {
  std::string_view weight = "weight";
  std::string_view bias = "bias";
};

/// A table of sines and cosines ("Attention is all you need", section 3.5): those of
/// (first + position) * 10000^(-i / steps).
struct Sinusoid {
  /// Sines in the first half of the columns and cosines in the second, instead of alternating.
  bool split = false;
  int64_t first = 0;
  /// 0 means half of the width, as in the paper.
  int64_t steps = 0;
};

/// Whether a linear map has a bias.
enum class Bias { No, Yes };

/// How a convolution goes over the rows of a sequence.
struct Convolution {
  /// Rows from one element of the kernel to the next.
  int64_t dilation = 1;
  /// The last element of the kernel is at the row itself, instead of the middle one.
  bool causal = false;
  Bias bias = Bias::No;
};

/// The carried values and results of a recurrence: of one step, or of all.
struct Recurrence {
  /// The values for the next step; after the last step a row for each sequence, [s, w].
  std::vector<Tensor> carried;
  /// Further results of the step; for all steps rows of the inputs, [t, w].
  std::vector<Tensor> given;
};

/// The start and direction of a recurrence.
struct RecurrenceOptions {
  /// From the last row of a sequence to the first.
  bool reversed = false;
  /// The initial carried values, [s, w] or [s, h, k]; empty: zeros.
  std::vector<Tensor> initial = {};
};

/// A prefix of checkpoint names, "encoder.layer.0". Operations with parameters are named after the
/// parameters' common prefix, "encoder.layer.0.output.dense", others after the scope; the name is
/// the operation's location and what errors and reports call it.
///
/// A parameter is declared by its first use. Another use of the same name refers to the same
/// parameter; with another shape it is an error.
class Scope {
public:
  Scope(ModelState *state, std::string name) : state(state), prefix(std::move(name)) {}

  /// The scope of that name below this one; dots are allowed.
  Scope scope(std::string_view name) const;
  /// The scope of one of several numbered layers.
  Scope scope(std::string_view name, int64_t index) const;
  /// The full name; empty at the root.
  const std::string &name() const { return prefix; }

  /// The parameter of that name, of rank 1 to 4.
  Parameter parameter(std::string_view name, std::span<const int64_t> shape) const;
  Parameter parameter(std::string_view name, std::initializer_list<int64_t> shape) const {
    return parameter(name, std::span(shape.begin(), shape.size()));
  }

  /// A table [positions, width] of sinusoids.
  Parameter sinusoid(std::string_view name, int64_t positions, int64_t width,
                     const Sinusoid &options = {}) const;
  /// T5's table [buckets, heads] spread to [heads, 2 * distance + 1], for relativeBias().
  Parameter relativeBuckets(std::string_view name, const Parameter &table, bool bidirectional,
                            int64_t distance) const;
  /// A table [rows, width] of ones from row `first` on, and zeros before it.
  Parameter onesFrom(std::string_view name, int64_t first, int64_t rows, int64_t width) const;
  /// The same elements in another shape.
  Parameter reshape(std::string_view name, const Parameter &parameter,
                    std::initializer_list<int64_t> shape) const;
  /// Parameters concatenated along the first axis: the weights of experts, for example.
  Parameter concat(std::string_view name, std::span<const Parameter> parts) const;
  /// Matrices concatenated along the second axis.
  Parameter concatColumns(std::string_view name, std::span<const Parameter> parts) const;
  Parameter zeros(std::string_view name, std::initializer_list<int64_t> shape) const;
  /// The element-wise sum of parameters of one shape.
  Parameter sum(std::string_view name, std::span<const Parameter> parts) const;
  /// Every element times a number.
  Parameter scaled(std::string_view name, const Parameter &parameter, double factor) const;
  /// A matrix [m, k] times another, [k, n]: [m, n].
  Parameter product(std::string_view name, const Parameter &left, const Parameter &right) const;
  /// A matrix [n, m] with its axes swapped: [m, n].
  Parameter transposed(std::string_view name, const Parameter &parameter) const;
  /// `count` rows along the first axis, starting at `first`.
  Parameter rows(std::string_view name, const Parameter &parameter, int64_t first,
                 int64_t count) const;
  /// `count` columns of a matrix, starting at `first`.
  Parameter columns(std::string_view name, const Parameter &parameter, int64_t first,
                    int64_t count) const;

  /// The row of the table `name`.weight [size, width] for each id: [t] to [t, width].
  Tensor gather(std::string_view name, const Ids &ids, int64_t size, int64_t width) const;
  Tensor gather(const Parameter &table, const Ids &ids) const;

  /// x W^T + b with `name`.weight [width, w] and `name`.bias [width]: [t, w] to [t, width].
  Tensor linear(std::string_view name, const Tensor &x, int64_t width, Bias bias = Bias::Yes) const;
  /// The same with given parameters, for example a tied table. There is no bias if `bias` is
  /// invalid.
  Tensor linear(const Tensor &x, const Parameter &weight, const Parameter &bias = {}) const;

  /// The linear map that each row has chosen of `maps`: row c of x times the rows from chosen[c] *
  /// width on of a weight [maps * width, w], the concat() of the maps' weights, and likewise for a
  /// bias. `chosen` are choices of topK(), for rows of choices, or an input, for the rows of the
  /// entry: [c, w] to [c, width]. The cost does not depend on the number of maps.
  Tensor chosenLinear(const Tensor &x, const Ids &chosen, int64_t maps, const Parameter &weight,
                      const Parameter &bias = {}) const;

  /// A depthwise convolution over the rows of each sequence, zero outside it: column c of row p is
  /// the sum over j of weight[c, j] * x[p + (j - center) * dilation, c], with `name`.weight [w,
  /// kernel] and optionally `name`.bias [w]: [t, w] to the same.
  Tensor convolve(std::string_view name, const Tensor &x, int64_t kernel, const Segments &rows,
                  const Convolution &options = {}) const {
    return convolve(name, x, kernel, rows, State(), options);
  }
  /// The same, causal, continuing earlier runs: before.keep(x, rows) stores their last rows in a
  /// state of (kernel - 1) * dilation rows.
  Tensor convolve(std::string_view name, const Tensor &x, int64_t kernel, const Segments &rows,
                  const State &before, const Convolution &options) const;

  /// A convolution over the keys of each row, zero outside them: column c at key k is the sum over
  /// h and j of weight[c, h, j] * x[h, k + j - (n - 1) / 2], with a weight [w, h, n], n odd: [t, h,
  /// k] to [t, k, w].
  Tensor convolveKeys(const Tensor &x, const Parameter &weight, const Segments &rows,
                      const Segments &keys) const;

  /// Runs `step` once per row of each sequence, in order. It receives one row of the inputs, [t,
  /// w], and the carried values of the previous step, with the widths `carried`. It may use these,
  /// parameters, and attention from them, as `rows`, to the keys of a memory. A carried value with
  /// initial value [s, h, k] has numbers of keys, with h = `carried`.
  ///
  ///     const Recurrence h = scope.recurrence({x}, {width}, rows, [&](auto now, auto before) {
  ///       const Tensor next = (scope.linear("input", now[0], width) +
  ///                            scope.linear("hidden", before[0], width, Bias::No)).activate(tanh);
  ///       return Recurrence{{next}, {next}};
  ///     });
  Recurrence recurrence(std::vector<Tensor> inputs, std::vector<int64_t> carried,
                        const Segments &rows,
                        const std::function<Recurrence(std::span<const Tensor> now,
                                                       std::span<const Tensor> before)> &step,
                        const RecurrenceOptions &options = {}) const;

  /// Concatenated columns: rows [t, w] each, to [t, sum of the widths].
  Tensor concat(std::vector<Tensor> rows) const;

  /// A depthwise convolution with strides or over images: column c is the sum over the window's
  /// elements j of weight[c, j] times column c of element j, with a weight [w, elements]. Rows and
  /// `before` are those of Tensor::patches().
  Tensor convolve(const Tensor &x, const Parameter &weight, const Window &window,
                  const Segments &rows, const Segments &to = {}, const State &before = {}) const;
  /// The matrix [n, elements * w] that multiplies patches, from `weight`, [n, w, height, width];
  /// derived parameters are named `name`.
  Parameter patchMatrix(std::string_view name, const Parameter &weight) const;

  /// (x - mean) / sqrt(variance + epsilon) * weight + bias over each row, with `name`.weight [w]
  /// and `name`.bias [w]: [t, w] to the same.
  Tensor layerNorm(std::string_view name, const Tensor &x, double epsilon,
                   NormNames names = {}) const;
  /// The same with given parameters.
  Tensor layerNorm(const Tensor &x, const Parameter &weight, const Parameter &bias,
                   double epsilon) const;

  /// x / sqrt(mean of x^2 + epsilon) * weight over each row, with `name`.weight [w]: [t, w] to the
  /// same.
  Tensor rmsNorm(std::string_view name, const Tensor &x, double epsilon) const;
  /// The same with a given weight.
  Tensor rmsNorm(const Tensor &x, const Parameter &weight, double epsilon) const;

  /// A bias to add to scores, [t, heads, k]: one number for each head and each distance of a key
  /// from its query, from a table [heads, 2 * distance + 1].
  Tensor relativeBias(const Parameter &table, const Segments &queries, const Segments &keys) const;

  /// An Einstein summation, one letter for each axis: sums products over the axes that the result
  /// lacks. `t` are rows of queries and `k` the keys of the row's own sequence; all other letters
  /// have constant sizes.
  Tensor contract(std::string_view axes, const Tensor &left, const Tensor &right,
                  const Segments &queries, const Segments &keys) const;
  /// The same with queries and keys from the same rows.
  Tensor contract(std::string_view axes, const Tensor &left, const Tensor &right,
                  const Segments &rows) const {
    return contract(axes, left, right, rows, rows);
  }
  /// The same without an axis `k`.
  Tensor contract(std::string_view axes, const Tensor &left, const Tensor &right) const {
    return contract(axes, left, right, Segments(), Segments());
  }

  /// The position of each row in its sequence, [t]. It counts from `offset` and includes the rows
  /// of earlier runs.
  Ids positions(const Segments &rows, int64_t offset = 0) const;
  /// The position of each row, from 0, times each of 1 to 1024 frequencies: [t, frequencies].
  /// `most` > 0 limits the number of rows of a sequence.
  Tensor angles(const Segments &rows, std::span<const float> frequencies, int64_t most = 0) const;
  /// The keys of its own sequence that each query sees: [t, k]. A predicate on positions:
  /// `causal()`, `window(256)`, `band(128, 0)`, `blocks(64, 64, 0)` of Visibility, or any bounds in
  /// which every query sees itself. Several masks in sequence hide a key if any of them does;
  /// attention neither reads nor computes keys that all of them hide with minus infinity.
  Mask mask(const transformer::Visibility &visibility, const Segments &queries,
            const Segments &keys) const;

private:
  std::string join(std::string_view name) const;
  Parameter derive(std::string_view name, transformer::ExpressionKind kind,
                   std::span<const Parameter *const> operands,
                   std::initializer_list<int64_t> numbers, std::vector<int64_t> shape,
                   std::optional<double> factor = std::nullopt) const;
  Parameter derive(std::string_view name, transformer::ExpressionKind kind,
                   std::initializer_list<const Parameter *> operands,
                   std::initializer_list<int64_t> numbers, std::vector<int64_t> shape) const;

  ModelState *state;
  std::string prefix;
};

/// A function of the model that programs can call. Inputs and outputs keep the order of their
/// declaration.
class Entry {
public:
  Entry(ModelState *model, size_t index) : model(model), index(index) {}

  /// One integer for each row, [t].
  Ids input(std::string_view name);
  /// Rows of f32 that a caller passes, [t, width]: pixels, spectra, features.
  Tensor input(std::string_view name, int64_t width);
  /// The same; zeros if the caller omits it.
  Ids optionalInput(std::string_view name);
  Tensor optionalInput(std::string_view name, int64_t width);
  /// Sets the padding of an input in files whose tensors have one size for all sequences: this
  /// token or, for rows of floats, zeros (0), in which case the file has lengths.
  void pad(std::string_view input, int32_t token);
  /// Declares that all ids of an input are less than `most`; tables that they look up may have
  /// fewer rows.
  void limit(std::string_view input, int32_t most);
  /// Which rows of the inputs form one sequence.
  Segments segments() const;
  /// The rows that one run of another entry stored in caches: a memory, such as the source of a
  /// translation.
  Segments memory(std::string_view name);
  /// The cache of that name, with rows of `width`. Entries that use the same name share the cache.
  Cache cache(std::string_view name, int64_t width);
  /// The state of that name, of `width`. It is zero before the first run of a sequence.
  State state(std::string_view name, int64_t width);
  /// The same with `heads` numbers for each key of the memory of a sequence.
  State keyedState(std::string_view name, int64_t heads);
  /// The value of a parameter, for operations other than linear() and gather().
  Tensor weight(const Parameter &parameter) const;
  /// Names a result: [t, w], [s, w] or [b, w] if it was pooled, or [t, h, k].
  void output(std::string_view name, const Tensor &result);

private:
  Ids addIds(std::string_view name, bool optional);
  Tensor addRows(std::string_view name, int64_t width, bool optional);
  mlir::Value addInput(std::string_view name, bool optional, mlir::Type type);
  mlir::Value addKept(std::string_view kind, std::string_view name, int64_t width,
                      bool keyed = false);

  ModelState *model;
  size_t index;
};

/// Owns a model under construction. Move-only; for one thread at a time. Scopes, entries and values
/// must not outlive it.
class ModelBuilder {
public:
  /// Starts an empty model. `modelType` is its name in `heddle info`, for example "bert".
  explicit ModelBuilder(std::string_view modelType);
  /// The same in a context that the caller owns and that must outlive the model.
  ModelBuilder(mlir::MLIRContext &context, std::string_view modelType);
  ModelBuilder(ModelBuilder &&) noexcept;
  ModelBuilder &operator=(ModelBuilder &&) noexcept;
  ~ModelBuilder();

  /// The scope of all names that begin with `name`; the root without one.
  Scope scope(std::string_view name = {});
  /// Starts an entry. Several may be under construction at once, but each value belongs to one of
  /// them.
  Entry entry(std::string_view name);

  /// Sets the defaults of generation, which callers can override.
  void generation(const Generation &settings);

  /// The tensors that a checkpoint of this model must have, in the order of their first use.
  std::vector<Parameter> parameters() const;

  /// The first error so far.
  Status status() const;
  /// Finishes the model, verifies it and returns its program for compile() of heddle/Compile.h.
  /// Call either this or build(), once.
  Result<std::string> text();
  /// The same as a module, for programs that use MLIR.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build();

private:
  ModelBuilder(std::unique_ptr<mlir::MLIRContext> context, std::string_view modelType);

  std::unique_ptr<ModelState> state;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_BUILDER_MODELBUILDER_H
