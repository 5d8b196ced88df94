// SPDX-License-Identifier: Apache-2.0
///
/// Pages of a tensor are given back once it was read.
#include "compiler/Driver/ModelParameters.h"

#include "compiler/Link/CompensatedValues.h"
#include "frontend/Import/CodesOfFiles.h"

namespace heddle {

ParameterSource parameterSource(const ImportedModel &model, const CompensatedValues *compensated,
                                NonFiniteWeights *noted) {
  const auto values = [&model, noted](llvm::StringRef name, ElementType element,
                                      std::span<std::byte> to) {
    Status status = model.checkpoint->read(name.str(), element, to);
    model.checkpoint->releasePages(name.str());
    if (noted && status.ok()) {
      noted->see(name, element, to);
    }
    return status;
  };
  const auto codes = [&model, noted](llvm::StringRef name, transformer::QuantizedType type) {
    Result<CodeRows> rows = readCodes(*model.checkpoint, name.str(), type);
    model.checkpoint->releasePages(name.str());
    if (noted && rows.ok()) {
      noted->see(name, rows->scales);
    }
    return rows;
  };
  ParameterSource source(values, codes, compensated);
  source.setParts(
      {[&model](llvm::StringRef name) { return model.checkpoint->hasParts(name.str()); },
       [&model, noted](llvm::StringRef name, ElementType element, int64_t first,
                       std::span<std::byte> to) {
         Status status = model.checkpoint->readPart(name.str(), element, first, to);
         model.checkpoint->releasePages(name.str());
         if (noted && status.ok()) {
           noted->see(name, element, to, first);
         }
         return status;
       }});
  return source;
}

} // namespace heddle
