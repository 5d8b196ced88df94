// SPDX-License-Identifier: Apache-2.0
///
/// The decoder of compiled models: entries "encode" and "decode" over paged caches. Caches that
/// "decode" appends to are the history of each hypothesis, and what it adds to its states; caches
/// that "encode" appends to are the memory of a source, which all its hypotheses read, and states
/// that it leaves are what they begin with. A model without "encode" has empty sources; where it
/// has no states either, the blocks of a history follow from its tokens alone, and hypotheses that
/// begin with the same tokens share them.
#ifndef HEDDLE_RUNTIME_SESSION_PAGEDDECODER_H
#define HEDDLE_RUNTIME_SESSION_PAGEDDECODER_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Cache/BlockTable.h"
#include "runtime/Cache/PrefixTree.h"
#include "runtime/Cache/StateRow.h"
#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"
#include "runtime/Session/Projection.h"

#include <memory>
#include <optional>
#include <vector>

namespace heddle {

/// An output of "decode" that is observed, and where it goes.
struct ObservedWeights {
  /// Its place in EntryInfo::observed.
  size_t number = 0;
  /// Keys are those of the history, of the source or of the extension, as PortInfo::observed says.
  AttentionWeights weights;
};

/// What a step gives beside logits, where it is asked for.
struct StepOutputs {
  /// Null: it is not.
  AttentionWeights *attention = nullptr;
  std::span<ObservedWeights> observed = {};
  /// Rows of the tokens of all extensions, by the names of the outputs.
  std::span<const Output> rows = {};
};

/// Keeps its working memory: a step no larger than one before it allocates nothing.
class PagedDecoder final : public Decoder {
public:
  /// Unsupported when the model does not generate. An executor that is given is shared with whoever
  /// else has it, but not at the same time; it must have costs for all dispatches of the model.
  static Result<std::unique_ptr<PagedDecoder>> create(const Model &model,
                                                      const SessionOptions &options,
                                                      std::shared_ptr<Executor> executor = nullptr);
  /// Whether a model has "decode" and, if that reads what it does not append to, "encode".
  static bool supports(const Model &model);
  /// Whether it has "encode"; otherwise it continues what it is given.
  static bool hasSources(const Model &model);

  int64_t vocabulary() const override { return vocabularySize; }
  bool hasSources() const override { return encoder.info != nullptr; }
  int64_t longestSource() const override { return hasSources() ? encoder.info->maxLength : 0; }
  int64_t longestTarget() const override { return decoder.info->maxLength; }
  Status encode(std::span<const SourceView> sources, std::span<SourceId> ids) override;
  /// Also writes outputs of the entry, by their names.
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
  Status decode(std::span<const Extension> extensions, LogitsSink &sink,
                AttentionWeights *attention = nullptr) override;
  /// The same with other outputs.
  Status decode(std::span<const Extension> extensions, LogitsSink &sink, const StepOutputs &wanted);
  int64_t blocksInUse() const override {
    return history.inUse() + states.inUse() + keyed.inUse() + memory.inUse();
  }

  /// Blocks that are kept for hypotheses to take over, and that none has.
  int64_t blocksKept() const { return history.idle(); }
  /// The same in bytes, with what is in use.
  CacheUse cacheUse() const {
    return {budget.used, static_cast<uint64_t>(history.idle()) * history.blockBytes(),
            budget.bound};
  }

  const Model &model() const { return loaded; }
  /// The costs of its dispatches, and of whoever shares the executor.
  Executor &costs() const { return *executor; }
  /// The token that pads sources in files; -1: none.
  int32_t pad() const;
  /// What hypotheses begin with, and whether a token ends one.
  std::vector<int32_t> start() const;
  bool isEnd(int32_t token) const;
  /// The rows of a source that its memory has positions for.
  RowSpace rowsOfMemory() const { return memorySpace; }
  /// Bytes of cache that one position takes: of a hypothesis, and of a source.
  uint64_t historyBytesPerPosition() const;
  uint64_t memoryBytesPerPosition() const;
  /// Bytes that the states of a hypothesis take, however long it is.
  uint64_t stateBytes() const { return states.blockBytes(); }

private:
  /// One entry; null in a model that has none of that name.
  struct Entry {
    const manifest::Entry *table = nullptr;
    const EntryInfo *info = nullptr;
    /// Its ids, or the rows of a source.
    const PortInfo *input = nullptr;
    size_t firstCost = 0;
    std::vector<CacheOperand> caches;
  };
  struct Source {
    bool live = false;
    int64_t hypotheses = 0;
    BlockTable table;
    /// What hypotheses begin with, if anything is given.
    StateRow state;
  };
  struct Hypothesis {
    bool live = false;
    int32_t source = 0;
    /// The number of the last decode() that extends it.
    uint64_t step = 0;
    /// Its tokens: the positions of the table, where there are caches to have them.
    int64_t length = 0;
    BlockTable table;
    StateRow state;
    /// What its states have of each position of the source: all of them, from the first step on.
    BlockTable keyed;
    /// The last full block of its table that others may take over, and the tokens after that.
    PrefixPlace place = PrefixTree::outside;
    std::array<int32_t, HEDDLE_BLOCK> rest = {};
  };
  /// A CacheRows, and what it points to.
  struct Rows {
    CacheRows view;
    std::vector<int32_t> offsets;
    std::vector<int32_t> segmentOf;
    std::vector<int32_t> lengths;
    std::vector<int32_t> blocks;
    int64_t longest = 0;

