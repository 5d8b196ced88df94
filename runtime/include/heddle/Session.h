// SPDX-License-Identifier: Apache-2.0
///
/// The C++ interface (C++20): load a compiled model, make a session per thread, run its entries.
///
///   HEDDLE_ASSIGN(heddle::Model model, heddle::Model::load("minilm.so"));
///   HEDDLE_ASSIGN(heddle::Session session, heddle::Session::create(model, {.threads = 2}));
///   HEDDLE_TRY(session.embed(texts, embeddings));
///
/// Shapes. A batch is ragged: the rows of its sequences lie end to end, without padding. `tokens`
/// is the number of rows of the whole batch, `sequences` the number of its sentences, `longest` the
/// rows of its longest sentence. Rows may also derive from tokens, such as blocks of two of a
/// sentence (heddle/RowSpace.h). All tensors are dense and row major.
///
/// Threads. A Model is immutable and may be used by any number of threads at once. A Session
/// belongs to one thread at a time; it may itself work with several threads (SessionOptions).
///
/// Same sentence, same bits. The result of a sequence depends on nothing else in the batch and on
/// no number of threads.
///
/// Errors. Every call that can fail answers a Status or Result; nothing throws, exits or aborts.
/// When the outcome is a failure, outputs may have been written in part and the session stays
/// usable. Memory that runs out is ResourceExhausted.
///
/// Loading a model maps it as a program: trust it as you would any shared library.
#ifndef HEDDLE_SESSION_H
#define HEDDLE_SESSION_H

#include "heddle/Arithmetic.h"
#include "heddle/AttentionKind.h"
#include "heddle/ElementType.h"
#include "heddle/Export.h"
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
  /// Inputs of ids, i32 [tokens]: they lie in [0, limit). Inputs of floats, f32 [tokens, width],
  /// and outputs: 0.
  int64_t limit = 0;
  /// Inputs: may be left out, which means all zeros.
  bool optional = false;
  Observed observed = Observed::No;
  /// Inputs: what the shorter sequences of a file's tensor end in: this token or, of floats, zeros,
  /// beside which lengths say how long each is.
  std::optional<int32_t> pad = std::nullopt;

  /// The rows that a sequence of so many tokens has here: as many, one, or for example half as many
  /// where rows are blocks of two tokens. `width`: the pixels in a row of it, where
  /// EntryInfo::hasWidths.
  int64_t rowsOf(int64_t tokens, int64_t width = 0) const {
    const std::optional<RowSpace> space = rowSpaceOf(shape.front());
    return space ? space->rowsOf(tokens, width) : 0;
  }
  /// The rows of a batch, which lie in the order of its sequences.
  int64_t rowsOf(std::span<const int32_t> lengths, std::span<const int32_t> widths = {}) const {
    const std::optional<RowSpace> space = rowSpaceOf(shape.front());
    return space ? SequenceSizes{lengths, widths}.rowsIn(*space) : 0;
  }
};

/// A cache or a state that an entry reads. A cache holds values computed for earlier positions by
/// this entry or another one; a state holds their sum.
struct CacheInfo {
  /// Entries share caches and states by name.
  std::string name;
  /// Elements for one position, or for the state of one sequence, and their type. A cache of codes
  /// (I8) has bytes: the codes of a position and their scales.
  int64_t width = 0;
  ElementType element = ElementType::F32;
  /// Whether this entry appends its rows (to a cache) or adds them (to a state).
  bool written = false;
  /// Whether blocks are stored [width][positions], as attention reads keys, instead of
  /// [positions][width].
  bool transposed = false;
  /// Whether this is a state: one row for each sequence, whatever its number of positions.
  bool state = false;
  /// Whether that state has so many elements for each key of the source instead.
  bool keyed = false;
  /// The rows that the entry which appends to a cache appends: tokens, or what it derives from
  /// them.
  RowSpace rows = RowSpace::tokens();
};

/// The most rows that a sequence may have in a space.
struct RowLimit {
  RowSpace rows = RowSpace::tokens();
  int64_t most = 0;
};

