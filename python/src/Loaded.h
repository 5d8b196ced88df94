// SPDX-License-Identifier: Apache-2.0
///
/// A loaded model and its state: sessions that calls take turns with, and the running batch of
/// generation that all callers share. Independent of Python.
#ifndef HEDDLE_PYTHON_LOADED_H
#define HEDDLE_PYTHON_LOADED_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "python/src/RunningBatch.h"
#include "runtime/Session/PagedDecoder.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace heddle::python {

/// The arguments of heddle.load().
struct LoadOptions {
  std::string isa;
  /// ModelOptions::device.
  std::string device;
  int threads = 1;
  bool verify = false;
  uint64_t cacheBytes = uint64_t(1) << 30;
  int64_t batchTokens = 4096;
  int64_t promptTokens = 512;
  int64_t promptTokensBeside = 16;
  bool sharePrefixes = true;
};

/// A model for any number of threads. Every call computes with its own session; as many are kept as
/// were ever used at once. Generation has one batch.
class Loaded {
public:
  static Result<std::shared_ptr<Loaded>> load(const std::string &path, const LoadOptions &options);

  const Model &model() const { return loaded; }
  const LoadOptions &options() const { return given; }

  /// A session for exclusive use until the lease is destroyed.
  class Lease {
  public:
    Lease(Loaded &owner, std::unique_ptr<Session> session)
        : owner(owner), session(std::move(session)) {}
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease();
    Session &operator*() const { return *session; }
    Session *operator->() const { return session.get(); }

  private:
    Loaded &owner;
    std::unique_ptr<Session> session;
  };
  std::unique_ptr<Session> takeSession();

  /// Returns the batch of all callers, which the first call creates.
  std::shared_ptr<RunningBatch> batch();
  /// Returns the log-probabilities of targets; one caller at a time.
  Result<std::vector<std::vector<float>>> score(std::span<const ScoringRequest> requests);
  /// As score(), for single texts in windows `stride` tokens apart; 0 means half of the positions.
  Result<std::vector<std::vector<float>>> scoreTexts(std::span<const std::vector<int32_t>> texts,
                                                     int64_t stride);

private:
  Loaded(Model model, LoadOptions options) : loaded(std::move(model)), given(std::move(options)) {}
  SessionOptions sessionOptions() const {
    return {.threads = given.threads,
            .cacheBytes = given.cacheBytes,
            .sharePrefixes = given.sharePrefixes};
  }
  GeneratorOptions generatorOptions() const {
    return {.session = sessionOptions(),
            .batchTokens = given.batchTokens,
            .promptTokens = given.promptTokens,
            .promptTokensBeside = given.promptTokensBeside};
  }
  /// Returns the generator that scores; its lock must be held.
  Result<Generator *> scoringGenerator();

  const Model loaded;
  const LoadOptions given;
  std::mutex mutex;
  std::vector<std::unique_ptr<Session>> idle;
  std::shared_ptr<RunningBatch> running;
  std::mutex scoring;
  std::unique_ptr<Generator> scorer;
};

} // namespace heddle::python

#endif // HEDDLE_PYTHON_LOADED_H
