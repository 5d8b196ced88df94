// SPDX-License-Identifier: Apache-2.0
///
/// Collects the decisions of passes: every candidate, its place in the checkpoint, whether it was
/// taken or the first condition that did not hold, and its savings.
///
/// Passes report through MLIR's remark engine, so a report costs nothing without a listener, and
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

/// The savings of a pass at one place, computed from the types of the program.
struct Savings {
  /// Floating-point operations saved, for each row.
  int64_t flopsPerToken = 0;
  /// Bytes of weights saved in the binary.
  int64_t weightBytes = 0;
  /// Bytes of activations no longer written to or read from memory, for each row.
  int64_t activationBytesPerToken = 0;
  /// Bytes of caches saved, for each position of a sequence.
  int64_t cacheBytesPerToken = 0;
  /// Floating-point operations saved, for each row and each key that it sees.
  int64_t flopsPerTokenAndKey = 0;
};

/// Records that `pass` (its name without the dialect prefix, "fuse-attention") changed the program
/// at `location`. `what` describes the result: "12 heads of 32, scale 0.176777".
void reportTaken(mlir::Location location, llvm::StringRef pass, const llvm::Twine &what,
                 const Savings &savings = {});

/// Records that `pass` did not change a candidate, with the first condition that did not hold, for
/// example "not fused: a look-up has a second user (encoder.embeddings)".
void reportDeclined(mlir::Location location, llvm::StringRef pass, const llvm::Twine &reason);

/// Returns the checkpoint name in a location: that of the first NameLoc, for several fused
/// locations their longest common dotted prefix (the first name if they have none). Empty if there
/// is no name.
std::string checkpointName(mlir::Location location);

/// Returns the checkpoint name, or `file:line:column` for a program in text without names.
std::string placeName(mlir::Location location);
/// Returns " (place)" for the end of a reason; nothing if the place has no name.
std::string placeInBrackets(mlir::Location location);

/// Returns the layer in a checkpoint name: the prefix up to its first numeric part, or nothing.
llvm::StringRef layerPrefix(llvm::StringRef name);

/// Describes an operation for reasons: "transformer.add of encoder.layer.0.attention".
std::string describe(mlir::Operation *operation);

/// Collects the reports of all passes on one context, from its construction on. Not thread-safe:
/// all passes are module passes. The context may outlive the report, and vice versa.
class Report {
public:
  /// One candidate of one pass.
  struct Entry {
    std::string pass;
    std::string where;
    bool taken = false;
    /// The result, or the reason against it.
    std::string text;
    Savings savings;
  };

  /// Listens to `context`. A context has one listener: a later report replaces an earlier one.
  explicit Report(mlir::MLIRContext &context);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  /// Sets whether reports are recorded from now on; used to ignore passes on another program of the
  /// same context.
  void listen(bool listens) { collected->listens = listens; }

  /// Returns the entries: passes in the order of their first report; within a pass by place,
  /// comparing numbers in names as numbers; equal places in program order. Deterministic for the
  /// same input.
  std::vector<Entry> entries() const;

  /// Writes a JSON array with writeEntry() of all entries(); then the further elements that
  /// `further` writes.
  void writeJson(llvm::raw_ostream &stream,
                 llvm::function_ref<void(llvm::json::OStream &)> further = nullptr) const;

  /// Writes `{"pass", "where", "taken", "what" or "reason", "savings": {"flops_per_token",
  /// "weight_bytes", "activation_bytes_per_token", "cache_bytes_per_token",
  /// "flops_per_token_and_key"}}`, and the attributes that `further` writes.
  static void writeEntry(llvm::json::OStream &json, const Entry &entry,
                         llvm::function_ref<void()> further = nullptr);

  /// Returns a few lines for people and for the manifest: one per pass with its counts and sums,
  /// then one for each declined candidate.
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
