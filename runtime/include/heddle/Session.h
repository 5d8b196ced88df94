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
/// rows of its longest sentence. All tensors are dense and row major.
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

#include "heddle/AttentionKind.h"
#include "heddle/ElementType.h"
#include "heddle/Export.h"
#include "heddle/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Dimensions of PortInfo::shape that are known only when work arrives.
inline constexpr int64_t tokensDimension = -1;
inline constexpr int64_t sequencesDimension = -2;
inline constexpr int64_t longestDimension = -3;

/// What an output shows of a model that runs: nothing but itself, or the probabilities of an
/// attention of some kind.
using Observed = AttentionKind;

/// One input or output of an entry.
struct PortInfo {
  std::string name;
  ElementType element = ElementType::F32;
  /// Constants, or one of the three dimensions above.
  std::vector<int64_t> shape;
  /// Inputs: ids lie in [0, limit). Outputs: 0.
  int64_t limit = 0;
  /// Inputs: when left out, all values are zero.
  bool optional = false;
  Observed observed = Observed::No;
};

/// A cache that an entry reads: what it, or another entry, has computed of positions before; or a
/// state, what is left of all of them.
struct CacheInfo {
  /// The caches of one name in all entries are one.
  std::string name;
  /// Floats of one position, or of the state of one sequence.
  int64_t width = 0;
  /// Whether this entry appends its rows to it, or adds them to it.
  bool written = false;
  /// Blocks of positions lie [width][positions], as attention reads keys; else [positions][width].
  bool transposed = false;
  /// One row a sequence, however many positions it has.
  bool state = false;
};

/// One function of a model: "encode", "embed", ...
struct EntryInfo {
  std::string name;
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  /// Outputs that show what the model does inside, [tokens, heads, longest] each: the probability
  /// of every key of a row's own sequence, then zeros. In the order of the model. They can be asked
  /// for as the others can, and cost nothing where they are not; no other number here counts them.
  std::vector<PortInfo> observed = {};
  /// An entry that reads caches is run by a decoder, not by Session::run.
  std::vector<CacheInfo> caches;
  /// The longest sequence, in tokens; 0: any.
  int64_t maxLength = 0;
  /// Bytes of working memory a batch needs: perToken * tokens + perSequence * sequences +
  /// perTokenAndLongest * tokens * longest.
  uint64_t arenaBytesPerToken = 0;
  uint64_t arenaBytesPerSequence = 0;
  uint64_t arenaBytesPerTokenAndLongest = 0;
  /// Dispatches of the graph, but for those that only `observed` needs, which are counted apart.
  int64_t dispatches = 0;
  int64_t observedDispatches = 0;
  /// Floating-point operations per token, and per token and key of its sequence.
  uint64_t flopsPerToken = 0;
  uint64_t flopsPerTokenAndKey = 0;

  /// The floating-point operations of a batch, all `outputs` asked for.
  HEDDLE_API double flops(std::span<const int32_t> lengths) const;
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
  /// The target to run: one of the file's, for example "x86-64-v3"; empty: the best of those that
  /// this CPU can run.
  std::string isa = "";
  /// Also compares every parameter with its checksum. It reads the whole file.
  bool verifyWeights = false;
  /// Only what `info` and `verify` need: everything is checked, no code is mapped as program, no
  /// session can be created, and the CPU need not be able to run any of the targets.
  bool describeOnly = false;
};

/// A compiled model, mapped from its file. Immutable; copies share one mapping, which lives as long
/// as any copy or any session made from it.
class HEDDLE_API Model {
public:
  /// Maps and checks the file; nothing of it has run when this refuses it.
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
  /// The arithmetic it was compiled for, for example "f32".
  std::string_view precision() const;
  /// model_type of its configuration, for example "bert".
  std::string_view modelType() const;
  /// The compiler that wrote it, and its version.
  std::string_view producer() const;
  /// XXH3 128 of the model's files, in hexadecimal.
  std::string_view sourceHash() const;
  /// What the optimising passes took and declined, one line each.
  const std::vector<std::string> &reportSummary() const;
  /// Compares every parameter with its checksum; the first damaged one is a DataLoss.
  Status verifyWeights() const;

