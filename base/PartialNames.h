// SPDX-License-Identifier: Apache-2.0
///
/// The names of files and folders that must not outlive the program: unfinished outputs, and the
/// linker's files.
#ifndef HEDDLE_BASE_PARTIALNAMES_H
#define HEDDLE_BASE_PARTIALNAMES_H

#include <string>

namespace heddle {

/// Adds a name to the list. This happens before the file is created, so that no file exists
/// unlisted. Returns null if the list is full.
char *enlist(const std::string &path);

/// Removes a name once its file is gone; does nothing for null.
void delist(char *name);

/// Removes all listed names from the disk, for a program that ends at once: files, and folders with
/// the files in them. Safe in signal handlers and from any thread. The list has room for 64 names.
void removePartialFiles() noexcept;

} // namespace heddle

#endif // HEDDLE_BASE_PARTIALNAMES_H