/// One function of a model: "encode", "embed", ...
struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  /// Outputs that show the inside of the model, in the order of its layers. Each is [tokens, heads,
  /// longest]: the probabilities of the keys of a row's own sequence, then zeros. They can be
  /// requested like other outputs and cost nothing otherwise. The numbers below do not include
  /// them.
  std::vector<PortInfo> observed = {};
  /// If not empty, a decoder runs the entry, not Session::run().
  std::vector<CacheInfo> caches;
  /// The longest sequence, in tokens; 0: any.
  int64_t maxLength = 0;
  /// The tokens of every sequence are a multiple of this: rows of pixels of an image.
  int64_t lengthMultiple = 1;
  /// Whether sequences are images of any width: their widths are given beside their lengths.
  bool hasWidths = false;
  /// What the model has positions for of such images.
  std::vector<RowLimit> rowLimits = {};
  /// Bytes of working memory for a batch: at most perToken * tokens + perSequence * sequences +
  /// perTokenAndLongest * tokens * longest, exact unless the entry has derived rows.
  uint64_t arenaBytesPerToken = 0;
  uint64_t arenaBytesPerSequence = 0;
  uint64_t arenaBytesPerTokenAndLongest = 0;
  /// Dispatches of the graph. Those that only `observed` needs are counted separately.
  int64_t dispatches = 0;
  int64_t observedDispatches = 0;
  /// Floating-point operations per token, and per token and key of its sequence.
  uint64_t flopsPerToken = 0;
  uint64_t flopsPerTokenAndKey = 0;
  /// The same for each key where a token sees at most so many, as with a window.
  struct BoundedKeys {
    uint64_t keys = 0;
    uint64_t flopsPerTokenAndKey = 0;
  };
  std::vector<BoundedKeys> bounded = {};

  /// The floating-point operations of a batch if all `outputs` are requested.
  HEDDLE_API double flops(std::span<const int32_t> lengths) const;
};

/// Layers of another precision than the model.
struct KeptLayersInfo {
  /// The pattern that the names of their tensors match, and the precision.
  std::string layers;
  std::string precision;
  /// The matrices and tables of the checkpoint among them, and the bytes that these take.
  int64_t tensors = 0;
  int64_t bytes = 0;
};

/// The languages of a model that translates between several.
struct LanguagesInfo {
  /// Their names, ascending, and the tokens that stand for them.
  std::vector<std::string> names;
  std::vector<int32_t> tokens;
  /// Whether the token of a source's language is its last, not its first.
  bool endsSource = false;
  /// Whether the token of a target's language is what targets start with, not the forced first
  /// token of an answer.
  bool startsTarget = false;
  /// The languages of texts of which nothing is said; empty: none.
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
  /// Bytes, and where they start in the weights section.
  uint64_t size = 0;
  uint64_t offset = 0;
};

/// How a model is loaded.
struct ModelOptions {
  /// The target to run: one of the file's, for example "x86-64-v3". Empty for the best one that
  /// the device supports.
  std::string isa = "";
  /// Also compares every parameter and every image of a device with its checksum, which reads the
  /// whole file.
  bool verifyWeights = false;
  /// Loads only the description, as `heddle info` and `heddle verify` do: everything is checked, no
  /// code is mapped as program, no session can be created, and the CPU need not support any target.
  bool describeOnly = false;
  /// Where it runs: "cpu" (or nothing); "cuda", the first GPU; "cuda:1", the second one; "auto",
  /// the first GPU if there is one and the file has a target that it runs, else the CPU. NotFound
  /// says what was looked for.
  std::string device = "";
};

/// A compiled model, mapped from its file. Immutable; copies share one mapping, which lives as long
/// as any copy or any session made from it.
class HEDDLE_API Model {
public:
  /// Maps and checks the file. If it is refused, none of its code has run.
  static Result<Model> load(const std::string &path, const ModelOptions &options = {});

  Model(const Model &other);
  Model(Model &&other) noexcept;
  Model &operator=(const Model &other);
  Model &operator=(Model &&other) noexcept;
  ~Model();

