// SPDX-License-Identifier: Apache-2.0
///
/// Hashing of files.
#include "frontend/Import/SourceHash.h"

#include "base/MappedFile.h"

#include <algorithm>
#include <fmt/format.h>
#include <xxhash.h>

namespace heddle {

/// Pages are given back after this many bytes.
static constexpr size_t pieceSize = size_t(4) << 20;

void SourceHash::Free::operator()(XXH3_state_s *state) const { XXH3_freeState(state); }

SourceHash::SourceHash() : state(XXH3_createState()) { XXH3_128bits_reset(state.get()); }

Status SourceHash::add(std::string_view role, const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  // Lengths keep two different lists of files from having the same text.
  const std::string head = fmt::format("{} {}\n", role, bytes.size());
  XXH3_128bits_update(state.get(), head.data(), head.size());
  for (size_t begin = 0; begin < bytes.size(); begin += pieceSize) {
    const auto piece = bytes.subspan(begin, std::min(pieceSize, bytes.size() - begin));
    XXH3_128bits_update(state.get(), piece.data(), piece.size());
    file.releasePages(piece);
  }
  return {};
}

void SourceHash::addText(std::string_view role, std::string_view text) {
  const std::string head = fmt::format("{} {}\n", role, text.size());
  XXH3_128bits_update(state.get(), head.data(), head.size());
  XXH3_128bits_update(state.get(), text.data(), text.size());
}

std::string SourceHash::digits() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

} // namespace heddle
