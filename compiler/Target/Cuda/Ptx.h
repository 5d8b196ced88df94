// SPDX-License-Identifier: Apache-2.0
///
/// PTX as text: several as one, and one as a cubin.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_PTX_H
#define HEDDLE_COMPILER_TARGET_CUDA_PTX_H

#include "compiler/Target/Target.h"

namespace heddle {

/// One PTX of several for the same target, as LLVM writes them: what it begins with, once, then the
/// functions of all, in order.
Result<Code> joinPtx(llvm::ArrayRef<Code> texts);

/// Assembles PTX by the program ptxas at `path`, for a processor. Errors: InvalidArgument if it
/// cannot be run or is no ptxas; Internal with what it says if it refuses the PTX; InputOutput when
/// the temporary folder cannot be used.
Result<DeviceImage> assemblePtx(const Code &text, llvm::StringRef processor,
                                const std::string &path);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_PTX_H
