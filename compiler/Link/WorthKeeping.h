// SPDX-License-Identifier: Apache-2.0
///
/// Suggests layers to keep in a finer precision: those whose rounding error is removed for the
/// fewest bytes. The effect of a layer's error on results is unknown here; all matrices are assumed
/// to count alike, whatever their size.
#ifndef HEDDLE_COMPILER_LINK_WORTHKEEPING_H
#define HEDDLE_COMPILER_LINK_WORTHKEEPING_H

#include "compiler/Link/RoundingErrors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// Layers to keep in another precision.
struct WorthKeeping {
  /// In the syntax of --keep: "attention.self=int8".
  std::string option;
  /// The layers' share of the program's squared relative errors, and the bytes that keeping them
  /// adds.
  double share = 0;
  int64_t bytes = 0;
};

/// Returns at most three patterns of disjoint layers, the most gain per byte first. They can be
/// combined, also with `kept`, the patterns already requested. Empty if all parameters stored in
/// the program's precision `base` are exact.
std::vector<WorthKeeping> worthKeeping(llvm::ArrayRef<RoundingError> errors, llvm::StringRef base,
                                       llvm::ArrayRef<std::string> kept);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_WORTHKEEPING_H
