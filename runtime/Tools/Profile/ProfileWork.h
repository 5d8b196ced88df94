// SPDX-License-Identifier: Apache-2.0
///
/// The work that `heddle profile` repeats: batches of an entry, generation from synthetic sources,
/// or the texts of a file. Everything is read and converted to ids before the first run.
#ifndef HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEWORK_H
#define HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEWORK_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Measure/CountedLaunches.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// A piece of work, with the session or generator that runs it.
class ProfileWork {
public:
  virtual ~ProfileWork() = default;
  /// Returns a title such as "32x128", "1x1, 24 to 24 tokens" or "texts.txt".
  virtual std::string title() const = 0;
  /// Returns the number of tokens that a run reads or generates, for rates.
  virtual int64_t tokens() const = 0;
  /// Runs all of it once.
  virtual Status run() = 0;

  virtual std::vector<DispatchProfile> profile() const = 0;
  virtual std::vector<DispatchRun> trace() const = 0;
  virtual void resetProfile() = 0;
  /// Returns how the logits of all runs were used; empty if nothing is generated.
  virtual SelectionUse selection() const { return {}; }
  /// Returns what all runs have told the device.
  virtual std::vector<CountedLaunches> launches() const = 0;
};

/// The number of dispatch runs that a trace records for each thread.
inline constexpr int64_t tracedRuns = int64_t(1) << 20;

/// Creates the work that the options name, in order, followed by a caller's `texts`, if there are
/// any.
Result<std::vector<std::unique_ptr<ProfileWork>>>
makeProfileWork(const Model &model, const ProfileOptions &options,
                std::span<const std::string> texts = {});

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEWORK_H
