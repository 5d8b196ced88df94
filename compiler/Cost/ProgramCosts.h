// SPDX-License-Identifier: Apache-2.0
///
/// The operations, weights and caches of a program, counted per dispatch: the same numbers as in
/// the binary's manifest. Stored bytes are those of the most capable target, if targets differ.
#ifndef HEDDLE_COMPILER_COST_PROGRAMCOSTS_H
#define HEDDLE_COMPILER_COST_PROGRAMCOSTS_H

#include "heddle/RowSpace.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// The place of the keys that the rows of a dispatch see: the rows themselves, caches that the
/// entry appends to, which hold earlier positions, or caches that it only reads.
enum class KeyPlace { Rows, WrittenCache, ReadCache };

/// The reads of one call of a dispatch, counted as in the runtime's profile: each call counts, even
/// if the data was read before.
struct DispatchReads {
  /// Bytes read from packed weights, without padding, and from tables, one row per token.
  uint64_t weightBytes = 0;
  uint64_t lookupBytesPerToken = 0;
  /// For each position of the caches.
  uint64_t cacheBytesPerPosition = 0;
  uint64_t stateBytesPerSequence = 0;
};

/// One dispatch.
struct DispatchCosts {
  /// The name in the checkpoint, and the family of its kernel: "contract".
  std::string name;
  std::string kernel;
  std::string kind;
  uint64_t flopsPerToken = 0;
  /// For each token and key that it sees.
  uint64_t flopsPerTokenKey = 0;
  KeyPlace keys = KeyPlace::Rows;
  /// Whether a run executes it that requests no probabilities, neither of attention nor the model's
  /// own.
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

/// A cache, or a state, which needs no memory per token.
struct CacheCosts {
  std::string name;
  uint64_t bytesPerToken = 0;
  uint64_t bytesPerSequence = 0;
  /// Whether this entry appends to it. The cache's positions are then this entry's tokens.
  bool written = false;
};

/// One entry. Memory is tokens * perToken + sequences * perSequence + tokens * longest *
/// perTokenAndLongest bytes.
struct EntryCosts {
  std::string name;
  std::vector<PortFacts> inputs;
  std::vector<PortFacts> outputs;
  /// The number of outputs with probabilities of an attention, which are computed on request. Their
  /// cost is not counted.
  int64_t observed = 0;
  std::vector<CacheCosts> caches;
  std::vector<DispatchCosts> dispatches;
  /// Stored bytes of the parameters that only the usual dispatches of this entry read, each once.
  uint64_t weightBytes = 0;
  /// Activations that they write and read: for each row and, for numbers of keys, for each row and
  /// key.
  uint64_t activationBytesPerToken = 0;
  uint64_t activationBytesPerTokenAndRow = 0;
  uint64_t activationBytesPerTokenAndHistory = 0;
  uint64_t activationBytesPerTokenAndSource = 0;
  /// Whether it continues from caches and states, as a step of a decoder does.
  bool readsCaches = false;
  /// Bytes of working memory.
  BatchBound arena;
  int64_t maxLength = 0;
};

/// Returns the costs of a module's dataflow graphs; empty before lowering.
std::vector<EntryCosts> programCosts(mlir::ModuleOp module);

/// `{"name", "inputs": [...], "outputs": [...], "caches": [...], "dispatches": [...], "arena":
/// ...}`
void writeCosts(llvm::json::OStream &json, const EntryCosts &entry);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_PROGRAMCOSTS_H
