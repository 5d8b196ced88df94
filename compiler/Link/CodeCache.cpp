// SPDX-License-Identifier: Apache-2.0
///
/// A file contains a checksum and an object.
#include "compiler/Link/CodeCache.h"

#include "base/AtomicFile.h"
#include "base/MappedFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <array>
#include <cstring>
#include <xxhash.h>

namespace heddle {

/// In canonical (big-endian) form, so that a name is the same on every machine.
using Digest = std::array<unsigned char, sizeof(XXH128_canonical_t)>;

static Digest digestOf(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Digest digest;
  std::memcpy(digest.data(), &canonical, digest.size());
  return digest;
}

Result<CodeCache> CodeCache::open(const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    return HEDDLE_ERROR(InputOutput, folder + ": cannot be made a folder: " + error.message());
  }
  // What is there already may be anything.
  if (!llvm::sys::fs::is_directory(folder)) {
    return HEDDLE_ERROR(InputOutput, folder + ": is a file, expected a folder");
  }
  return CodeCache(folder);
}

std::string CodeCache::keyOf(llvm::StringRef compilerIdentity, const CodeUnit &unit) {
  // The terminator separates the identity from the source.
  std::string all = compilerIdentity.str() + '\0';
  all.append(unit.source.begin(), unit.source.end());
  return llvm::toHex(digestOf(XXH3_128bits(all.data(), all.size())), /*LowerCase=*/true);
}

std::optional<Code> CodeCache::find(const std::string &key) const {
  const Result<MappedFile> file = MappedFile::open(pathOf(key));
  if (!file.ok() || file->text().size() < sizeof(Digest)) {
    return std::nullopt;
  }
  const std::string_view code = file->text().substr(sizeof(Digest));
  const Digest digest = digestOf(XXH3_128bits(code.data(), code.size()));
  if (std::memcmp(file->text().data(), digest.data(), digest.size()) != 0) {
    return std::nullopt;
  }
  return Code(code.begin(), code.end());
}

Status CodeCache::store(const std::string &key, llvm::ArrayRef<char> code) const {
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(pathOf(key)));
  const Digest digest = digestOf(XXH3_128bits(code.data(), code.size()));
  HEDDLE_TRY(file.write(std::as_bytes(std::span(digest))));
  HEDDLE_TRY(file.write(std::string_view(code.data(), code.size())));
  return file.commit();
}

} // namespace heddle
