// SPDX-License-Identifier: Apache-2.0
///
/// The programs of committed tiny models, as text.
#ifndef HEDDLE_TESTS_FRONTEND_FAMILIES_FAMILYPROGRAM_H
#define HEDDLE_TESTS_FRONTEND_FAMILIES_FAMILYPROGRAM_H

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "frontend/Families/Family.h"
#include "tests/frontend/Builder/PrintedModule.h"

#include "mlir/IR/MLIRContext.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace heddle {

/// Returns the program of a folder under tests/oracles, optionally with changes to its config.json.
inline std::string program(const std::string &name, bool locations = false,
                           std::optional<SentenceTransformers> sentence = std::nullopt,
                           const std::function<void(nlohmann::json &)> &change = nullptr) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/" + name;
  std::ifstream file(folder + "/config.json");
  nlohmann::json values = nlohmann::json::parse(file, nullptr, false);
  if (change) {
    change(values);
  }
  const Result<Config> config = Config::fromJson(values, folder + "/config.json");
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder);
  if (!config.ok() || !checkpoint.ok()) {
    ADD_FAILURE() << folder;
    return "";
  }
  mlir::MLIRContext context;
  const Result<FamilyModel> model =
      buildFamily(context, {*config, *checkpoint, std::move(sentence), std::nullopt});
  if (!model.ok()) {
    ADD_FAILURE() << model.status().message();
    return "";
  }
  // The module belongs to the context of this function.
  return printed(*model->module, locations);
}

} // namespace heddle

#endif // HEDDLE_TESTS_FRONTEND_FAMILIES_FAMILYPROGRAM_H
