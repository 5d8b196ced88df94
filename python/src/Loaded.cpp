// SPDX-License-Identifier: Apache-2.0
///
/// Creates sessions and generators on first use.
#include "python/src/Loaded.h"

#include "python/src/Errors.h"

namespace heddle::python {

Result<std::shared_ptr<Loaded>> Loaded::load(const std::string &path, const LoadOptions &options) {
  HEDDLE_ASSIGN(Model model, Model::load(path, {.isa = options.isa,
                                                .verifyWeights = options.verify,
                                                .device = options.device}));
  return std::shared_ptr<Loaded>(new Loaded(std::move(model), options));
}

std::unique_ptr<Session> Loaded::takeSession() {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Session> session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  return std::make_unique<Session>(take(Session::create(loaded, sessionOptions())));
}

Loaded::Lease::~Lease() {
  const std::lock_guard lock(owner.mutex);
  owner.idle.push_back(std::move(session));
}

std::shared_ptr<RunningBatch> Loaded::batch() {
  const std::lock_guard lock(mutex);
  if (running == nullptr) {
    running = std::make_shared<RunningBatch>(take(Generator::create(loaded, generatorOptions())));
  }
  return running;
}

Result<Generator *> Loaded::scoringGenerator() {
  if (scorer == nullptr) {
    HEDDLE_ASSIGN(Generator generator, Generator::create(loaded, generatorOptions()));
    scorer = std::make_unique<Generator>(std::move(generator));
  }
  return scorer.get();
}

Result<std::vector<std::vector<float>>> Loaded::score(std::span<const ScoringRequest> requests) {
  const std::lock_guard lock(scoring);
  HEDDLE_ASSIGN(Generator *const generator, scoringGenerator());
  return generator->score(requests);
}

Result<std::vector<std::vector<float>>>
Loaded::scoreTexts(std::span<const std::vector<int32_t>> texts, int64_t stride) {
  const std::lock_guard lock(scoring);
  HEDDLE_ASSIGN(Generator *const generator, scoringGenerator());
  return generator->scoreTexts(texts, stride);
}

} // namespace heddle::python
