// SPDX-License-Identifier: Apache-2.0
///
/// Sorts a vocabulary.
#include "runtime/Constraint/TokenTexts.h"

#include <algorithm>

namespace heddle {

TokenTexts::TokenTexts(std::vector<std::optional<std::string>> given) : texts(std::move(given)) {
  for (size_t id = 0; id < texts.size(); ++id) {
    const size_t size = texts[id] ? texts[id]->size() : 0;
    if (size > 0) {
      (size > mostShortBytes ? longs : shorts).push_back({static_cast<int32_t>(id)});
    }
    longest = std::max(longest, size);
  }
  sort(shorts);
  sort(longs);
}

void TokenTexts::sort(std::vector<SortedToken> &tokens) const {
  std::sort(tokens.begin(), tokens.end(), [&](const SortedToken &a, const SortedToken &b) {
    return std::pair(of(a.id), a.id) < std::pair(of(b.id), b.id);
  });
  std::string_view before;
  for (SortedToken &token : tokens) {
    const std::string_view text = of(token.id);
    const auto differ = std::mismatch(text.begin(), text.end(), before.begin(), before.end());
    token.common = static_cast<uint32_t>(differ.first - text.begin());
    before = text;
  }
}

std::string_view TokenTexts::of(int32_t id) const {
  const bool isText =
      id >= 0 && static_cast<size_t>(id) < texts.size() && texts[static_cast<size_t>(id)];
  return isText ? std::string_view(*texts[static_cast<size_t>(id)]) : std::string_view();
}

} // namespace heddle
