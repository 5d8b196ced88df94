// SPDX-License-Identifier: Apache-2.0
///
/// Links objects to one ELF shared library, with lld in the same process, so that users need no
/// linker.
#ifndef HEDDLE_COMPILER_LINK_LINKER_H
#define HEDDLE_COMPILER_LINK_LINKER_H

#include "heddle/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <shared_mutex>
#include <string>

namespace heddle {

/// Whether undefined symbols are allowed: none, or those that the loading process provides.
enum class MissingSymbols : uint8_t { None, FoundOnLoading };

/// Links relocatable objects, in order, and returns the bytes of a shared library without
/// dependencies. Deterministic; no objects give a library without code. Errors: Internal with lld's
/// message; InputOutput if the temporary folder cannot be used.
Result<std::string> linkSharedObject(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                                     MissingSymbols missing = MissingSymbols::None);

/// lld has one context per process, and parses LLVM's global options again, which code generators
/// read. The linker holds this mutex exclusively; code generators share it.
std::shared_mutex &optionsMutex();

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_LINKER_H
