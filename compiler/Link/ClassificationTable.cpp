// SPDX-License-Identifier: Apache-2.0
///
/// The verifier has checked the dictionary.
#include "compiler/Link/ClassificationTable.h"

#include "compiler/Link/ManifestTables.h"
#include "heddle/Problem.h"

#include "mlir/IR/BuiltinAttributes.h"

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
  const std::optional<Problem> problem =
      findProblem(&ProblemInfo::name, values.getAs<StringAttr>("problem").getValue());
  assert(problem && "the verifier knows the same names");
  return manifest::CreateClassification(builder, builder.CreateVector(labels),
                                        static_cast<manifest::Problem>(*problem));
}

} // namespace heddle
