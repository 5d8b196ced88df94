// SPDX-License-Identifier: Apache-2.0
///
/// The remaining resources of a render. Every operation whose time or memory depends on the
/// template is charged here first.
#ifndef HEDDLE_FORMATS_TEMPLATE_BUDGET_H
#define HEDDLE_FORMATS_TEMPLATE_BUDGET_H

#include "formats/Template/Template.h"
#include "formats/Template/Value.h"

#include <memory>
#include <string>
#include <vector>

namespace heddle::chat {

/// The steps of a value with its own memory, such as one character of a text that becomes a list:
/// with its place in the list, and while the list grows, about 150 bytes.
inline constexpr uint64_t stepsOfValue = 12;

class Budget {
public:
  explicit Budget(const RenderOptions &options) : options(options), steps(options.steps) {}

  /// Charges steps; ResourceExhausted if there are not enough.
  Status charge(uint64_t count);
  /// Charges the steps of a text of `bytes` bytes, which must not be too long.
  Status chargeBytes(size_t bytes);
  /// As above, for a text of `count` times `bytes` bytes.
  Status chargeBytes(size_t bytes, size_t count);

  /// Returns a charged text.
  Result<Value> text(std::string text);
  /// Return charged containers, which must not nest too deep.
  Result<Value> list(std::vector<Value> items);
  Result<Value> tuple(std::vector<Value> items);
  Result<Value> iterator(std::vector<Value> items);
  Result<Value> dict(std::shared_ptr<DictObject> dict);

  /// Returns a charged value that other values refer to without owning it: it lives as long as the
  /// budget.
  Result<Value> keep(Kind kind, std::unique_ptr<const Object> object);

  const RenderOptions &options;

private:
  Result<Value> checked(Value value, size_t items);
  uint64_t steps;
  std::vector<std::unique_ptr<const Object>> kept;
};

/// Charges the maximum cost of stripping the characters of a set.
Status chargeSet(Budget &budget, std::string_view text, std::string_view set);

/// Charges the cost of looking up a key.
Status chargeKey(Budget &budget, const Value &key);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_BUDGET_H
