// SPDX-License-Identifier: Apache-2.0
///
/// Chat templates: the subset of Jinja that published models use, with the settings of Hugging
/// Face's transformers and with Python's semantics. A template is checked completely when it is
/// parsed: unsupported constructs are rejected with line and column. Rendering always ends and uses
/// bounded memory, whatever the template does.
#ifndef HEDDLE_FORMATS_TEMPLATE_TEMPLATE_H
#define HEDDLE_FORMATS_TEMPLATE_TEMPLATE_H

#include "heddle/Status.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::chat {

/// The maximum size of a template that is read, in bytes.
inline constexpr size_t templateLimit = size_t(1) << 20;

struct RenderOptions {
  /// The time of strftime_now(); unset: the local time.
  std::optional<std::tm> now = {};
  /// The limit on steps. A step is an expression or statement, a scope in which a variable is
  /// searched for, an item of a list that is made or read, or 16 bytes of a text. New values with
  /// their own memory, such as the characters of a text that becomes a list, are several steps
  /// each.
  uint64_t steps = 20'000'000;
  /// The maximum size of the prompt and of intermediate texts, in bytes.
  size_t bytes = size_t(16) << 20;
};

struct Block;

/// Immutable, and cheap to copy. Threads may share it.
class Template {
public:
  /// Parses and checks a template. Messages begin with "line 3, column 8: ".
  static Result<Template> parse(std::string_view text);

  /// Renders the template. `variables` is an object in the order of its text; other variables are
  /// undefined.
  Result<std::string> render(const nlohmann::ordered_json &variables,
                             const RenderOptions &options = {}) const;

private:
  explicit Template(std::shared_ptr<const Block> root) : root(std::move(root)) {}
  std::shared_ptr<const Block> root;
};

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_TEMPLATE_H
