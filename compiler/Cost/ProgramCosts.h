// SPDX-License-Identifier: Apache-2.0
///
/// Where the operations, the weights and the caches of a program are, counted on its dispatches:
/// the same numbers that the binary's manifest has. Stored bytes are those of the most capable
/// target, where targets differ.
#ifndef HEDDLE_COMPILER_COST_PROGRAMCOSTS_H
#define HEDDLE_COMPILER_COST_PROGRAMCOSTS_H

#include "heddle/RowSpace.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// Where the keys are that the rows of a dispatch see: among the rows themselves, in caches that
/// the entry appends to, which hold the positions before them, or in caches that it only reads.
enum class KeyPlace { Rows, WrittenCache, ReadCache };

/// What one call of a dispatch reads, counted as the runtime's profile does: again for each call,
/// whoever read it before.
struct DispatchReads {
  /// Bytes read from packed weights, without padding, and from tables, a row for each token.
  uint64_t weightBytes = 0;
  uint64_t lookupBytesPerToken = 0;
  /// For each position of the caches.
  uint64_t cacheBytesPerPosition = 0;
  uint64_t stateBytesPerSequence = 0;
};

/// One dispatch.
struct DispatchCosts {
  /// In the checkpoint, and the family of its kernel: "contract".
  std::string name;
  std::string kernel;
  std::string kind;
  uint64_t flopsPerToken = 0;
  /// For each token and key it sees.
  uint64_t flopsPerTokenKey = 0;
  KeyPlace keys = KeyPlace::Rows;
  /// Whether a run executes it that asks for no probabilities: not those of the model either, which
  /// most runs leave.
  bool isUsual = true;
  /// Stored bytes of the parameters that no earlier dispatch reads, so that sums count each tensor
  /// once.
  uint64_t weightBytes = 0;
  DispatchReads reads;
};

/// An input or output, or a cache.
struct PortFacts {
  std::string name;
  std::string type;
};

/// A cache, or a state, which takes nothing for a token.
struct CacheCosts {
  std::string name;
  uint64_t bytesPerToken = 0;
  uint64_t bytesPerSequence = 0;
  /// Whether this entry appends to it: then it is the entry whose tokens it keeps.
  bool written = false;
};

/// One entry. Memory is tokens * perToken + sequences * perSequence + tokens * longest *
/// perTokenAndLongest bytes.
struct EntryCosts {
  std::string name;
  std::vector<PortFacts> inputs;
  std::vector<PortFacts> outputs;
  /// Outputs that show the probabilities of an attention, which are computed when asked for: what
  /// they cost is counted nowhere here.
  int64_t observed = 0;
  std::vector<CacheCosts> caches;
  std::vector<DispatchCosts> dispatches;
  /// The parameters that the usual dispatches of this entry alone read, as stored, each once.
  uint64_t weightBytes = 0;
  /// What they write and read for each row, and, of what has a number for each key, for each row
  /// and key.
  uint64_t activationBytesPerToken = 0;
  uint64_t activationBytesPerTokenAndRow = 0;
  uint64_t activationBytesPerTokenAndHistory = 0;
  uint64_t activationBytesPerTokenAndSource = 0;
  /// Whether it goes on from what caches and states hold: a step of a decoder does.
  bool readsCaches = false;
  /// Bytes of working memory.
  BatchBound arena;
  int64_t maxLength = 0;
};

/// The costs of a module's dataflow graphs; empty before lowering.
std::vector<EntryCosts> programCosts(mlir::ModuleOp module);

/// `{"name", "inputs": [...], "outputs": [...], "caches": [...], "dispatches": [...], "arena":
/// ...}`
void writeCosts(llvm::json::OStream &json, const EntryCosts &entry);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_PROGRAMCOSTS_H
