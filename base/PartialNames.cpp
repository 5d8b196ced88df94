// SPDX-License-Identifier: Apache-2.0
///
/// A signal handler may interrupt the functions below anywhere, so a name is added or removed in
/// one atomic step. The function that removes a name owns its memory.
#include "base/PartialNames.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle {

using NameList = std::array<std::atomic<char *>, 64>;
static NameList partialNames;
/// The names whose files removePartialFiles() has removed: a signal handler cannot free them.
static NameList removedNames;

/// Adds a name and returns whether there was room.
static bool putInto(NameList &list, char *name) {
  for (std::atomic<char *> &slot : list) {
    char *free = nullptr;
    if (slot.compare_exchange_strong(free, name)) {
      return true;
    }
  }
  return false;
}

char *enlist(const std::string &path) {
  char *const copy = ::strdup(path.c_str());
  if (copy != nullptr && putInto(partialNames, copy)) {
    return copy;
  }
  std::free(copy);
  return nullptr;
}

void delist(char *name) {
  if (name == nullptr) {
    return;
  }
  for (NameList *list : {&partialNames, &removedNames}) {
    for (std::atomic<char *> &slot : *list) {
      char *listed = name;
      if (slot.compare_exchange_strong(listed, nullptr)) {
        std::free(name);
        return;
      }
    }
  }
}

/// Removes the files of a folder by system calls: readdir() allocates, which a signal handler must
/// not do.
static void removeFiles(int folder) noexcept {
  alignas(dirent64) char entries[4096];
  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
    ::lseek(folder, 0, SEEK_SET);
    long bytes = 0;
    while ((bytes = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
      for (long at = 0; at < bytes;) {
        const auto *entry = reinterpret_cast<const dirent64 *>(entries + at);
        isChanged |= ::unlinkat(folder, entry->d_name, 0) == 0;
        at += entry->d_reclen;
      }
    }
  }
}

static void removeFolder(const char *path) noexcept {
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    removeFiles(folder);
    ::close(folder);
    ::rmdir(path);
  }
}

void removePartialFiles() noexcept {
  for (std::atomic<char *> &slot : partialNames) {
    if (char *const path = slot.exchange(nullptr)) {
      if (::unlink(path) != 0 && errno == EISDIR) {
        removeFolder(path);
      }
      // If there is no room, the memory is leaked until the program ends.
      static_cast<void>(putInto(removedNames, path));
    }
  }
}

} // namespace heddle
