// SPDX-License-Identifier: Apache-2.0
///
/// Templates and tokens as they are in the attribute.
#include "compiler/Link/ChatTable.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <vector>

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

static std::vector<Offset<manifest::NamedText>> writeTexts(ArrayAttr texts,
                                                           FlatBufferBuilder &builder) {
  std::vector<Offset<manifest::NamedText>> written;
  for (auto each : texts.getAsRange<DictionaryAttr>()) {
    const std::string name = each.getAs<StringAttr>("name").str();
    const std::string text = each.getAs<StringAttr>("text").str();
    written.push_back(
        manifest::CreateNamedText(builder, builder.CreateString(name), builder.CreateString(text)));
  }
  return written;
}

Offset<manifest::Chat> writeChat(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.chat");
  if (!values) {
    return {};
  }
  const auto templates =
      builder.CreateVector(writeTexts(values.getAs<ArrayAttr>("templates"), builder));
  const auto tokens = builder.CreateVector(writeTexts(values.getAs<ArrayAttr>("tokens"), builder));
  return manifest::CreateChat(builder, templates, tokens);
}

} // namespace heddle
