// SPDX-License-Identifier: Apache-2.0
///
/// The decoder of compiled models: the entries "encode" and "decode" over paged caches. Caches that
/// "decode" appends to, and states that it updates, are the history of each hypothesis. Caches that
/// "encode" appends to are the memory of a source, which all its hypotheses read; states that it
/// leaves are the initial states of hypotheses. A model without "encode" has empty sources; if it
/// has no states either, the blocks of a history depend on its tokens alone, and hypotheses that
/// begin with the same tokens share them.
#ifndef HEDDLE_RUNTIME_SESSION_PAGEDDECODER_H
#define HEDDLE_RUNTIME_SESSION_PAGEDDECODER_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Cache/BlockTable.h"
#include "runtime/Cache/PrefixTree.h"
#include "runtime/Cache/StateRow.h"
#include "runtime/Session/BeamOrders.h"
#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"
#include "runtime/Session/Projection.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace heddle {

/// An observed output of "decode", and the memory that receives it.
struct ObservedWeights {
  /// Its index in EntryInfo::observed.
  size_t number = 0;
  /// Keys are those of the history, of the source or of the extension, according to
  /// PortInfo::observed.
  AttentionWeights weights;
};

/// Results of a step besides logits, if requested.
struct StepOutputs {
  /// Null if not requested.
  AttentionWeights *attention = nullptr;
  std::span<ObservedWeights> observed = {};
  /// Rows of the tokens of all extensions, by the names of the outputs.
  std::span<const Output> rows = {};
};

/// Keeps its working memory: a step no larger than an earlier one allocates nothing.
class PagedDecoder final : public Decoder {
public:
  PagedDecoder(const PagedDecoder &) = delete;
  PagedDecoder &operator=(const PagedDecoder &) = delete;
  ~PagedDecoder() override;
  /// Creates a decoder; Unsupported if the model does not generate. A given executor may be shared,
  /// but not used at the same time; it must have costs for all dispatches of the model.
  static Result<std::unique_ptr<PagedDecoder>> create(const Model &model,
                                                      const SessionOptions &options,
                                                      std::shared_ptr<Executor> executor = nullptr);
  /// Returns whether a model has "decode" and, if that reads caches that it does not append to,
  /// "encode".
  static bool supports(const Model &model);
  /// Returns whether the model has "encode"; otherwise it continues prompts.
  static bool hasSources(const Model &model);

  int64_t vocabulary() const override { return vocabularySize; }
  bool hasSources() const override { return encoder.info != nullptr; }
  int64_t longestSource() const override { return hasSources() ? encoder.info->maxLength : 0; }
  int64_t longestTarget() const override { return decoder.info->maxLength; }
  Status encode(std::span<const SourceView> sources, std::span<SourceId> ids) override;
  /// As above; also writes outputs of the entry, by their names.
  Status encode(std::span<const SourceView> sources, std::span<SourceId> ids,
                std::span<const Output> outputs);
  int64_t positions(SourceId source) const override;
  void release(SourceId source) override;
  Result<HypothesisId> start(SourceId source) override;
  Result<HypothesisId> fork(HypothesisId hypothesis) override;
  void release(HypothesisId hypothesis) override;
  int64_t length(HypothesisId hypothesis) const override;
  int64_t sharedUnit() const override { return sharesPrefixes() ? HEDDLE_BLOCK : 0; }
  int64_t shareable(std::span<const int32_t> tokens) const override;
  int64_t takeOver(HypothesisId hypothesis, std::span<const int32_t> tokens) override;
  using Decoder::decode;
  /// As above, with other outputs.
  Status decode(std::span<const Extension> extensions, LogitsSink &sink, const StepOutputs &wanted);
  Result<StepId> begin(std::span<const Extension> extensions, LogitsSink &sink,
                       AttentionWeights *attention = nullptr) override;
  Status finish(StepId step) override;
  void drop(StepId step) override;
  bool runsAhead() const override { return followsTokens; }
  std::string_view reasonAgainst(const BeamOrder &search) const override;
  void settle(std::span<const SettledExtension> extensions) override;
  int64_t blocksInUse() const override {
    return history.inUse() + states.inUse() + keyed.inUse() + memory.inUse();
  }

  /// Returns the number of blocks that are kept for reuse and have no references.
  int64_t blocksKept() const { return history.idle(); }
  /// Returns the memory of these and of the blocks in use, in bytes.
  CacheUse cacheUse() const {
    return {budget.used, static_cast<uint64_t>(history.idle()) * history.blockBytes(),
            budget.bound};
  }

  /// Returns what the decoder has told the device; all users of its executor count as steps.
  GenerationLaunches launches() const {
    GenerationLaunches all = encoded;
    all.steps = static_cast<int64_t>(stepNumber);
    all.ofSteps = executor->deviceStream().launchUse();
    all.ofSteps -= all.ofEncodings;
    return all;
  }

