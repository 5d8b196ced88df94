// SPDX-License-Identifier: Apache-2.0
///
/// Which layers share their attention: for each kind of attention the block sizes, in layers, in
/// order, as in "self:1,5,cross:4,2". Xiao et al., "Sharing attention weights for fast
/// Transformer", section 3.2.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_SHARINGPOLICY_H
#define HEDDLE_COMPILER_MODEL_SHARING_SHARINGPOLICY_H

#include "heddle/AttentionKind.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <optional>
#include <string>

namespace heddle {

/// The block sizes of each kind; a kind without an entry shares nothing.
struct SharingPolicy {
  struct Kind {
    /// Never `No`.
    AttentionKind kind;
    llvm::SmallVector<int64_t> sizes;

    /// Returns the total number of layers in the blocks.
    int64_t layers() const;
    /// Prints a policy of this kind only: "self:1,5".
    std::string text() const;
  };
  llvm::SmallVector<Kind> kinds;

  /// Prints the policy in the form that parseSharingPolicy() reads.
  std::string text() const;
};

/// Parses a policy. On failure `reason` says what was seen and expected.
llvm::FailureOr<SharingPolicy> parseSharingPolicy(llvm::StringRef text, std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_SHARING_SHARINGPOLICY_H
