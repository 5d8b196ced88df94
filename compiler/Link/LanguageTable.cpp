// SPDX-License-Identifier: Apache-2.0
///
/// Names become numbers. The verifier has checked the dictionary.
#include "compiler/Link/LanguageTable.h"

#include "compiler/Link/ManifestTables.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

Offset<manifest::Languages> writeLanguages(ModuleOp module, FlatBufferBuilder &builder) {
  auto values = module->getAttrOfType<DictionaryAttr>("transformer.languages");
  if (!values) {
    return {};
  }
  auto names = values.getAs<ArrayAttr>("names");
  std::vector<Offset<flatbuffers::String>> written;
  for (auto name : names.getAsRange<StringAttr>()) {
    written.push_back(text(builder, name.getValue()));
  }
  // -1 for the name "", which no language has.
  const auto numberOf = [&](StringRef key) {
    const auto *const found = llvm::find(names, values.get(key));
    return found == names.end() ? -1 : static_cast<int32_t>(found - names.begin());
  };
  const ArrayRef<int32_t> tokens = values.getAs<DenseI32ArrayAttr>("tokens").asArrayRef();
  return manifest::CreateLanguages(
      builder, builder.CreateVector(written), builder.CreateVector(tokens.data(), tokens.size()),
      values.getAs<BoolAttr>("ends_source").getValue(),
      values.getAs<BoolAttr>("starts_target").getValue(), numberOf("source"), numberOf("target"));
}

} // namespace heddle
