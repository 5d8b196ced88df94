// SPDX-License-Identifier: Apache-2.0
///
/// Parses templates as the runtime does.
#include "compiler/Driver/ChatCheck.h"

#include "base/Utf8.h"
#include "formats/Template/Template.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace heddle {

Status checkChat(ModuleOp program, const CompileRequest &request) {
  constexpr llvm::StringLiteral attribute = "transformer.chat";
  auto settings = program->getAttrOfType<DictionaryAttr>(attribute);
  if (!request.chatTemplate) {
    program->removeAttr(attribute);
  }
  if (!settings || !request.chatTemplate) {
    return {};
  }
  for (auto each : settings.getAs<ArrayAttr>("templates").getAsRange<DictionaryAttr>()) {
    const std::string text = each.getAs<StringAttr>("text").str();
    const Status parsed = chat::Template::parse(text).status();
    if (!parsed.ok()) {
      const std::string name = each.getAs<StringAttr>("name").str();
      return HEDDLE_ERROR(Unsupported, (request.program.empty() ? request.path : request.name) +
                                           ": chat template " + quote(name) + ": " +
                                           std::string(parsed.message()) + "; " +
                                           std::string(request.names.chatTemplate) +
                                           " leaves chat templates out");
    }
  }
  return {};
}

} // namespace heddle
