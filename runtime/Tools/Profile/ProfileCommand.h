// SPDX-License-Identifier: Apache-2.0
///
/// heddle profile: where a model spends its time.
#ifndef HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILECOMMAND_H

#include "runtime/Tools/Measure/Workload.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <optional>
#include <string>

namespace heddle::tools {

/// Which dispatches a row of the profile adds up.
enum class ProfileBy {
  /// Those whose names differ only in the number of the layer.
  Name,
  /// None: every dispatch has a row.
  Dispatch,
  /// Those in one layer.
  Layer,
  /// Those computed by the same kind of kernel.
  Kind,
};

struct ProfileOptions : SubcommandOptions, WorkOptions, ExecutionOptions {
  /// Texts, or lines of ids; empty: none.
  std::string input;
  bool tokens = false;
  /// Hypotheses for each text of `input`; unset: as the model says.
  std::optional<int32_t> beam;
  ProfileBy by = ProfileBy::Name;
  int64_t runs = 5;
  /// Files; empty: none.
  std::string trace;
  std::string output;
};
void declare(OptionList &list, ProfileOptions &options);
Status execute(const ProfileOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILECOMMAND_H
