// SPDX-License-Identifier: Apache-2.0
///
/// heddle verify: structure and every checksum of a compiled model; no code of it is run.
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/OutputStream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

Status execute(const VerifyOptions &options) {
  HEDDLE_ASSIGN(
      const Model model,
      Model::load(options.model, {.isa = {}, .verifyWeights = true, .describeOnly = true}));
  std::string line;
  if (options.json) {
    line = nlohmann::ordered_json{{"ok", true},
                                  {"file", model.path()},
                                  {"parameters", model.parameters().size()},
                                  {"weights_bytes", model.weightsSize()},
                                  {"entries", model.entries().size()},
                                  {"targets", model.targets()}}
               .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