  /// The path it was loaded from.
  const std::string &path() const;
  /// Bytes of the whole file.
  uint64_t fileSize() const;
  /// The functions of the model, in the order of the file.
  const std::vector<EntryInfo> &entries() const;
  /// The entry of that name, or null.
  const EntryInfo *findEntry(std::string_view name) const;
  /// The stored tensors.
  const std::vector<ParameterInfo> &parameters() const;
  /// Bytes of the weights section.
  uint64_t weightsSize() const;
  /// The targets compiled into the file, and the one that runs (empty after describeOnly).
  const std::vector<std::string> &targets() const;
  std::string_view isa() const;
  /// The device it runs on: "cpu", "cuda:0". Empty after describeOnly.
  std::string_view device() const;
  /// The precision of all weights, and of products with them, but those of keptLayers(): a name
  /// that `heddlec --precision` knows, for example "f32".
  std::string_view precision() const;
  /// What caches keep of earlier rows, for example "bf16"; all types, "f32, bf16", where they
  /// differ; "none" of a model without caches. States are f32.
  std::string_view cachePrecision() const;
  /// Layers that were compiled in another precision (`heddlec --keep`).
  const std::vector<KeptLayersInfo> &keptLayers() const;
  /// The languages that it translates between, if it has tokens for them.
  const std::optional<LanguagesInfo> &languages() const;
  /// Its classifier, if it has one.
  const std::optional<ClassifierInfo> &classifier() const;
  /// model_type of its configuration, for example "bert".
  std::string_view modelType() const;
  /// The compiler that wrote it, and its version.
  std::string_view producer() const;
  /// XXH3 128 of the model's files, in hexadecimal.
  std::string_view sourceHash() const;
  /// The candidates that optimising passes took and declined, one line each.
  const std::vector<std::string> &reportSummary() const;
  /// Compares every parameter and image with its checksum. DataLoss names the first damaged one.
  Status verifyWeights() const;

  /// The names of the model's chat templates; empty: it has none.
  const std::vector<std::string> &chatTemplates() const;
  /// The prompt for a conversation, with its special tokens: Generator::encodeTarget() makes ids of
  /// it. `conversation` is a JSON object with "messages", each an object with "role" and "content",
  /// and perhaps "tools", "documents", "add_generation_prompt" (true without it) and other
  /// variables of the template. Without a name, the template is "tool_use" for a conversation with
  /// tools where there is one, else "default". Unsupported if the model has no templates;
  /// InvalidArgument where the template refuses the conversation.
  Result<std::string> chatPrompt(std::string_view conversation,
                                 std::string_view templateName = {}) const;

