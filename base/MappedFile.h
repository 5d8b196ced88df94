// SPDX-License-Identifier: Apache-2.0
///
/// A whole file, mapped read-only. Its pages belong to the page cache: opening copies nothing,
/// processes share the pages, and releasePages() returns them while the mapping stays valid.
///
/// As with every mapping, access raises SIGBUS if another process truncates the file. Replace files
/// by renaming (AtomicFile.h), never by truncating them.
#ifndef HEDDLE_BASE_MAPPEDFILE_H
#define HEDDLE_BASE_MAPPEDFILE_H

#include "heddle/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// Owns one mapping; move-only. Reading from several threads is safe.
class MappedFile {
public:
  /// Maps a regular file of at least one byte. NotFound if it does not exist; InvalidArgument for a
  /// directory, a device, a pipe or an empty file; InputOutput if the system refuses.
  static Result<MappedFile> open(const std::string &path);
  /// As open(), for a file that is open already, which stays open; messages name it `path`.
  static Result<MappedFile> ofDescriptor(int descriptor, const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// Returns the contents, page-aligned. Valid as long as this object lives, even if it is moved.
  std::span<const std::byte> bytes() const { return contents; }
  /// Returns the contents as text.
  std::string_view text() const {
    return {reinterpret_cast<const char *>(contents.data()), contents.size()};
  }
  /// Returns the path that the file was opened by.
  const std::string &path() const { return name; }

  /// Releases the memory of the pages that hold `part` of bytes(). A later access reads them again
  /// from the file. This is a hint: it changes no value and cannot fail.
  void releasePages(std::span<const std::byte> part) const;

private:
  MappedFile(std::string path, std::span<const std::byte> contents)
      : name(std::move(path)), contents(contents) {}

  std::string name;
  std::span<const std::byte> contents;
};

} // namespace heddle

#endif // HEDDLE_BASE_MAPPEDFILE_H
