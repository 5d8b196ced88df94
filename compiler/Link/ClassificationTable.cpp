// SPDX-License-Identifier: Apache-2.0
///
/// The verifier has checked the dictionary.
#include "compiler/Link/ClassificationTable.h"

#include "compiler/Link/ManifestTables.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

Offset<manifest::Classification> writeClassification(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.classification");
  if (!values) {
    return {};
  }
  std::vector<Offset<flatbuffers::String>> labels;
  for (auto label : values.getAs<ArrayAttr>("labels").getAsRange<StringAttr>()) {
    labels.push_back(text(builder, label.getValue()));
  }
  const auto problem =
      llvm::StringSwitch<manifest::Problem>(values.getAs<StringAttr>("problem").getValue())
          .Case("regression", manifest::Problem::Regression)
          .Case("multi_label", manifest::Problem::MultiLabel)
          .Default(manifest::Problem::SingleLabel);
  return manifest::CreateClassification(builder, builder.CreateVector(labels), problem);
}

} // namespace heddle
