// SPDX-License-Identifier: Apache-2.0
///
/// Objects to one ELF shared library, by lld within the process: a user needs no linker installed.
#ifndef HEDDLE_COMPILER_LINK_LINKER_H
#define HEDDLE_COMPILER_LINK_LINKER_H

#include "heddle/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <shared_mutex>
#include <string>

namespace heddle {

/// What a library may lack: nothing, or what is found where it is loaded.
enum class MissingSymbols : uint8_t { None, FoundOnLoading };

/// Links relocatable objects, in their order, to the bytes of a shared library that needs no other.
/// The same objects give the same bytes; none gives a library without code. Errors: Internal with
/// lld's message; InputOutput when the temporary folder cannot be used.
Result<std::string> linkSharedObject(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                                     MissingSymbols missing = MissingSymbols::None);

/// lld has one context a process, and parses LLVM's global options anew, which code generators
/// read. The linker holds this alone; whoever generates code shares it with others who do.
std::shared_mutex &optionsMutex();

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_LINKER_H