    void clear();
    /// Room for the blocks of `segments` segments of at most `positions`.
    void prepare(int64_t segments, int64_t positions);
    void addSegment(const BlockTable &table);
    /// A segment of one block, whatever its positions.
    void addState(const StateRow &state);
  };
  /// A plan of "decode", for some outputs.
  struct Step {
    std::vector<bool> outputs;
    Plan plan;
    Projection projection;
  };

  PagedDecoder(const Model &model, const SessionOptions &options);
  Status bindEntries();
  Status bindSpaces();
  Status bindCaches();
  Status bindState(Entry &entry, const CacheInfo &state);
  Status createPools();
  /// Whether anything grows with the tokens of a hypothesis.
  bool keepsHistory() const { return history.blockBytes() != 0; }
  bool keepsStates() const { return states.blockBytes() != 0; }
  bool keepsKeyed() const { return keyed.blockBytes() != 0; }
  /// What rows append to a history follows from their tokens and those before them, and nothing
  /// else is kept of a hypothesis.
  bool sharesPrefixes() const {
    return options.sharePrefixes && !hasSources() && keepsHistory() && !keepsStates() &&
           !keepsKeyed();
  }
  void publish(Hypothesis &hypothesis, std::span<const int32_t> tokens);
  void dropUnread(Hypothesis &hypothesis);
  /// The positions of the source of a hypothesis.
  int64_t keysOf(const Hypothesis &hypothesis) const {
    return sources[static_cast<size_t>(hypothesis.source)].table.length();
  }
  int64_t rowsToTake(std::span<const Extension> extensions);
  int64_t keyedBlocksToTake(std::span<const Extension> extensions);
  Result<Step *> stepFor(const std::vector<bool> &outputs);
  Status checkExtension(const Extension &extension) const;
  Status gather(std::span<const Extension> extensions);
  int64_t blocksToCopy(const BlockPool &pool);
  Status checkHistoryRoom(std::span<const Extension> extensions);
  void extend(std::span<const Extension> extensions);
  void describeMemory(std::span<const Extension> extensions);
  void describeHistory(std::span<const Extension> extensions);
  Status chooseOutputs(const StepOutputs &wanted);
  Status checkRowOutputs(std::span<const Output> rows) const;
  Status readOutputs(const Plan &plan, const Run &run, const StepOutputs &wanted) const;
  Status readWeights(const PlannedOutput &output, Observed keys, const Run &run,
                     AttentionWeights &weights) const;
  Status decodeUnguarded(std::span<const Extension> extensions, LogitsSink &sink,
                         const StepOutputs &wanted);
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
  int32_t newHypothesis();
  /// The first position of the history that a row at `position`, or a later one, reads.
  int64_t firstRead(int64_t position) const;

  Model loaded;
  const SessionOptions options;
  std::shared_ptr<Executor> executor;
  Entry encoder;
  Entry decoder;
  int64_t vocabularySize = 0;
  int32_t logitsPort = -1;
  int32_t attentionPort = -1;
  RowSpace memorySpace = RowSpace::tokens();
  /// Whether "encode" leaves states.
  bool givesStates = false;
  /// Where rows begin to read the history, by their positions; empty: at its beginning.
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
  /// Plans of "encode", by the outputs asked for.
  std::vector<std::pair<std::vector<bool>, std::unique_ptr<Plan>>> encodePlans;
  uint64_t stepNumber = 0;
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
