// SPDX-License-Identifier: Apache-2.0
///
/// Looks up the exception class of a failure and raises it.
#include "python/src/Errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace heddle::python {

static void raise(const Failure &failure) {
  const std::string_view message = failure.status().message();
  const nb::object classes = nb::module_::import_("heddle._errors").attr("CLASSES");
  const auto code = static_cast<int>(failure.status().code());
  const nb::object type = classes[nb::int_(failure.wrongType() ? -1 : code)];
  // Paths may contain any bytes.
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  PyErr_SetObject(type.ptr(), text.ptr());
}

void translateFailures() {
  nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure &failure) {
      raise(failure);
    }
  });
}

void checkSignals() {
  if (PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

} // namespace heddle::python
