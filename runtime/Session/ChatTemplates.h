// SPDX-License-Identifier: Apache-2.0
///
/// The chat templates of a model, ready to render.
#ifndef HEDDLE_RUNTIME_SESSION_CHATTEMPLATES_H
#define HEDDLE_RUNTIME_SESSION_CHATTEMPLATES_H

#include "formats/Binary/Manifest_generated.h"
#include "formats/Template/Template.h"
#include "heddle/Status.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads at once.
class ChatTemplates {
public:
  /// Parses the templates of a manifest; null: there are none. A template that this version does
  /// not understand fails when it is used.
  explicit ChatTemplates(const manifest::Chat *table);

  const std::vector<std::string> &names() const { return titles; }
  /// As Model::chatPrompt().
  Result<std::string> render(std::string_view conversation, std::string_view name) const;

private:
  Result<size_t> choose(bool hasTools, std::string_view name) const;

  std::vector<std::string> titles;
  std::vector<Result<chat::Template>> templates;
  std::vector<std::pair<std::string, std::string>> tokens;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CHATTEMPLATES_H
