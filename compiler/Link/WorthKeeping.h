// SPDX-License-Identifier: Apache-2.0
///
/// Which layers are worth a finer precision: where the error of their weights goes away for the
/// fewest bytes. What a layer's error does to results is not known here; that all matrices count
/// alike, whatever their size, is the one assumption.
#ifndef HEDDLE_COMPILER_LINK_WORTHKEEPING_H
#define HEDDLE_COMPILER_LINK_WORTHKEEPING_H

#include "compiler/Link/RoundingErrors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// Layers to be kept in another precision.
struct WorthKeeping {
  /// As --keep takes it: "attention.self=int8".
  std::string option;
  /// The part of the program's squared relative errors that is these layers', and the bytes that
  /// keeping them adds.
  double share = 0;
  int64_t bytes = 0;
};

/// At most three patterns of layers that have nothing in common, the most worth by byte first. They
/// can be asked for together, and beside `kept`, the patterns that were asked for already. Empty
/// where all that is stored in the program's precision `base` is exact.
std::vector<WorthKeeping> worthKeeping(llvm::ArrayRef<RoundingError> errors, llvm::StringRef base,
                                       llvm::ArrayRef<std::string> kept);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_WORTHKEEPING_H
