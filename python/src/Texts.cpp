// SPDX-License-Identifier: Apache-2.0
///
/// Returns the UTF-8 of strings, and names of types.
#include "python/src/Texts.h"

#include "python/src/Errors.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace heddle::python {

std::string typeName(nb::handle object) {
  return nb::cast<std::string>(nb::handle(object.type()).attr("__name__"));
}

std::string_view textOf(nb::handle object, std::string_view what) {
  if (!PyUnicode_Check(object.ptr())) {
    wrongType(fmt::format("{} is {}, expected str", what, typeName(object)));
  }
  Py_ssize_t size = 0;
  const char *const data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    invalid(fmt::format("{} has a surrogate, which is no character, expected Unicode text", what));
  }
  return {data, static_cast<size_t>(size)};
}

} // namespace heddle::python
