// SPDX-License-Identifier: Apache-2.0
///
/// The table of families.
#include "frontend/Families/Family.h"

#include "frontend/Config/Config.h"
#include "runtime/Base/Utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

#define HEDDLE_FAMILY(modelType, build)                                                            \
  Result<FamilyModel> build(mlir::MLIRContext &context, const ModelSource &source);
#include "frontend/Families.def"

Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source) {
  static constexpr struct {
    std::string_view modelType;
    Result<FamilyModel> (*build)(mlir::MLIRContext &, const ModelSource &);
  } families[] = {
#define HEDDLE_FAMILY(modelType, build) {modelType, build},
#include "frontend/Families.def"
  };
  HEDDLE_ASSIGN(const std::string modelType, source.config.string("model_type"));
  std::vector<std::string_view> known;
  for (const auto &family : families) {
    if (family.modelType == modelType) {
      return family.build(context, source);
    }
    known.push_back(family.modelType);
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"model_type\" is {}, known are {}", source.config.where(),
                                  quote(modelType), fmt::join(known, ", ")));
}

} // namespace heddle
