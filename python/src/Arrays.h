// SPDX-License-Identifier: Apache-2.0
///
/// NumPy arrays: read in place, and created from memory that Heddle has filled.
#ifndef HEDDLE_PYTHON_ARRAYS_H
#define HEDDLE_PYTHON_ARRAYS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::python {

/// [n] of int32, [n, width] of float32, and a writable [n, width] of float32.
using Ids =
    nanobind::ndarray<const int32_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Floats =
    nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using FloatsOut =
    nanobind::ndarray<float, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

inline std::span<const int32_t> spanOf(const Ids &ids) { return {ids.data(), ids.shape(0)}; }
inline std::span<const float> spanOf(const Floats &rows) {
  return {rows.data(), rows.shape(0) * rows.shape(1)};
}

/// Returns an array that owns the values of a list.
nanobind::object arrayOf(std::vector<float> values, std::vector<size_t> shape);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_ARRAYS_H
