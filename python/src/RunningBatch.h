// SPDX-License-Identifier: Apache-2.0
///
/// One Generator for all callers: requests of any threads and coroutines join one running batch.
/// There is no thread of its own: whoever waits for an answer takes the steps, one caller at a
/// time, and the others sleep until a step is done. Knows nothing of Python.
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
/// batch, until finished.
struct Ticket {
  std::vector<GenerationResult> results;
  /// Requests that are not finished.
  size_t open = 0;
  /// What ended all of them.
  Status failure;
  /// What has happened to requests with GenerationOptions::events, until the caller takes it.
  std::vector<TokenEvent> events;
  /// Grows with the events, and when all are finished.
  uint64_t news = 0;
  /// Their ids in the generator.
  std::vector<int64_t> ids;
};

class RunningBatch {
public:
  using Clock = std::chrono::steady_clock;

  explicit RunningBatch(Generator generator)
      : runner(std::move(generator)), lastUse({runner.cacheUse(), runner.sharedTokens()}) {}

  /// For checks and texts, which any thread may ask for at any time; nothing else.
  const Generator &generator() const { return runner; }

  /// Queues requests: the longest sources of each thousand first, so that sentences
  /// that run together end together.
  /// At the places `blank` nothing is asked for: their results are empty.
  std::shared_ptr<Ticket> add(std::vector<GenerationRequest> requests,
                              const std::vector<size_t> &blank);

  /// Takes steps, or sleeps while another caller takes them, until the ticket has news since
  /// `seen` or the time is over. Whether all its requests are finished. What has happened goes to
  /// `events`, if there are any to fill: all of it, once all requests are finished.
  bool advance(Ticket &ticket, uint64_t &seen, Clock::time_point until,
               std::vector<TokenEvent> *events = nullptr);
  /// The same until anything has changed.
  void advanceAny(Clock::time_point until);

  /// Removes what is left of a ticket.
  void cancel(const std::shared_ptr<Ticket> &ticket);

  /// Whether a ticket is finished, or has changed since `seen`.
  bool hasNews(const Ticket &ticket, uint64_t seen);

  /// Memory of caches, and prompts that were taken over from other requests, after the last step.
  struct Use {
    CacheUse cache;
    int64_t sharedTokens = 0;
  };
  Use use();

private:
  /// Where a result goes.
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
  /// Whether a caller takes a step: only it touches the generator then.
  bool driving = false;
  Use lastUse;
  std::vector<Arrival> arrivals;
  std::vector<std::shared_ptr<Ticket>> leaving;
  std::unordered_map<int64_t, Place> places;
};

} // namespace heddle::python

#endif // HEDDLE_PYTHON_RUNNINGBATCH_H
