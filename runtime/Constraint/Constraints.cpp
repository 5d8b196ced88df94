// SPDX-License-Identifier: Apache-2.0
///
/// Finds constraints by their schemas.
#include "runtime/Constraint/Constraints.h"

#include <algorithm>

namespace heddle {

static constexpr size_t mostKept = 8;

Constraints::Constraints(Texts texts, std::vector<int32_t> end)
    : texts(std::move(texts)), end(std::move(end)) {}

Result<std::shared_ptr<Constraint>> Constraints::find(std::string_view schema) {
  // Held while a schema is parsed, so that concurrent requests for the same schema wait and find
  // it.
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(kept.begin(), kept.end(),
                                  [schema](const Kept &each) { return each.schema == schema; });
  if (found != kept.end()) {
    kept.splice(kept.begin(), kept, found);
    return kept.front().constraint;
  }
  if (tokens == nullptr) {
    HEDDLE_ASSIGN(std::vector<std::optional<std::string>> all, texts());
    tokens = std::make_shared<const TokenTexts>(std::move(all));
  }
  HEDDLE_ASSIGN(std::shared_ptr<Constraint> made, Constraint::create(schema, tokens, end));
  kept.push_front({std::string(schema), std::move(made)});
  if (kept.size() > mostKept) {
    kept.pop_back();
  }
  return kept.front().constraint;
}

} // namespace heddle
