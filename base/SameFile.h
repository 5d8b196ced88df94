// SPDX-License-Identifier: Apache-2.0
///
/// Whether two paths are one file, so that a program does not replace what it reads.
#ifndef HEDDLE_BASE_SAMEFILE_H
#define HEDDLE_BASE_SAMEFILE_H

#include <string>

namespace heddle {

/// Whether writing `a` changes `b`: both are one regular file by whatever names, or no file yet and
/// one name of one folder. Devices and pipes are never replaced.
bool isSameFile(const std::string &a, const std::string &b);

} // namespace heddle

#endif // HEDDLE_BASE_SAMEFILE_H
