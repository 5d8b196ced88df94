// SPDX-License-Identifier: Apache-2.0
///
/// Threads that take the next number until there is none.
#include "base/ParallelFor.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <thread>
#include <vector>

namespace heddle {

unsigned processorCount() { return std::max(1U, std::thread::hardware_concurrency()); }

namespace {
struct Loop {
  size_t count;
  const std::function<void(size_t)> &work;
  std::atomic<size_t> next = 0;

  void run() {
    for (size_t i = next++; i < count; i = next++) {
      work(i);
    }
  }
};
} // namespace

void parallelFor(size_t count, const std::function<void(size_t)> &work, unsigned threads) {
  Loop loop{count, work};
  const auto start = [](void *argument) -> void * {
    static_cast<Loop *>(argument)->run();
    return nullptr;
  };
  std::vector<pthread_t> started;
  for (size_t i = 1; i < std::min<size_t>(threads, count); ++i) {
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, start, &loop) != 0) {
      break;
    }
    started.push_back(thread);
  }
  loop.run();
  for (const pthread_t thread : started) {
    ::pthread_join(thread, nullptr);
  }
}

} // namespace heddle