  /// Whether the file carries a tokenizer; tokenize() and Session::embed need one.
  bool hasTokenizer() const;
  /// The ids of a UTF-8 text, with the special tokens of its template, cut to the model's limit,
  /// and to `most` unless that is 0.
  Result<std::vector<int32_t>> tokenize(std::string_view text, int64_t most = 0) const;
  /// The same of two texts in the template for pairs. The longer one is cut first.
  Result<TokenPair> tokenizePair(std::string_view first, std::string_view second,
                                 int64_t most = 0) const;
  /// What each id stands for by itself, in the vocabulary of sources or of what is generated:
  /// special tokens as they are spelt, as is what has no text alone, such as a part of a character.
  Result<std::vector<std::string>> textOfEach(std::span<const int32_t> ids,
                                              bool isGenerated = false) const;

private:
  friend class Executor;
  friend class Session;
  friend class Generator;
  friend class PagedDecoder;
  struct HEDDLE_LOCAL State;
  explicit Model(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state;
};

/// How the threads of a session share the work of a run. All schedules give the same bits.
enum class Schedule : uint8_t {
  /// Chooses by the batch.
  Automatic,
  /// Every thread takes whole sequences through the whole graph, without waiting for the others.
  Chunked,
  /// All threads work on every dispatch together, or each on a loop: for few long sequences.
  Cooperative,
};

/// How a session works.
struct SessionOptions {
  /// Threads that compute, the calling one included; 1 starts none.
  int threads = 1;
  /// For experiments: the tokens of a chunk of sequences that passes through the graph together. 0
  /// chooses a size that keeps the activations in the second-level cache.
  int64_t chunkTokens = 0;
  Schedule schedule = Schedule::Automatic;
  /// The limit on memory for the caches and states of generation, in bytes. Caches grow with every
  /// token; states do not. Memory is used only as they fill. A call that would exceed the limit
  /// fails with ResourceExhausted and changes nothing.
  uint64_t cacheBytes = uint64_t(1) << 30;
  /// Where the model allows it, texts that begin with the same tokens share what caches have of
  /// these, which is computed once. It is kept after they end, in memory that nothing else needs.
  bool sharePrefixes = true;
  /// Accumulates the time of every dispatch (Session::profile), at the cost of two clock reads
  /// each.
  bool profile = false;
  /// With `profile`: the number of single runs of dispatches that each thread records
  /// (Session::trace), at 64 bytes each.
  int64_t traceRuns = 0;
};

/// The values of one input for all sequences, end to end, according to PortInfo::shape: ids,
/// [tokens], or rows of floats, [tokens, width]. NaN and infinity are values like any other.
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
/// longestDimension means the longest sequence of the run.
struct Output {
  std::string_view name;
  std::span<float> values;
};

/// The cost of one dispatch since the session was created or resetProfile() was called.
struct DispatchProfile {
  std::string entry;
  /// The checkpoint name of what it computes.
  std::string name;
  /// The function that computes it.
  std::string kernel;
  /// The number of runs. A batch of several chunks runs it once for each chunk.
  uint64_t calls = 0;
  /// Seconds, summed over all threads.
  double seconds = 0;
  /// Floating-point operations done.
  double flops = 0;
  /// Bytes of weights and cached positions needed, counted once for each call and each segment that
  /// sees the same positions. Repeated reads from the processor's caches do not count.
  double weightBytes = 0;
  double cacheBytes = 0;
  /// Where each row chooses one of several groups of weights, such as those of experts: how many
  /// rows chose each. Empty elsewhere, and on a GPU.
  std::vector<uint64_t> groupRows = {};
  /// What the operations multiply.
  Arithmetic arithmetic = Arithmetic::F32;
};

/// One run of a dispatch, or of one thread's part of it.
struct DispatchRun {
  /// Its index in profile().
  size_t dispatch = 0;
  /// 0 is the calling thread.
  int thread = 0;
  /// Seconds since the creation of the session or the last resetProfile().
  double start = 0;
  double seconds = 0;
  /// For the whole dispatch, even if several threads share it.
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;
};

/// Runs the entries of a model. For one thread at a time. Keeps its working memory between runs: a
/// run no larger than an earlier one allocates nothing.
class HEDDLE_API Session {
public:
  static Result<Session> create(const Model &model, const SessionOptions &options = {});

  Session(Session &&other) noexcept;
  Session &operator=(Session &&other) noexcept;
  ~Session();

  /// The model it runs.
  const Model &model() const;

  /// Runs `entry` over a batch of lengths.size() sequences with lengths[i] > 0 tokens each. An
  /// empty batch does nothing. Every input that is not optional must be given, with sum(lengths)
  /// ids or rows. Only the named outputs are computed. Where EntryInfo::hasWidths, sequence i is an
  /// image of lengths[i] pixels, row by row, widths[i] of them in a row.
  Status run(std::string_view entry, std::span<const int32_t> lengths,
             std::span<const Input> inputs, std::span<const Output> outputs,
             std::span<const int32_t> widths = {});

  /// Tokenises every text and runs the entry "embed"; `embeddings` is [texts, embeddingWidth].
  Status embed(std::span<const std::string_view> texts, std::span<float> embeddings);

  /// The number of floats in one embedding; NotFound if the model has no entry "embed".
  Result<int64_t> embeddingWidth() const;

  /// One record for each dispatch that has run, in graph order; empty without
  /// SessionOptions::profile.
  std::vector<DispatchProfile> profile() const;
  /// Single runs, thread by thread and in order of time; empty without SessionOptions::traceRuns.
  std::vector<DispatchRun> trace() const;
  void resetProfile();

private:
  struct HEDDLE_LOCAL State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// The targets this CPU can run, best first, for example {"x86-64-v4", "x86-64-v3"}.
HEDDLE_API std::vector<std::string> machineTargets();

} // namespace heddle

#endif // HEDDLE_SESSION_H
