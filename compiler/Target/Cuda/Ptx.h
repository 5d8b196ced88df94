// SPDX-License-Identifier: Apache-2.0
///
/// Joins PTX texts, and assembles PTX to a cubin.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_PTX_H
#define HEDDLE_COMPILER_TARGET_CUDA_PTX_H

#include "compiler/Target/Target.h"

namespace heddle {

/// Joins several PTX texts of LLVM for the same target: the common head once, then the functions of
/// all texts, in order.
Result<Code> joinPtx(llvm::ArrayRef<Code> texts);

/// Assembles PTX for a processor with the program ptxas at `path`. Errors: InvalidArgument if it
/// cannot be run or is not ptxas; Internal, with its output, if it rejects the PTX; InputOutput if
/// the temporary folder cannot be used.
Result<DeviceImage> assemblePtx(const Code &text, llvm::StringRef processor,
                                const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_PTX_H
