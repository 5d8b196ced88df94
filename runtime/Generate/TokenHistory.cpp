// SPDX-License-Identifier: Apache-2.0
///
/// Chains of equal tokens: a repeated n-gram ends with the last token, so only the earlier
/// positions of that token are examined.
#include "runtime/Generate/TokenHistory.h"

#include <algorithm>
#include <numeric>

namespace heddle {

TokenHistory::TokenHistory(std::vector<int32_t> given)
    : tokens(std::move(given)), earlier(tokens.size(), none) {
  std::vector<int32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  const auto tokenAt = [this](int32_t place) { return tokens[static_cast<size_t>(place)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(tokenAt(a), a) < std::pair(tokenAt(b), b);
  });
  for (const int32_t place : order) {
    if (!sorted.empty() && sorted.back() == tokenAt(place)) {
      earlier[static_cast<size_t>(place)] = latest.back();
      latest.back() = place;
    } else {
      sorted.push_back(tokenAt(place));
      latest.push_back(place);
    }
  }
}

void TokenHistory::add(int32_t token) {
  const auto place = static_cast<int32_t>(tokens.size());
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), token);
  const auto last = latest.begin() + (found - sorted.begin());
  tokens.push_back(token);
  if (found != sorted.end() && *found == token) {
    earlier.push_back(*last);
    *last = place;
  } else {
    earlier.push_back(none);
    latest.insert(last, place);
    sorted.insert(found, token);
  }
}

void TokenHistory::findRepeated(size_t size, std::vector<int32_t> &found) const {
  if (size == 1) {
    found.insert(found.end(), sorted.begin(), sorted.end());
    return;
  }
  // The last tokens, followed by one to come.
  const size_t known = size - 1;
  if (tokens.size() < known) {
    return;
  }
  const auto group = tokens.end() - static_cast<std::ptrdiff_t>(known);
  for (int32_t place = earlier.back(); place != none; place = earlier[static_cast<size_t>(place)]) {
    const size_t end = static_cast<size_t>(place) + 1;
    const auto before = tokens.begin() + static_cast<std::ptrdiff_t>(end);
    if (end >= known &&
        std::equal(group, tokens.end(), before - static_cast<std::ptrdiff_t>(known))) {
      found.push_back(*before);
    }
  }
}

} // namespace heddle
