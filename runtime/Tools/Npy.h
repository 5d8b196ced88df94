// SPDX-License-Identifier: Apache-2.0
///
/// NumPy's .npy format, version 1.0: a header, then the values of a float32 matrix, row major.
#ifndef HEDDLE_RUNTIME_TOOLS_NPY_H
#define HEDDLE_RUNTIME_TOOLS_NPY_H

#include <cstdint>
#include <string>

namespace heddle::tools {

/// The header of a float32 matrix; the values (little endian) start right after it, at a multiple
/// of 64 bytes.
std::string npyHeader(int64_t rows, int64_t columns);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_NPY_H
