// SPDX-License-Identifier: Apache-2.0
///
/// Checks the structure and every checksum of a compiled model, without running any of its code.
#include "runtime/Tools/Commands.h"

#include "heddle/Session.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

void declare(OptionList &list, VerifyOptions &options) { declareModel(list, options); }

Status execute(const VerifyOptions &options) {
  HEDDLE_ASSIGN(
      const Model model,
      Model::load(options.model, {.isa = {}, .verifyWeights = true, .describeOnly = true}));
  std::string line;
  if (options.json) {
    line = jsonText({{"ok", true},
                     {"file", model.path()},
                     {"parameters", model.parameters().size()},
                     {"weights_bytes", model.weightsSize()},
                     {"entries", model.entries().size()},
                     {"targets", model.targets()}});
  } else {
    line = fmt::format("ok: {}: {} parameters, {} bytes of weights, {} entries, targets {}",
                       model.path(), model.parameters().size(), model.weightsSize(),
                       model.entries().size(), fmt::join(model.targets(), ", "));
  }
  OutputStream output = OutputStream::standard();
  HEDDLE_TRY(output.write(line + "\n"));
  return output.finish();
}

} // namespace heddle::tools
