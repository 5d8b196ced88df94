// SPDX-License-Identifier: Apache-2.0
///
/// Python strings as UTF-8, without copies: the interpreter keeps the bytes with the string.
#ifndef HEDDLE_PYTHON_TEXTS_H
#define HEDDLE_PYTHON_TEXTS_H

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace heddle::python {

/// Returns the UTF-8 of a str, valid as long as the object lives. `what` begins the message about
/// an object that is not a str, or has surrogates.
std::string_view textOf(nanobind::handle object, std::string_view what);

/// Returns the name of an object's type in messages.
std::string typeName(nanobind::handle object);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_TEXTS_H
