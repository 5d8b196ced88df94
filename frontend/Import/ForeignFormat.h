// SPDX-License-Identifier: Apache-2.0
///
/// Recognises files of unsupported formats. The message names the format and the command that gets
/// the model in a supported one.
#ifndef HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H
#define HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H

#include "heddle/Status.h"

#include <string>

namespace heddle {

/// The error for a file that is not a program: what it is, and what to do about it.
Status refuseFile(const std::string &path);

/// Fails if a file is only a Git LFS pointer.
Status checkNoPointer(const std::string &path);

/// Fails if a file that the importer would read from a model's folder is only a Git LFS pointer.
Status checkNoPointers(const std::string &folder);

/// Fails if a folder has weights in unsupported formats only. Succeeds if it has model.safetensors,
/// its index, or no weights at all.
Status checkWeights(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H
