// SPDX-License-Identifier: Apache-2.0
///
/// Determines which caller runs steps, which callers sleep, and which result belongs to whom.
#include "python/src/RunningBatch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle::python {

/// The number of requests that are sorted together.
static constexpr size_t sortedTogether = 1024;

std::shared_ptr<Ticket> RunningBatch::add(std::vector<GenerationRequest> requests,
                                          const std::vector<size_t> &blank) {
  auto ticket = std::make_shared<Ticket>();
  ticket->results.resize(requests.size() + blank.size());
  ticket->open = requests.size();
  std::vector<Arrival> sorted;
  sorted.reserve(requests.size());
  auto skipped = blank.begin();
  for (size_t place = 0; GenerationRequest &request : requests) {
    for (; skipped != blank.end() && *skipped == place; ++skipped) {
      ++place;
    }
    sorted.push_back({ticket, place++, std::move(request)});
  }
  const auto longer = [](const Arrival &a, const Arrival &b) {
    const auto sizeOf = [](const GenerationRequest &request) {
      return request.source.size() + request.rows.size() + request.prefix.size();
    };
    const size_t first = sizeOf(a.request), second = sizeOf(b.request);
    return first != second ? first > second : a.index < b.index;
  };
  for (size_t i = 0; i < sorted.size(); i += sortedTogether) {
    const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = std::min(sortedTogether, sorted.size() - i);
    std::sort(begin, begin + static_cast<std::ptrdiff_t>(count), longer);
  }
  const std::lock_guard lock(mutex);
  std::move(sorted.begin(), sorted.end(), std::back_inserter(arrivals));
  // Callers that sleep until something changes now have work.
  changed.notify_all();
  return ticket;
}

void RunningBatch::close(Ticket &ticket, size_t index, GenerationResult result) {
  ticket.results[index] = std::move(result);
  if (--ticket.open == 0) {
    ++ticket.news;
  }
}

/// Adds queued requests to the generator; the caller holds the lock and drives.
void RunningBatch::letIn() {
  for (Arrival &arrival : arrivals) {
    const Result<int64_t> id = runner.add(std::move(arrival.request));
    if (id.ok()) {
      arrival.ticket->ids.push_back(*id);
      places.emplace(*id, Place{arrival.ticket, arrival.index});
    } else {
      close(*arrival.ticket, arrival.index, {0, id.status(), {}});
    }
  }
  arrivals.clear();
}

/// Removes cancelled tickets from the generator; nobody drives, or the caller does.
void RunningBatch::letOut() {
  for (const std::shared_ptr<Ticket> &ticket : leaving) {
    std::erase_if(arrivals, [&](const Arrival &arrival) { return arrival.ticket == ticket; });
    for (const int64_t id : ticket->ids) {
      if (places.erase(id) != 0) {
        // It exists, because its result was not returned yet.
        (void)runner.remove(id).ok();
      }
    }
    ticket->open = 0;
    ++ticket->news;
  }
  leaving.clear();
}

void RunningBatch::deliver(Result<std::vector<GenerationResult>> finished) {
  if (!finished.ok()) {
    // The batch cannot continue: all running requests end with the failure.
    for (auto &[id, place] : places) {
      place.ticket->failure = finished.status();
      place.ticket->open = 0;
      ++place.ticket->news;
      (void)runner.remove(id).ok();
    }
    places.clear();
    return;
  }
  // Events first: those of a request precede its result.
  for (TokenEvent &event : runner.takeEvents()) {
    if (const auto found = places.find(event.id); found != places.end()) {
      found->second.ticket->events.push_back(std::move(event));
      ++found->second.ticket->news;
    }
  }
  for (GenerationResult &result : *finished) {
    const auto found = places.find(result.id);
    if (found != places.end()) {
      const Place place = found->second;
      places.erase(found);
      close(*place.ticket, place.index, std::move(result));
    }
  }
}

/// Runs one step of the generator, during which the lock is released.
void RunningBatch::step(std::unique_lock<std::mutex> &lock) {
  driving = true;
  struct Drive {
    RunningBatch &batch;
    ~Drive() {
      batch.driving = false;
      batch.changed.notify_all();
    }
  } const drive{*this};
  letOut();
  letIn();
  if (runner.idle()) {
    return;
  }
  lock.unlock();
  Result<std::vector<GenerationResult>> finished = runner.step();
  lock.lock();
  deliver(std::move(finished));
  letOut();
  lastUse = {runner.cacheUse(), runner.sharedTokens()};
}

bool RunningBatch::advance(Ticket &ticket, uint64_t &seen, Clock::time_point until,
                           std::vector<TokenEvent> *events) {
  std::unique_lock lock(mutex);
  while (ticket.open > 0 && ticket.news == seen && Clock::now() < until) {
    if (driving) {
      changed.wait_until(lock, until);
    } else {
      step(lock);
    }
  }
  seen = ticket.news;
  if (events != nullptr) {
    *events = std::exchange(ticket.events, {});
  }
  return ticket.open == 0;
}

void RunningBatch::advanceAny(Clock::time_point until) {
  std::unique_lock lock(mutex);
  if (driving || (arrivals.empty() && leaving.empty() && runner.idle())) {
    changed.wait_until(lock, until);
  } else {
    step(lock);
  }
}

void RunningBatch::cancel(const std::shared_ptr<Ticket> &ticket) {
  const std::lock_guard lock(mutex);
  if (ticket->open == 0) {
    return;
  }
  leaving.push_back(ticket);
  if (!driving) {
    letOut();
  }
  changed.notify_all();
}

bool RunningBatch::hasNews(const Ticket &ticket, uint64_t seen) {
  const std::lock_guard lock(mutex);
  return ticket.open == 0 || ticket.news != seen;
}

RunningBatch::Use RunningBatch::use() {
  const std::lock_guard lock(mutex);
  return lastUse;
}

} // namespace heddle::python
