// SPDX-License-Identifier: Apache-2.0
///
/// The C++ interface (C++20): load a compiled model, make a session per thread, run its entries.
///
///   HEDDLE_ASSIGN(heddle::Model model, heddle::Model::load("minilm.so"));
///   HEDDLE_ASSIGN(heddle::Session session, heddle::Session::create(model, {.threads = 2}));
///   HEDDLE_TRY(session.embed(texts, embeddings));
///
/// Shapes. A batch is ragged: the rows of its sequences are stored one after another, without
/// padding. `tokens` is the number of rows of the whole batch, `sequences` the number of its
/// sequences, `longest` the number of rows of its longest sequence. Rows may also be derived from
/// tokens, for example as blocks of two (heddle/RowSpace.h). All tensors are dense and row-major.
///
/// Threads. A Model is immutable and may be used by any number of threads at once. A Session may be
/// used by only one thread at a time; it may use several threads itself (SessionOptions).
///
/// Determinism. The bits of a sequence's result depend neither on the rest of the batch nor on the
/// number of threads.
///
/// Errors. Every call that can fail returns a Status or Result; nothing throws, exits or aborts.
/// After a failure, outputs may be partly written and the session stays usable. Running out of
/// memory is ResourceExhausted.
///
/// Loading a model maps executable code: load a file only if you trust it as a shared library.
#ifndef HEDDLE_SESSION_H
#define HEDDLE_SESSION_H

#include "heddle/Arithmetic.h"
#include "heddle/AttentionKind.h"
#include "heddle/ElementType.h"
#include "heddle/Export.h"
#include "heddle/LaunchUse.h"
#include "heddle/Problem.h"
#include "heddle/RowSpace.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What an output observes: nothing (an ordinary output), or the probabilities of an attention of
/// this kind.
using Observed = AttentionKind;

/// One input or output of an entry.
struct PortInfo {
  std::string name;
  ElementType element = ElementType::F32;
  /// Constants, or dimensions that depend on the batch: tokensDimension, sequencesDimension,
  /// longestDimension or others of heddle/RowSpace.h. The first counts rows.
  std::vector<int64_t> shape;
  /// Inputs of ids, i32 [tokens]: the ids lie in [0, limit). Inputs of floats, f32 [tokens, width],
  /// and outputs: 0.
  int64_t limit = 0;
  /// Inputs: whether the input may be omitted, which means all zeros.
  bool optional = false;
  Observed observed = Observed::No;
  /// Inputs: the value that pads shorter sequences in tensors of files: this token or, for floats,
  /// zeros, in which case the lengths of the sequences are given separately.
  std::optional<int32_t> pad = std::nullopt;
  /// The axes of the tensor in files if they are others than sequences, rows and columns: the sizes
  /// of those that form a row, in the order of its columns, and numbers of
  /// heddle/RectangleEntries.h for the others. Empty otherwise.
  std::vector<int64_t> axes = {};
  /// Inputs: the number of rows that a sequence must have; 0 means any.
  int64_t rows = 0;
  /// Outputs: the input of another entry whose rows precede these in the tensor; empty: none.
  std::string after = "";

  /// Returns the number of rows that a sequence of `tokens` tokens has here: as many, one, or for
  /// example half as many where each row is a block of two tokens. `width` is the width of the
  /// image in pixels, if EntryInfo::hasWidths.
  int64_t rowsOf(int64_t tokens, int64_t width = 0) const {
    const std::optional<RowSpace> space = rowSpaceOf(shape.front());
    return space ? space->rowsOf(tokens, width) : 0;
  }
  /// Returns the number of rows of a batch, which are stored in the order of its sequences.
  int64_t rowsOf(std::span<const int32_t> lengths, std::span<const int32_t> widths = {}) const {
    const std::optional<RowSpace> space = rowSpaceOf(shape.front());
    return space ? SequenceSizes{lengths, widths}.rowsIn(*space) : 0;
  }
};

