// SPDX-License-Identifier: Apache-2.0
///
/// Errors for parts of a tokenizer's table that this version cannot use.
#ifndef HEDDLE_RUNTIME_TOKENIZER_PARTERRORS_H
#define HEDDLE_RUNTIME_TOKENIZER_PARTERRORS_H

#include "heddle/Status.h"

#include <fmt/format.h>
#include <string_view>

namespace heddle {

/// Returns the failure for a kind that only a later version's schema has.
template <typename Kind> Status unknownKind(std::string_view what, Kind kind, Kind known) {
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("tokenizer: {} of kind {}, expected at most {}", what,
                                  static_cast<int>(kind), static_cast<int>(known)));
}

/// Returns the failure for a part that the table names but does not contain.
inline Status missingPart(std::string_view what) {
  return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the {} is missing", what));
}

/// Returns the failure for a sequence inside a sequence, which no writer produces.
inline Status nestedSequence(std::string_view what) {
  return HEDDLE_ERROR(
      DataLoss, fmt::format("tokenizer: a sequence of {} inside another, expected none", what));
}

/// Returns the failure for a text that must not be empty.
inline Status emptyText(std::string_view what) {
  return HEDDLE_ERROR(DataLoss, fmt::format("tokenizer: the {} is empty", what));
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_PARTERRORS_H
