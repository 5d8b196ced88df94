// SPDX-License-Identifier: Apache-2.0
///
/// Missing tables are null offsets, which FlatBuffers omits.
#include "compiler/Link/PrecisionTables.h"

#include "compiler/Link/ManifestTables.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace heddle {

Offset<manifest::Codes> writeCodes(const std::optional<Quantization> &codes,
                                   FlatBufferBuilder &builder) {
  static_assert(static_cast<int>(manifest::CodeFormat::MAX) ==
                static_cast<int>(CodeFormat::CTranslate2));
  if (!codes) {
    return {};
  }
  auto kinds = builder.CreateVectorOfStrings(codes->kinds);
  return manifest::CreateCodes(builder, static_cast<manifest::CodeFormat>(codes->format), kinds,
                               static_cast<uint8_t>(codes->rowBits));
}

Offset<manifest::Calibration> writeCalibration(const std::optional<CalibrationFacts> &calibration,
                                               FlatBufferBuilder &builder) {
  if (!calibration) {
    return {};
  }
  return manifest::CreateCalibration(builder, text(builder, calibration->hash), calibration->texts,
                                     calibration->matrices);
}

Offset<flatbuffers::Vector<Offset<manifest::KeptLayers>>> writeKept(ModuleOp module,
                                                                    FlatBufferBuilder &builder) {
  auto precision = module->getAttrOfType<DictionaryAttr>("transformer.precision");
  if (!precision || precision.getAs<ArrayAttr>("kept").empty()) {
    return {};
  }
  Table<manifest::KeptLayers> table;
  for (auto kept : precision.getAs<ArrayAttr>("kept").getAsRange<DictionaryAttr>()) {
    const auto layers = text(builder, kept.getAs<StringAttr>("layers").getValue());
    const auto name = text(builder, kept.getAs<StringAttr>("precision").getValue());
    table.push_back(manifest::CreateKeptLayers(builder, layers, name,
                                               kept.getAs<IntegerAttr>("tensors").getInt(),
                                               kept.getAs<IntegerAttr>("bytes").getInt()));
  }
  return builder.CreateVector(table);
}

} // namespace heddle
