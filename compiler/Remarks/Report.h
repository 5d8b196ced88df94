// SPDX-License-Identifier: Apache-2.0
///
/// What the passes found and what they did about it: every candidate, where it is in the
/// checkpoint, taken or the first condition that failed, and what it saves.
///
/// Passes report through MLIR's remark engine, so nothing is built when nobody listens and
/// `heddle-opt --remarks-filter=heddle` prints the same entries that `heddlec --report` writes.
#ifndef HEDDLE_COMPILER_REMARKS_REPORT_H
#define HEDDLE_COMPILER_REMARKS_REPORT_H

#include "mlir/IR/Location.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
namespace json {
class OStream;
}
} // namespace llvm

namespace mlir {
class MLIRContext;
class Operation;
} // namespace mlir

namespace heddle {

/// What a pass saves at one place. Every number is computed from the types of the program.
struct Savings {
  /// Floating-point operations no longer executed, for each row.
  int64_t flopsPerToken = 0;
  /// Bytes of weights no longer stored in the binary.
  int64_t weightBytes = 0;
  /// Bytes of activations no longer written to or read from memory, for each row.
  int64_t activationBytesPerToken = 0;
  /// Bytes no longer kept for each position of a sequence.
  int64_t cacheBytesPerToken = 0;
  /// Floating-point operations no longer executed, for each row and each key that it sees.
  int64_t flopsPerTokenAndKey = 0;
};

/// Records that `pass` (its name without the dialect prefix, "fuse-attention") changed the program
/// at `location`. `what` says what was made: "12 heads of 32, scale 0.176777".
void reportTaken(mlir::Location location, llvm::StringRef pass, const llvm::Twine &what,
                 const Savings &savings = {});

/// Records that `pass` left a candidate as it was, and why: the first condition that failed, for
/// example "not fused: a look-up has a second user (encoder.embeddings)".
void reportDeclined(mlir::Location location, llvm::StringRef pass, const llvm::Twine &reason);

/// The checkpoint name in a location: that of the first NameLoc, for several fused locations their
/// longest common dotted prefix (the first name if they have none). Empty if there is no name.
std::string checkpointName(mlir::Location location);

/// The checkpoint name, or `file:line:column` of a program read from text that names nothing.
std::string placeName(mlir::Location location);

/// The layer in a checkpoint name: up to its first part that is a number, or nothing.
llvm::StringRef layerPrefix(llvm::StringRef name);

/// An operation as reasons name it: "transformer.add of encoder.layer.0.attention".
std::string describe(mlir::Operation *operation);

/// Collects what the passes on one context report, from its construction on. Not thread-safe: the
/// passes are module passes. The context may outlive the report and the other way round.
class Report {
public:
  /// One candidate of one pass.
  struct Entry {
    std::string pass;
    std::string where;
    bool taken = false;
    /// What was made, or why not.
    std::string text;
    Savings savings;
  };

  /// Listens to `context`. One report a context: a later one replaces the earlier as listener.
  explicit Report(mlir::MLIRContext &context);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  /// Whether what is reported is part of it from now on: not what passes find in another program of
  /// the same context.
  void listen(bool listens) { collected->listens = listens; }

  /// Passes in the order in which they first reported; within a pass by place, numbers in names
  /// compared as numbers; equal places in the order of the program. The same for the same input.
  std::vector<Entry> entries() const;

  /// The array of all entries, as writeEntry() has each, in the order of entries(); then what
  /// `further` writes, elements of the same array.
  void writeJson(llvm::raw_ostream &stream,
                 llvm::function_ref<void(llvm::json::OStream &)> further = nullptr) const;

  /// `{"pass", "where", "taken", "what" or "reason", "savings": {"flops_per_token",
  /// "weight_bytes", "activation_bytes_per_token", "cache_bytes_per_token",
  /// "flops_per_token_and_key"}}`, and the attributes that `further` writes.
  static void writeEntry(llvm::json::OStream &json, const Entry &entry,
                         llvm::function_ref<void()> further = nullptr);

  /// A few lines for people and for the manifest: one for each pass with its counts and sums, then
  /// one for each declined candidate.
  std::vector<std::string> summary() const;

private:
  class Collector;
  struct Collected {
    std::vector<Entry> entries;
    bool listens = true;
  };
  std::shared_ptr<Collected> collected;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_REMARKS_REPORT_H