/// A cache or a state that an entry reads. A cache holds values computed for earlier positions by
/// this entry or another one; a state holds their sum.
struct CacheInfo {
  /// The name by which entries share caches and states.
  std::string name;
  /// The number of elements for one position, or for the state of one sequence, and their type. For
  /// a quantised cache (I8) it counts bytes: the codes of a position and their scales.
  int64_t width = 0;
  ElementType element = ElementType::F32;
  /// Whether this entry appends rows (to a cache) or adds them (to a state).
  bool written = false;
  /// Whether blocks are stored [width][positions], as attention reads keys, instead of
  /// [positions][width].
  bool transposed = false;
  /// Whether this is a state: one row for each sequence, whatever its number of positions.
  bool state = false;
  /// Whether the state has `width` elements for each key of the source instead.
  bool keyed = false;
  /// The row space of the rows that are appended to a cache: tokens, or rows derived from them.
  RowSpace rows = RowSpace::tokens();
};

/// The maximum number of rows that a sequence may have in a row space.
struct RowLimit {
  RowSpace rows = RowSpace::tokens();
  int64_t most = 0;
};

/// One function of a model: "encode", "embed", ...
struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  /// Outputs that expose intermediate values of the model, in the order of its layers. Each is
  /// [tokens, heads, longest]: the probabilities of the keys of a row's own sequence, then zeros.
  /// They can be requested like other outputs and cost nothing otherwise. The numbers below do not
  /// include them.
  std::vector<PortInfo> observed = {};
  /// If not empty, the entry is run by a decoder, not by Session::run().
  std::vector<CacheInfo> caches;
  /// The maximum length of a sequence, in tokens; 0 means unlimited.
  int64_t maxLength = 0;
  /// The length of every sequence must be a multiple of this, for example of an image's width.
  int64_t lengthMultiple = 1;
  /// Whether sequences are images of any width, whose widths are given along with their lengths.
  bool hasWidths = false;
  /// The limits that the model's positions set on such images.
  std::vector<RowLimit> rowLimits = {};
  /// Bounds of the working memory of a batch, in bytes: perToken * tokens + perSequence * sequences
  /// + perTokenAndLongest * tokens * longest, exact unless the entry has derived rows.
  uint64_t arenaBytesPerToken = 0;
  uint64_t arenaBytesPerSequence = 0;
  uint64_t arenaBytesPerTokenAndLongest = 0;
  /// The number of dispatches of the graph; those that only `observed` needs are counted
  /// separately.
  int64_t dispatches = 0;
  int64_t observedDispatches = 0;
  /// Floating-point operations per token, and per token and key of its sequence.
  uint64_t flopsPerToken = 0;
  uint64_t flopsPerTokenAndKey = 0;
  /// The same, for each key, where a token attends to at most `keys` keys, as in a sliding window.
  struct BoundedKeys {
    uint64_t keys = 0;
    uint64_t flopsPerTokenAndKey = 0;
  };
  std::vector<BoundedKeys> bounded = {};
  /// Whether a step on a GPU can select the best tokens there, so that logits need not be copied.
  bool selects = false;

  /// Returns the number of floating-point operations of a batch if all `outputs` are requested.
  HEDDLE_API double flops(std::span<const int32_t> lengths) const;
};

/// Layers that are compiled in another precision than the rest of the model.
struct KeptLayersInfo {
  /// The pattern that the names of their tensors match, and their precision.
  std::string layers;
  std::string precision;
  /// The number of their matrices and tables in the checkpoint, and the bytes that these take.
  int64_t tensors = 0;
  int64_t bytes = 0;
};

/// The languages of a model that translates between several.
struct LanguagesInfo {
  /// Their names, in ascending order, and the tokens that stand for them.
  std::vector<std::string> names;
  std::vector<int32_t> tokens;
  /// Whether the language token of a source is its last token, not its first.
  bool endsSource = false;
  /// Whether the language token of a target is its start token, not the forced first token of an
  /// answer.
  bool startsTarget = false;
  /// The default languages of sources and targets; empty: none.
  std::string source;
  std::string target;
};