  const Model &model() const { return loaded; }
  /// Returns the executor, which has the costs of all its users' dispatches.
  Executor &costs() const { return *executor; }
  /// Returns the token that pads sources in files; -1: none.
  int32_t pad() const;
  /// Return the tokens that hypotheses begin with, and whether a token ends one.
  std::vector<int32_t> start() const;
  bool isEnd(int32_t token) const;
  /// Returns the space of the rows of a source that its memory has positions for.
  RowSpace rowsOfMemory() const { return memorySpace; }
  /// Return the bytes of cache for one position: of a hypothesis, and of a source.
  uint64_t historyBytesPerPosition() const;
  uint64_t memoryBytesPerPosition() const;
  /// Returns the bytes of the states of a hypothesis, which do not depend on its length.
  uint64_t stateBytes() const { return states.blockBytes(); }

private:
  /// One entry; null if the model has no entry of that name.
  struct Entry {
    const manifest::Entry *table = nullptr;
    const EntryInfo *info = nullptr;
    /// The ids, or the rows of a source.
    const PortInfo *input = nullptr;
    size_t firstCost = 0;
    std::vector<CacheOperand> caches;
  };
  struct Source {
    bool live = false;
    int64_t hypotheses = 0;
    BlockTable table;
    /// The initial states, if "encode" leaves any.
    StateRow state;
  };
  struct Hypothesis {
    bool live = false;
    int32_t source = 0;
    /// A number of its own, which tells it from others with the same id.
    uint64_t life = 0;
    /// The number of the last step that extended it.
    uint64_t step = 0;
    /// The place of its first token among those of that step.
    size_t tokenOfStep = 0;
    /// The number of tokens: the positions of the table, if there are caches.
    int64_t length = 0;
    BlockTable table;
    StateRow state;
    /// The states for each position of the source: all of them, from the first step on.
    BlockTable keyed;
    /// The last full block of its table that others may reuse, and the tokens after it.
    PrefixPlace place = PrefixTree::outside;
    std::array<int32_t, HEDDLE_BLOCK> rest = {};
  };
  /// A CacheRows and the memory that it points to.
  struct Rows {
    CacheRows view;
    std::vector<int32_t> offsets;
    std::vector<int32_t> segmentOf;
    std::vector<int32_t> lengths;
    std::vector<int32_t> blocks;
    int64_t longest = 0;

    void clear();
    /// Reserves room for the blocks of `segments` segments of at most `positions` positions.
    void prepare(int64_t segments, int64_t positions);
    void addSegment(const BlockTable &table);
    /// Adds a segment of one block, whatever its positions.
    void addState(const StateRow &state);
  };
  /// A plan of "decode" for a set of outputs.
  struct Step {
    std::vector<bool> outputs;
    Plan plan;
    Projection projection;
  };
  /// What a step appends to a hypothesis, from position `at` on.
  struct Appended {
    HypothesisId hypothesis;
    uint64_t life;
    int64_t at;
    size_t count;
    /// As in Extension.
    int64_t bestOf;
    bool follows;
  };
  /// A step that has begun, until the memory is used by another one.
  struct BegunStep {
    StepId id{};
    StartedRun run{};
    /// Whether its results were received, or are not needed.
    bool isDone = true;
    /// Whether finish() has returned its status, or nobody will ask for it.
    bool isTold = true;
    /// Whether the device may still execute it.
    bool isRunning = false;
    Status status = {};
    const Plan *plan = nullptr;
    StepOutputs wanted = {};
    int64_t longestCached = 0;
    std::vector<Appended> appended = {};
    /// The tokens of all extensions; those that the device has are 0 until the step before is done.
    std::vector<int32_t> tokens = {};
    Selections selections = {};

    bool wantsOutputs() const {
      return wanted.attention != nullptr || !wanted.observed.empty() || !wanted.rows.empty();
    }
    bool follows() const;
  };

