// SPDX-License-Identifier: Apache-2.0
///
/// What several commands ask of a model and its entries.
#include "runtime/Base/Utf8.h"
#include "runtime/Tools/Commands.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace heddle::tools {

Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name) {
  const std::vector<EntryInfo> &entries = model.entries();
  if (name.empty() && !entries.empty()) {
    return &entries.front();
  }
  if (const EntryInfo *entry = model.findEntry(name)) {
    return entry;
  }
  std::vector<std::string_view> names;
  for (const EntryInfo &entry : entries) {
    names.push_back(entry.name);
  }
  return HEDDLE_ERROR(NotFound, fmt::format("{}: no entry {}, expected one of {}", model.path(),
                                            quote(name), fmt::join(names, ", ")));
}

Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry) {
  const auto first = std::find_if(entry.inputs.begin(), entry.inputs.end(),
                                  [](const PortInfo &input) { return !input.optional; });
  if (first == entry.inputs.end()) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{}: entry {} needs no input, expected one that gives the batch "
                                 "its shape",
                                 model.path(), quote(entry.name)));
  }
  return &*first;
}

Status checkTokenizer(const Model &model, std::string_view expected) {
  return model.hasTokenizer()
             ? Status()
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("{}: the model has no tokenizer, expected {}", model.path(),
                                        expected));
}

int64_t rowWidth(const PortInfo &output) {
  int64_t width = 1;
  for (const int64_t dimension : output.shape) {
    width *= dimension > 0 ? dimension : 1;
  }
  return width;
}

} // namespace heddle::tools
