// SPDX-License-Identifier: Apache-2.0
///
/// The parts of checkManifest() that look at several entries together: caches they share, and how
/// the model generates. The compiler checks what it writes with the same code.
#ifndef HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H
#define HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Status.h"

#include <string_view>

namespace heddle {

/// The entries and ports of a model that generates, by their names.
inline constexpr std::string_view encodeEntry = "encode";
inline constexpr std::string_view decodeEntry = "decode";
inline constexpr std::string_view logitsOutput = "logits";
inline constexpr std::string_view attentionOutput = "attention";

/// The entry of that name, or null.
const manifest::Entry *findEntry(const manifest::Manifest &model, std::string_view name);
/// The number of the output of that name, or -1. What is observed is no output by its name alone.
int32_t findOutput(const manifest::Entry &entry, std::string_view name);

/// Caches of one name have one type, and exactly one entry appends to them. The entries must have
/// passed their own checks.
Status checkSharedCaches(const manifest::Manifest &model);

/// The input that ids of an entry go to: the first that must be given, or null.
const manifest::Port *findIds(const manifest::Entry &entry);

/// Token ids and defaults, if the model has any. All that is generated can be read again.
Status checkGeneration(const manifest::Manifest &model);

} // namespace heddle

#endif // HEDDLE_FORMATS_BINARY_GENERATIONCHECK_H
