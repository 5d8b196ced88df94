// SPDX-License-Identifier: Apache-2.0
///
/// Passes ownership of memory to NumPy.
#include "python/src/Arrays.h"

namespace nb = nanobind;

namespace heddle::python {

nb::object arrayOf(std::vector<float> values, std::vector<size_t> shape) {
  auto kept = std::make_unique<std::vector<float>>(std::move(values));
  float *const data = kept->data();
  const nb::capsule owner(kept.get(), [](void *pointer) noexcept {
    delete static_cast<std::vector<float> *>(pointer);
  });
  // From here on, the capsule owns the memory.
  (void)kept.release();
  return nb::cast(nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner));
}

} // namespace heddle::python
