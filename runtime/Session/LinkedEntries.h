// SPDX-License-Identifier: Apache-2.0
///
/// Runs several entries of a model one after another on the same sequences, each over rows of its
/// own length, where earlier entries store rows in caches that later ones read: a graph of a
/// source, of earlier runs and of a run as one function. The caches last for one call.
#ifndef HEDDLE_RUNTIME_SESSION_LINKEDENTRIES_H
#define HEDDLE_RUNTIME_SESSION_LINKEDENTRIES_H

#include "heddle/Session.h"
#include "runtime/Cache/BlockTable.h"
#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"

#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

/// An output with a number for each key of a row, and the memory that receives it:
/// [rows][heads][pitch], zero beyond the keys of a sequence.
struct KeysOutput {
  std::string_view name;
  AttentionWeights weights = {};
};

/// The arguments of one entry. All entries of a run have the same number of sequences.
struct LinkedCall {
  std::string_view entry;
  /// The rows of every sequence.
  std::span<const int32_t> lengths;
  std::span<const Input> inputs = {};
  /// Outputs of rows, as in Session::run().
  std::span<const Output> outputs = {};
  std::span<KeysOutput> keys = {};
};

/// Not thread-safe. The bits of a sequence's results depend neither on the rest of the batch nor on
/// the number of threads.
class LinkedEntries {
public:
  /// Unsupported if an entry has states, or reads a cache to which no entry appends.
  static Result<std::unique_ptr<LinkedEntries>> create(const Model &model,
                                                       const SessionOptions &options);

  /// Runs the entries in the given order. An entry that appends to caches continues the rows that
  /// earlier calls of this run have appended to them: its positions follow theirs.
  Status run(std::span<const LinkedCall> calls);

private:
  /// The caches to which the same entries append: they have the same positions.
  struct Group {
    std::vector<size_t> writers;
    BlockPool pool;
    /// One for each sequence.
    std::vector<BlockTable> tables;
    /// What the current entry sees.
    CacheRows rows;
    std::vector<int32_t> lengths, blocks;

    int64_t longest() const;
  };
  /// A cache of an entry: its group, and its number among the caches of that.
  struct Place {
    size_t group = 0;
    size_t number = 0;
  };

  LinkedEntries(const Model &model, const SessionOptions &options);
  Status bindCaches();
  Status runOne(const LinkedCall &call);
  Status extend(size_t entry, std::span<const int32_t> lengths);
  void describe(Group &group);
  Status readKeys(const Run &run, const PlannedOutput &output, const Group &group,
                  AttentionWeights &weights);
  const Group *groupOfKeys(size_t entry, const PortInfo &port) const;
  void clear();

  Model loaded;
  SessionOptions options;
  std::shared_ptr<Executor> executor;
  CacheBudget budget;
  /// Pools must not move.
  std::deque<Group> groups;
  /// The caches of every entry.
  std::vector<std::vector<Place>> places;
  /// The index of the first dispatch of each entry in the list of costs.
  std::vector<size_t> firstCosts;
  Batch batch;
  /// The number of positions before the rows of each sequence; empty if the entry appends to no
  /// cache.
  std::vector<int32_t> starts;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_LINKEDENTRIES_H
