// SPDX-License-Identifier: Apache-2.0
///
/// The state of a session between calls.
#ifndef HEDDLE_RUNTIME_SESSION_SESSIONSTATE_H
#define HEDDLE_RUNTIME_SESSION_SESSIONSTATE_H

#include "heddle/Session.h"
#include "runtime/Session/Executor.h"
#include "runtime/Session/PagedDecoder.h"

#include <memory>
#include <vector>

namespace heddle {

struct Session::State {
  /// A plan and its request.
  struct Prepared {
    size_t entry;
    std::vector<bool> requested;
    Plan plan;
  };

  State(const Model &model, const SessionOptions &options, std::shared_ptr<Executor> executor);
  const Plan &planFor(size_t entry);
  /// Returns the decoder, which is created on first use and uses the session's threads.
  Result<PagedDecoder *> decoder();

  Model model;
  SessionOptions options;
  /// The index of the first dispatch of each entry in the list of costs, followed by the total
  /// number.
  std::vector<size_t> firstCosts;
  std::shared_ptr<Executor> executor;
  std::vector<std::unique_ptr<Prepared>> prepared;
  std::unique_ptr<PagedDecoder> ownDecoder;
  Batch batch;
  // Scratch of embed(), reused between calls.
  std::vector<int32_t> lengths;
  std::vector<int32_t> ids;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_SESSIONSTATE_H
