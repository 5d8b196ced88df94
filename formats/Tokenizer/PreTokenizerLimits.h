// SPDX-License-Identifier: Apache-2.0
///
/// What heddlec packs of pre-tokenizers and the runtime has memory for.
#ifndef HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERLIMITS_H
#define HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERLIMITS_H

#include <cstddef>

namespace heddle {

/// The most steps of a sequence of pre-tokenizers.
inline constexpr size_t preTokenizerSteps = 8;

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_PRETOKENIZERLIMITS_H