  PagedDecoder(const Model &model, const SessionOptions &options);
  Status bindEntries();
  Status bindSpaces();
  Status bindCaches();
  Status bindState(Entry &entry, const CacheInfo &state);
  Status createPools();
  /// Return whether a hypothesis has caches that grow with its tokens, and states.
  bool keepsHistory() const { return history.blockBytes() != 0; }
  bool keepsStates() const { return states.blockBytes() != 0; }
  bool keepsKeyed() const { return keyed.blockBytes() != 0; }
  /// Returns whether the rows appended to a history depend only on their tokens and those before
  /// them, and a hypothesis keeps nothing else.
  bool sharesPrefixes() const {
    return options.sharePrefixes && !hasSources() && keepsHistory() && !keepsStates() &&
           !keepsKeyed();
  }
  void publish(Hypothesis &hypothesis, int64_t at, std::span<const int32_t> tokens);
  void dropUnread(Hypothesis &hypothesis, int64_t length);
  /// Returns the number of positions of a hypothesis's source.
  int64_t keysOf(const Hypothesis &hypothesis) const {
    return sources[static_cast<size_t>(hypothesis.source)].table.length();
  }
  int64_t rowsToTake(std::span<const Extension> extensions);
  int64_t keyedBlocksToTake(std::span<const Extension> extensions);
  Result<Step *> stepFor(const std::vector<bool> &outputs);
  Status checkExtension(const Extension &extension) const;
  Status checkFollows(std::span<const Extension> extensions, const BegunStep *before) const;
  Status checkOrder(std::span<const Extension> extensions, const BegunStep &before) const;
  Status collectOrders(std::span<const Extension> extensions, const BegunStep &before);
  void locateTokens(std::span<const Extension> extensions, const BegunStep &before);
  Status gather(std::span<const Extension> extensions);
  int64_t blocksToCopy(const BlockPool &pool);
  Status checkHistoryRoom(std::span<const Extension> extensions);
  void extend(std::span<const Extension> extensions);
  void describeMemory(std::span<const Extension> extensions);
  void describeHistory(std::span<const Extension> extensions);
  Status chooseOutputs(const StepOutputs &wanted);
  Status checkRowOutputs(std::span<const Output> rows) const;
  Status readOutputs(const BegunStep &step) const;
  Status readWeights(const PlannedOutput &output, Observed keys, int64_t longestCached,
                     AttentionWeights &weights) const;
  Result<StepId> begin(std::span<const Extension> extensions, LogitsSink &sink,
                       const StepOutputs &wanted);
  Result<StepId> beginUnguarded(std::span<const Extension> extensions, LogitsSink &sink,
                                const StepOutputs &wanted);
  Status start(BegunStep &step, Run run, std::span<const Extension> extensions);
  BegunStep &endSteps(const BegunStep *kept = nullptr);
  void clear(BegunStep &step);
  BegunStep *find(StepId id);
  void complete(BegunStep &step);
  void settleOne(const SettledExtension &extension, bool isFirst);
  static void takeTokens(BegunStep &step, const BegunStep &before);
  Status encodeUnguarded(std::span<const SourceView> sources, std::span<SourceId> ids,
                         std::span<const Output> outputs);
  Status gatherSources(std::span<const SourceView> sources);
  Status encodeNothing(std::span<const SourceView> sources, std::span<SourceId> ids,
                       std::span<const Output> outputs);
  int32_t newSource();
  Status runEncode(std::span<const SourceId> ids);
  const Source *find(SourceId id) const;
  Source *find(SourceId id);
  const Hypothesis *find(HypothesisId id) const;
  Hypothesis *find(HypothesisId id);
  Hypothesis *find(const Appended &appended);
  int32_t newHypothesis();
  /// Returns the first position of the history that a row at `position`, or a later one, reads.
  int64_t firstRead(int64_t position) const;

  Model loaded;
  const SessionOptions options;
  std::shared_ptr<Executor> executor;
  Entry encoder;
  Entry decoder;
  int64_t vocabularySize = 0;
  int32_t logitsPort = -1;
  int32_t attentionPort = -1;
  /// The output that a device selects from the logits; -1: it does not.
  int32_t selectionPort = -1;
  /// Whether steps may append tokens that the device selects.
  bool followsTokens = false;
  RowSpace memorySpace = RowSpace::tokens();
  /// Whether "encode" leaves states.
  bool givesStates = false;
  /// The position of the history from which rows read, depending on their positions; empty: from
  /// the beginning.
  std::vector<manifest::PositionBound> historyReads;
  CacheBudget budget;
  BlockPool history;
  PrefixTree prefixes;
  BlockPool states;
  BlockPool keyed;
  BlockPool memory;
  std::vector<Source> sources;
  std::vector<int32_t> freeSources;
  std::vector<Hypothesis> hypotheses;
  std::vector<int32_t> freeHypotheses;
  std::vector<std::unique_ptr<Step>> steps;
  /// Plans of "encode", by the requested outputs.
  std::vector<std::pair<std::vector<bool>, std::unique_ptr<Plan>>> encodePlans;
  uint64_t stepNumber = 0;
  /// The encodings so far; nothing of steps.
  GenerationLaunches encoded;
  uint64_t lives = 0;
  /// The last steps that have begun; at most two are under way.
  std::array<BegunStep, 2> begun;
  StepId lastBegun{};
  /// Steps that others have ended, and whose memory these use, until finish() is called.
  std::vector<std::pair<StepId, Status>> ended;
  /// Where the tokens of the next step are that the device has.
  std::vector<IdsOnDevice> idsOnDevice;
  /// The searches that the device orders at the beginning of the next step.
  BeamOrders orders;
  // Scratch, reused between calls.
  Batch batch;
  std::vector<bool> chosen;
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;
  std::vector<int32_t> widths;
  std::vector<std::byte> values;
  std::vector<int32_t> starts;
  std::vector<int32_t> shared;
  Rows historyRows;
  Rows stateRows;
  Rows keyedRows;
  Rows memoryRows;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PAGEDDECODER_H