/// The classifier of a model: its entry "classify" has an output "logits" with a column for each
/// label, and a row for each sequence or token.
struct ClassifierInfo {
  std::vector<std::string> labels;
  Problem problem = Problem::SingleLabel;
};

/// Two texts as one sequence, as cross-encoders read them, and the token types of both.
struct TokenPair {
  std::vector<int32_t> ids;
  std::vector<int32_t> typeIds;
};

/// One stored tensor of a model.
struct ParameterInfo {
  std::string name;
  ElementType element = ElementType::F32;
  std::vector<int64_t> shape;
  /// The size in bytes, and the offset in the weights section.
  uint64_t size = 0;
  uint64_t offset = 0;
};

/// Options of Model::load().
struct ModelOptions {
  /// The target to run: one of the file's, for example "x86-64-v3". Empty for the best one that
  /// the device supports.
  std::string isa = "";
  /// Whether load() also compares every parameter and device image with its checksum, which reads
  /// the whole file.
  bool verifyWeights = false;
  /// Whether load() reads only the description, as `heddle info` and `heddle verify` do: it checks
  /// everything but maps no executable code, no session can be created, and the CPU need not
  /// support any target.
  bool describeOnly = false;
  /// The device: "cpu" (or empty); "cuda" for the first GPU; "cuda:1" for the second one; "auto"
  /// for the first GPU if there is one and the file has a target for it, and otherwise the CPU. The
  /// error is NotFound if the device does not exist.
  std::string device = "";
};

/// A compiled model, mapped from its file. Immutable; copies share one mapping, which lives as long
/// as any copy or any session created from it.
class HEDDLE_API Model {
public:
  /// Maps and validates the file. If it is rejected, none of its code has run.
  static Result<Model> load(const std::string &path, const ModelOptions &options = {});

  Model(const Model &other);
  Model(Model &&other) noexcept;
  Model &operator=(const Model &other);
  Model &operator=(Model &&other) noexcept;
  ~Model();

  /// Returns the path that the model was loaded from.
  const std::string &path() const;
  /// Returns the size of the whole file in bytes.
  uint64_t fileSize() const;
  /// Returns the entries of the model, in the order of the file.
  const std::vector<EntryInfo> &entries() const;
  /// Returns the entry called `name`, or null.
  const EntryInfo *findEntry(std::string_view name) const;
  /// Returns the stored tensors.
  const std::vector<ParameterInfo> &parameters() const;
  /// Returns the size of the weights section in bytes.
  uint64_t weightsSize() const;
  /// Return the targets compiled into the file, and the one that runs (empty if describeOnly).
  const std::vector<std::string> &targets() const;
  std::string_view isa() const;
  /// Returns the device that the model runs on: "cpu", "cuda:0". Empty if describeOnly.
  std::string_view device() const;
  /// Returns the precision of all weights and of products with them, except those of keptLayers():
  /// a value of `heddlec --precision`, for example "f32".
  std::string_view precision() const;
  /// Returns the element type of the caches, for example "bf16"; all types if they differ ("f32,
  /// bf16"); "none" for a model without caches. States are f32.
  std::string_view cachePrecision() const;
  /// Returns the layers that were compiled in another precision (`heddlec --keep`).
  const std::vector<KeptLayersInfo> &keptLayers() const;
  /// Returns the languages that the model translates between, if it has tokens for them.
  const std::optional<LanguagesInfo> &languages() const;
  /// Returns the model's classifier, if it has one.
  const std::optional<ClassifierInfo> &classifier() const;
  /// Returns model_type of the model's configuration, for example "bert".
  std::string_view modelType() const;
  /// Returns the name and version of the compiler that wrote the file.
  std::string_view producer() const;
  /// Returns the XXH3-128 hash of the source model's files, in hexadecimal.
  std::string_view sourceHash() const;
  /// Returns the candidates that optimisation passes accepted and rejected, one per line.
  const std::vector<std::string> &reportSummary() const;
  /// Compares every parameter and image with its checksum. DataLoss names the first damaged one.
  Status verifyWeights() const;

