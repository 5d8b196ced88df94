// SPDX-License-Identifier: Apache-2.0
///
/// Looks up families in the table of Families.def.
#include "frontend/Families/Family.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

#define HEDDLE_FAMILY(modelType, build)                                                            \
  Result<FamilyModel> build(mlir::MLIRContext &context, const ModelSource &source);
#include "frontend/Families.def"

using BuildFunction = Result<FamilyModel> (*)(mlir::MLIRContext &, const ModelSource &);

static constexpr struct {
  std::string_view modelType;
  BuildFunction build;
} families[] = {
#define HEDDLE_FAMILY(modelType, build) {modelType, build},
#include "frontend/Families.def"
};

static Result<BuildFunction> findFamily(const Config &config) {
  HEDDLE_ASSIGN(const std::string modelType, config.string("model_type"));
  std::vector<std::string_view> known;
  for (const auto &family : families) {
    if (family.modelType == modelType) {
      return family.build;
    }
    known.push_back(family.modelType);
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: \"model_type\" is {}, expected one of {}", config.where(),
                                  quote(modelType), fmt::join(known, ", ")));
}

Status checkFamily(const Config &config) { return findFamily(config).status(); }

Result<FamilyModel> buildFamily(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const BuildFunction build, findFamily(source.config));
  return build(context, source);
}

} // namespace heddle
