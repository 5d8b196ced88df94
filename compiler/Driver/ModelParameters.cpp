// SPDX-License-Identifier: Apache-2.0
///
/// Releases the pages of a tensor after reading it.
#include "compiler/Driver/ModelParameters.h"

#include "compiler/Link/CompensatedValues.h"
#include "frontend/Import/CodesOfFiles.h"

namespace heddle {

ParameterSource parameterSource(const ImportedModel &model, const CompensatedValues *compensated,
                                NonFiniteWeights *noted) {
  const auto finishRead = [&model, noted](llvm::StringRef name, ElementType element,
                                          std::span<const std::byte> values, int64_t first,
                                          Status status) {
    model.checkpoint->releasePages(name.str());
    if (noted && status.ok()) {
      noted->see(name, element, values, first);
    }
    return status;
  };
  const auto read = [&model, finishRead](llvm::StringRef name, ElementType element,
                                         std::span<std::byte> to) {
    return finishRead(name, element, to, 0, model.checkpoint->read(name.str(), element, to));
  };
  const auto readPart = [&model, finishRead](llvm::StringRef name, ElementType element,
                                             int64_t first, std::span<std::byte> to) {
    return finishRead(name, element, to, first,
                      model.checkpoint->readPart(name.str(), element, first, to));
  };
  const auto codes = [&model, noted](llvm::StringRef name, transformer::QuantizedType type) {
    Result<CodeRows> rows = readCodes(*model.checkpoint, name.str(), type);
    model.checkpoint->releasePages(name.str());
    if (noted && rows.ok()) {
      noted->see(name, rows->scales);
    }
    return rows;
  };
  ParameterSource source(read, codes, compensated);
  source.setParts(
      {[&model](llvm::StringRef name) { return model.checkpoint->hasParts(name.str()); },
       readPart});
  return source;
}

} // namespace heddle