  /// Returns the names of the model's chat templates; empty if it has none.
  const std::vector<std::string> &chatTemplates() const;
  /// Renders a chat template over a conversation and returns the prompt, with its special tokens:
  /// Generator::encodeTarget() encodes it. `conversation` is a JSON object with "messages", each an
  /// object with "role" and "content", and optionally "tools", "documents", "add_generation_prompt"
  /// (true if absent) and other variables of the template. If `templateName` is empty, the template
  /// is "tool_use" if the conversation has tools and the model has that template, and otherwise
  /// "default". Unsupported if the model has no templates; InvalidArgument if the template raises
  /// an error.
  Result<std::string> chatPrompt(std::string_view conversation,
                                 std::string_view templateName = {}) const;

  /// Returns whether the file has a tokenizer, which tokenize() and Session::embed() require.
  bool hasTokenizer() const;
  /// Returns the ids of a UTF-8 text, with the special tokens of its template, truncated to the
  /// model's limit, and to `most` tokens unless that is 0.
  Result<std::vector<int32_t>> tokenize(std::string_view text, int64_t most = 0) const;
  /// As tokenize(), for two texts in the template for pairs. The longer text is truncated first.
  Result<TokenPair> tokenizePair(std::string_view first, std::string_view second,
                                 int64_t most = 0) const;
  /// Returns the text of each id by itself, in the vocabulary of sources or in that of generated
  /// tokens. Special tokens, and tokens without a text of their own such as parts of a character,
  /// are spelt as in the vocabulary.
  Result<std::vector<std::string>> textOfEach(std::span<const int32_t> ids,
                                              bool isGenerated = false) const;

private:
  friend class Executor;
  friend class Session;
  friend class Generator;
  friend class PagedDecoder;
  friend class LinkedEntries;
  struct HEDDLE_LOCAL State;
  explicit Model(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state;
};

/// How the threads of a session share the work of a run. All schedules give bitwise equal results.
enum class Schedule : uint8_t {
  /// Chooses a schedule according to the batch.
  Automatic,
  /// Every thread runs whole sequences through the whole graph, without waiting for the others.
  Chunked,
  /// All threads share the work of every dispatch, or each runs a loop: for few, long sequences.
  Cooperative,
};

/// Options of a Session.
struct SessionOptions {
  /// The number of threads that compute, including the calling one; 1 starts none.
  int threads = 1;
  /// For experiments: the number of tokens in a chunk of sequences that passes through the graph
  /// together. 0 chooses a size that keeps the activations in the second-level cache.
  int64_t chunkTokens = 0;
  Schedule schedule = Schedule::Automatic;
  /// The limit on the memory for caches and states of generation, in bytes. Caches grow with every
  /// token; states do not. Memory is committed only as they fill. A call that would exceed the
  /// limit fails with ResourceExhausted and changes nothing.
  uint64_t cacheBytes = uint64_t(1) << 30;
  /// Whether, if the model allows it, texts that begin with the same tokens share the cache entries
  /// of these, which are computed once. The entries stay after the texts end, in memory that is not
  /// needed otherwise.
  bool sharePrefixes = true;
  /// Whether to accumulate the time of every dispatch (Session::profile), at the cost of two clock
  /// reads each.
  bool profile = false;
  /// With `profile`: the number of single runs of dispatches that each thread records
  /// (Session::trace), at 64 bytes each.
  int64_t traceRuns = 0;
};

/// The values of one input for all sequences, one after another, according to PortInfo::shape: ids,
/// [tokens], or rows of floats, [tokens, width]. NaN and infinity are allowed.
struct Input {
  Input(std::string_view name, std::span<const int32_t> ids)
      : name(name), element(ElementType::I32), bytes(std::as_bytes(ids)) {}
  Input(std::string_view name, std::span<const float> rows)
      : name(name), element(ElementType::F32), bytes(std::as_bytes(rows)) {}