  /// Whether the file carries a tokenizer; tokenize() and Session::embed need one.
  bool hasTokenizer() const;
  /// The ids of a text in UTF-8, with the special tokens of its template, cut to the model's limit,
  /// and to `most` where that is not 0.
  Result<std::vector<int32_t>> tokenize(std::string_view text, int64_t most = 0) const;

private:
  friend class Session;
  friend class Generator;
  friend class PagedDecoder;
  struct HEDDLE_LOCAL State;
  explicit Model(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state;
};

/// How the work of a run is shared by the threads of a session. All give the same bits.
enum class Schedule : uint8_t {
  /// Whichever of the two fits the batch.
  Automatic,
  /// Every thread takes whole sequences through the whole graph, without waiting for the others.
  Chunked,
  /// All threads work on every dispatch together: for batches of few long sequences.
  Cooperative,
};

/// How a session works.
struct SessionOptions {
  /// Threads that compute, the calling one included; 1 starts none.
  int threads = 1;
  /// For experiments. Tokens of a chunk of sequences that passes through the graph as one; 0: the
  /// size that keeps its activations in the second-level cache.
  int64_t chunkTokens = 0;
  Schedule schedule = Schedule::Automatic;
  /// Bytes that the caches and states of generation may take: caches grow with every token, a state
  /// does not. Memory is used only as they fill; a call that would need more is refused with
  /// ResourceExhausted and changes nothing.
  uint64_t cacheBytes = uint64_t(1) << 30;
  /// Accumulates the time of every dispatch (Session::profile); costs two clock reads each.
  bool profile = false;
  /// With `profile`: also keeps the first so many runs of dispatches of each thread one by one
  /// (Session::trace), at 64 bytes each.
  int64_t traceRuns = 0;
};

/// Values of one input: those of all sequences end to end, [tokens].
struct Input {
  std::string_view name;
  std::span<const int32_t> values;
};

/// Where one output goes: [rows, width] as its PortInfo::shape says, whose longestDimension is the
/// longest of all sequences of the run.
struct Output {
  std::string_view name;
  std::span<float> values;
};

/// What one dispatch has cost since the session was created or resetProfile() was called.
struct DispatchProfile {
  std::string entry;
  /// What it computes, by its name in the checkpoint.
  std::string name;
  /// The function that computes it.
  std::string kernel;
  /// Times it was run; a batch of several chunks runs it once for each.
  uint64_t calls = 0;
  /// Seconds of all threads together.
  double seconds = 0;
  /// Floating-point operations done.
  double flops = 0;
  /// Bytes of weights, and of cached positions, that were needed: once for each call, and for each
  /// segment that sees the same positions. What a cache of the processor gave again is not counted.
  double weightBytes = 0;
  double cacheBytes = 0;
};

/// One run of a dispatch, or of one thread's part of it.
struct DispatchRun {
  /// Its place in profile().
  size_t dispatch = 0;
  /// 0 is the thread that called.
  int thread = 0;
  /// Seconds, from the creation of the session or the last resetProfile().
  double start = 0;
  double seconds = 0;
  /// Of the whole dispatch, where several threads share it.
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;
};

/// Runs the entries of a model. One thread at a time; keeps its working memory between runs, so
/// that a run no larger than one before it allocates nothing.
class HEDDLE_API Session {
public:
  static Result<Session> create(const Model &model, const SessionOptions &options = {});

  Session(Session &&other) noexcept;
  Session &operator=(Session &&other) noexcept;
  ~Session();

  /// The model it runs.
  const Model &model() const;

  /// Runs `entry` over a batch of lengths.size() sequences of lengths[i] > 0 tokens. An empty batch
  /// is fine and does nothing. Every input of the entry that is not optional must be given, with
  /// sum(lengths) values; only the outputs named are computed.
  Status run(std::string_view entry, std::span<const int32_t> lengths,
             std::span<const Input> inputs, std::span<const Output> outputs);

  /// Tokenises every text and runs the entry "embed"; `embeddings` is [texts, embeddingWidth].
  Status embed(std::span<const std::string_view> texts, std::span<float> embeddings);

  /// Floats of one embedding; NotFound when the model has no entry "embed".
  Result<int64_t> embeddingWidth() const;

  /// One record per dispatch that has run, in graph order; empty without SessionOptions::profile.
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
