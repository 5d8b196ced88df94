// SPDX-License-Identifier: Apache-2.0
///
/// One Generator for all callers: requests of any threads and coroutines join one running batch. It
/// has no thread: callers that wait for an answer run the steps, one caller at a time, while the
/// others sleep until a step is done. Independent of Python.
#ifndef HEDDLE_PYTHON_RUNNINGBATCH_H
#define HEDDLE_PYTHON_RUNNINGBATCH_H

#include "heddle/Generation.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace heddle::python {

/// Some requests of one caller and their results, in the order of the requests. Guarded by the
/// batch until finished.
struct Ticket {
  std::vector<GenerationResult> results;
  /// The number of unfinished requests.
  size_t open = 0;
  /// The failure that ended all of them.
  Status failure;
  /// The events of requests with GenerationOptions::events that the caller has not taken yet.
  std::vector<TokenEvent> events;
  /// Incremented with each event, and when all are finished.
  uint64_t news = 0;
  /// Their ids in the generator.
  std::vector<int64_t> ids;
};

class RunningBatch {
public:
  using Clock = std::chrono::steady_clock;

  explicit RunningBatch(Generator generator)
      : runner(std::move(generator)), lastUse({runner.cacheUse(), runner.sharedTokens()}) {}

  /// Returns the generator, for checks and texts only, which any thread may request at any time.
  const Generator &generator() const { return runner; }

  /// Queues requests, the longest sources of each thousand first, so that sentences that run
  /// together end together. The requests at indices `blank` are skipped: their results are empty.
  std::shared_ptr<Ticket> add(std::vector<GenerationRequest> requests,
                              const std::vector<size_t> &blank);

  /// Runs steps, or sleeps while another caller runs them, until the ticket has news since `seen`
  /// or the time is over. Returns whether all its requests are finished. Moves the events to
  /// `events`, unless null: all of them, once all requests are finished.
  bool advance(Ticket &ticket, uint64_t &seen, Clock::time_point until,
               std::vector<TokenEvent> *events = nullptr);
  /// As advance(), until anything has changed.
  void advanceAny(Clock::time_point until);

  /// Removes the unfinished requests of a ticket.
  void cancel(const std::shared_ptr<Ticket> &ticket);

  /// Returns whether a ticket is finished, or has changed since `seen`.
  bool hasNews(const Ticket &ticket, uint64_t seen);

  /// The memory use of caches, and the number of reused prompt tokens, after the last step.
  struct Use {
    CacheUse cache;
    int64_t sharedTokens = 0;
  };
  Use use();

private:
  /// The destination of a result.
  struct Place {
    std::shared_ptr<Ticket> ticket;
    size_t index = 0;
  };
  struct Arrival {
    std::shared_ptr<Ticket> ticket;
    size_t index = 0;
    GenerationRequest request;
  };

  void step(std::unique_lock<std::mutex> &lock);
  void letIn();
  void letOut();
  void close(Ticket &ticket, size_t index, GenerationResult result);
  void deliver(Result<std::vector<GenerationResult>> finished);

  std::mutex mutex;
  std::condition_variable changed;
  Generator runner;
  /// Whether a caller runs a step: only that caller accesses the generator then.
  bool driving = false;
  Use lastUse;
  std::vector<Arrival> arrivals;
  std::vector<std::shared_ptr<Ticket>> leaving;
  std::unordered_map<int64_t, Place> places;
};

} // namespace heddle::python

#endif // HEDDLE_PYTHON_RUNNINGBATCH_H