  std::string_view name;
  ElementType element;
  std::span<const std::byte> bytes;
};

/// The memory for one output, [rows, width] according to PortInfo::shape and rowsOf().
/// longestDimension is the length of the longest sequence of the run.
struct Output {
  std::string_view name;
  std::span<float> values;
};

/// The cost of one dispatch since the session was created or resetProfile() was called.
struct DispatchProfile {
  std::string entry;
  /// The name in the checkpoint of the layer or tensor that it computes.
  std::string name;
  /// The function that computes it.
  std::string kernel;
  /// The number of runs. A batch of several chunks counts once for each chunk.
  uint64_t calls = 0;
  /// Seconds, summed over all threads.
  double seconds = 0;
  /// The number of floating-point operations.
  double flops = 0;
  /// The bytes of weights and cached positions that are needed, counted once for each call and each
  /// segment that sees the same positions. Repeated reads from the processor's caches do not count.
  double weightBytes = 0;
  double cacheBytes = 0;
  /// Where each row chooses one of several groups of weights, such as experts: the number of rows
  /// that chose each group. Empty otherwise, and on a GPU.
  std::vector<uint64_t> groupRows = {};
  /// The operand type of its products.
  Arithmetic arithmetic = Arithmetic::F32;
};

/// One run of a dispatch, or of one thread's part of it.
struct DispatchRun {
  /// Its index in profile().
  size_t dispatch = 0;
  /// The index of the thread; 0 is the calling thread.
  int thread = 0;
  /// Seconds since the creation of the session or the last resetProfile().
  double start = 0;
  double seconds = 0;
  /// The totals of the whole dispatch, even if several threads share it.
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;
};

/// Runs the entries of a model. May be used by only one thread at a time. Keeps its working memory
/// between runs: a run no larger than an earlier one allocates nothing.
class HEDDLE_API Session {
public:
  static Result<Session> create(const Model &model, const SessionOptions &options = {});

  Session(Session &&other) noexcept;
  Session &operator=(Session &&other) noexcept;
  ~Session();

  /// Returns the model that the session runs.
  const Model &model() const;

  /// Runs `entry` over a batch of lengths.size() sequences with lengths[i] > 0 tokens each. An
  /// empty batch does nothing. Every input that is not optional must be given, with sum(lengths)
  /// ids or rows. Only the named outputs are computed. If EntryInfo::hasWidths, sequence i is an
  /// image of lengths[i] pixels in row-major order that is widths[i] pixels wide.
  Status run(std::string_view entry, std::span<const int32_t> lengths,
             std::span<const Input> inputs, std::span<const Output> outputs,
             std::span<const int32_t> widths = {});

  /// Tokenises every text and runs the entry "embed"; `embeddings` is [texts, embeddingWidth].
  Status embed(std::span<const std::string_view> texts, std::span<float> embeddings);

  /// Returns the number of floats in one embedding; NotFound if the model has no entry "embed".
  Result<int64_t> embeddingWidth() const;

  /// Returns one record for each dispatch that has run, in graph order; empty without
  /// SessionOptions::profile.
  std::vector<DispatchProfile> profile() const;
  /// Returns single runs, thread by thread in order of time; empty without
  /// SessionOptions::traceRuns.
  std::vector<DispatchRun> trace() const;
  void resetProfile();
  /// Returns what the runs so far have told a device, with or without a profile.
  LaunchUse launchUse() const;

private:
  struct HEDDLE_LOCAL State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Returns the targets that this CPU supports, best first, for example {"x86-64-v4", "x86-64-v3"}.
HEDDLE_API std::vector<std::string> machineTargets();

} // namespace heddle

#endif // HEDDLE_SESSION_H
