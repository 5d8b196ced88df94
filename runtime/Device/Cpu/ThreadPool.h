// SPDX-License-Identifier: Apache-2.0
///
/// A fixed team of threads that meet at barriers. Dispatches of a small batch take tens of
/// microseconds, so a waiting thread first spins and sleeps only after some time.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define HEDDLE_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include "heddle/Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <vector>

namespace heddle {

/// A pool of threads. The caller of run() is worker 0 and works with the others; a pool of one
/// starts no thread. Padding keeps the members that all threads write on separate cache lines.
class ThreadPool { // NOLINT(clang-analyzer-optin.performance.Padding)
public:
  /// Creates a pool of `threads` >= 1; ResourceExhausted if the system cannot start a thread.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  int threads() const { return count; }

  /// Starts the threads anew in a child of fork(), which has none of its parent's; does nothing in
  /// the process that has them. Call it before run(), by the same thread. ResourceExhausted when
  /// the system refuses a thread; a later call tries again.
  Status renew();

  /// Calls task(worker) on every worker, 0 to threads() - 1, and returns when all have finished.
  /// The task must not throw. Not thread-safe.
  template <typename Task> void run(Task &task) {
    runErased([](void *argument, int worker) { (*static_cast<Task *>(argument))(worker); }, &task);
  }

  /// Called inside a task: returns when every worker has called it. Writes of any worker before the
  /// barrier are visible to all workers after it.
  void barrier();

private:
  using ErasedTask = void (*)(void *argument, int worker);
  struct Worker {
    ThreadPool *pool;
    int index;
    pthread_t thread;
  };

  explicit ThreadPool(int threads);
  /// Returns when the generation is no longer `now`.
  void sleepWhile(uint32_t now);
  /// Starts the threads that do not run yet.
  Status start();
  /// Whether the threads were those of a process that this one was forked from.
  bool wasForked() const;
  void forget();
  void runErased(ErasedTask erased, void *argument);
  static void *workerMain(void *worker);

  const int count;
  // All workers but worker 0; the first `started` of them run. Not resized while they run.
  std::vector<Worker> workers;
  int started = 0;
  /// The forks that led to this process when the threads were started.
  uint32_t forks;
  ErasedTask task = nullptr;
  void *taskArgument = nullptr;
  bool stopping = false;
  // On separate cache lines: every arrival writes the first, and waiting threads poll the second.
  alignas(64) std::atomic<int> arrived = 0;
  alignas(64) std::atomic<uint32_t> generation = 0;
  static_assert(sizeof(generation) == sizeof(uint32_t), "the system waits for the number itself");
  /// The number of threads that the system has to wake.
  alignas(64) std::atomic<int> sleepers = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_THREADPOOL_H
