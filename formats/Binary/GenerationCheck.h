// SPDX-License-Identifier: Apache-2.0
///
/// The parts of checkManifest(), each in a separate source file, and queries on the entries of a
/// model that generates.
#ifndef HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H
#define HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// Checks an entry. `model` must have passed the checks of its parameters and kernels.
Status checkEntry(const manifest::Entry &entry, const manifest::Manifest &model);

/// The names of the entries and ports of a model that generates.
inline constexpr std::string_view encodeEntry = "encode";
inline constexpr std::string_view decodeEntry = "decode";
inline constexpr std::string_view logitsOutput = "logits";
inline constexpr std::string_view classifyEntry = "classify";
inline constexpr std::string_view attentionOutput = "attention";

/// Returns the entry of that name, or null.
const manifest::Entry *findEntry(const manifest::Manifest &model, std::string_view name);
/// Returns the index of the output of that name, or -1. Observed outputs are not found by name.
int32_t findOutput(const manifest::Entry &entry, std::string_view name);

/// Checks that caches of one name have one type, and that exactly one entry appends to each. The
/// entries must have passed their own checks.
Status checkSharedCaches(const manifest::Manifest &model);

/// Checks that rows of a past and the rows of outputs that follow them in files are of the same
/// elements; DataLoss with the reason.
Status checkPrecedingRows(const manifest::Manifest &model);

/// Returns the input for an entry's ids: the first required one, or null.
const manifest::Port *findIds(const manifest::Entry &entry);

/// Checks token ids and defaults, if the model has any. Every generated id must be a valid input.
Status checkGeneration(const manifest::Manifest &model);

/// Checks that a classifier has an entry "classify" with a score for each label.
Status checkClassification(const manifest::Manifest &model);

/// Checks that languages belong to a model with sources, and that the tokenizer has a place for
/// their tokens.
Status checkLanguages(const manifest::Manifest &model);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H
