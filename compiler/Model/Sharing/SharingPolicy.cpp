// SPDX-License-Identifier: Apache-2.0
///
/// Parses a policy: a word with a colon begins a kind; the numbers up to the next one are its block
/// sizes.
#include "compiler/Model/Sharing/SharingPolicy.h"

#include "base/Utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace llvm;

namespace heddle {

/// More layers than any model has, so that sums of sizes cannot overflow.
static constexpr int64_t mostLayers = 100000;

int64_t SharingPolicy::Kind::layers() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

std::string SharingPolicy::Kind::text() const {
  auto texts = map_range(sizes, [](int64_t size) { return std::to_string(size); });
  return std::string(spellingOf(kind)->policyName) + ":" + join(texts, ",");
}

std::string SharingPolicy::text() const {
  return join(map_range(kinds, [](const Kind &kind) { return kind.text(); }), ",");
}

FailureOr<SharingPolicy> parseSharingPolicy(StringRef text, std::string &reason) {
  SharingPolicy policy;
  SmallVector<StringRef> words;
  text.split(words, ',');
  for (StringRef word : words) {
    size_t colon = word.find(':');
    if (colon != StringRef::npos) {
      StringRef name = word.take_front(colon);
      auto spelling = &AttentionSpelling::policyName;
      const AttentionSpelling *known = findAttentionKind(name, spelling);
      if (!known) {
        reason = "kind " + quote(name.str()) + ", expected " + attentionKindChoices("", spelling);
        return failure();
      }
      if (any_of(policy.kinds, [&](const auto &before) { return before.kind == known->kind; })) {
        reason = "kind " + quote(name.str()) + " again, expected it once";
        return failure();
      }
      policy.kinds.push_back({known->kind, {}});
      word = word.drop_front(colon + 1);
    }
    if (policy.kinds.empty()) {
      reason = quote(word.str()) + " before any kind, expected for example self:1,5";
      return failure();
    }
    int64_t size = 0;
    if (word.getAsInteger(10, size) || size < 1 || size > mostLayers) {
      reason = quote(word.str()) + " as the size of a block, expected a number from 1 to " +
               std::to_string(mostLayers);
      return failure();
    }
    policy.kinds.back().sizes.push_back(size);
  }
  return policy;
}

} // namespace heddle
