// SPDX-License-Identifier: Apache-2.0
///
/// Files of other formats that people hand to a compiler of models. Each is named for what it is,
/// with the command that gets the model in a format that is read.
#ifndef HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H
#define HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H

#include "heddle/Status.h"

#include <string>

namespace heddle {

/// The error for a file that is no program: what it is, and what to do.
Status refuseFile(const std::string &path);

/// Fails if a file that would be read from a model's folder is only a Git LFS pointer.
Status checkNoPointers(const std::string &folder);

/// Fails if a folder has weights only in formats that are not read; succeeds if it has
/// model.safetensors, its index, or none at all.
Status checkWeights(const std::string &folder);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_FOREIGNFORMAT_H
