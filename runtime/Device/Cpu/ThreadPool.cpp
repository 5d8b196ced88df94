// SPDX-License-Identifier: Apache-2.0
///
/// Threads and their barrier.
#include "runtime/Device/Cpu/ThreadPool.h"

#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

/// The polls before a waiting thread sleeps. A pause is 10 to 50 ns, so this is 20 to 100
/// microseconds: more than the differences between dispatches, less than a scheduler's time slice.
static constexpr int spins = 2000;
/// The polls before a waiting thread starts to yield between polls: with more threads than
/// processors, the thread that it waits for may need this processor.
static constexpr int ownSpins = 256;
static constexpr int spinsBetweenYields = 64;
/// A yield that took longer has run other threads. Yielding again would wait for all of them each
/// time, a tenth of a second or more if dozens compete; a sleeping thread is woken in time.
static constexpr std::chrono::microseconds longestYield{100};

static void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

/// Yields the processor and returns whether other threads ran in the meantime.
static bool yieldToOthers() {
  const auto begin = std::chrono::steady_clock::now();
  ::sched_yield();
  return std::chrono::steady_clock::now() - begin > longestYield;
}

void ThreadPool::sleepWhile(uint32_t now) {
  // Not std::atomic::wait, which yields several times before it sleeps. All threads access the
  // number of sleepers and the generation in one total order: either the last thread to arrive sees
  // this sleeper, or the generation has changed when the system checks it.
  // one, or the generation has changed when the system looks at it.
  sleepers.fetch_add(1);
  while (generation.load() == now) {
    ::syscall(SYS_futex, &generation, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
  }
  sleepers.fetch_sub(1);
}

void ThreadPool::barrier() {
  if (count == 1) {
    return;
  }
  const uint32_t now = generation.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    // No thread arrives at the next barrier before the generation has changed.
    arrived.store(0, std::memory_order_relaxed);
    generation.store(now + 1);
    if (sleepers.load() > 0) {
      ::syscall(SYS_futex, &generation, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(),
                nullptr, nullptr, 0);
    }
    return;
  }
  for (int i = 0; i < spins; ++i) {
    if (generation.load(std::memory_order_acquire) != now) {
      return;
    }
    if (i >= ownSpins && i % spinsBetweenYields == 0 && yieldToOthers()) {
      break;
    }
    pause();
  }
  sleepWhile(now);
}

void *ThreadPool::workerMain(void *argument) {
  const Worker &worker = *static_cast<Worker *>(argument);
  ThreadPool &pool = *worker.pool;
  while (true) {
    // The first barrier starts a task, the second ends it.
    pool.barrier();
    if (pool.stopping) {
      return nullptr;
    }
    pool.task(pool.taskArgument, worker.index);
    pool.barrier();
  }
}

void ThreadPool::runErased(ErasedTask erased, void *argument) {
  task = erased;
  taskArgument = argument;
  barrier();
  erased(argument, 0);
  barrier();
}

/// Counts the forks that led to this process; relaxed, as a child begins with one thread.
static std::atomic<uint32_t> forksSoFar = 0;

/// The number of forks, counted from the first call on.
static uint32_t countForks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forksSoFar; });
  static_cast<void>(registered);
  return forksSoFar.load(std::memory_order_relaxed);
}

ThreadPool::ThreadPool(int threads) : count(threads), forks(countForks()) {
  for (int i = 1; i < threads; ++i) {
    workers.push_back(Worker{this, i, {}});
  }
}

bool ThreadPool::wasForked() const { return forks != countForks(); }

/// Takes the pool to be one whose threads have not been started: those that it knows of are in
/// another process, and may have been anywhere.
void ThreadPool::forget() {
  forks = countForks();
  started = 0;
  stopping = false;
  arrived.store(0);
  sleepers.store(0);
}

Status ThreadPool::renew() {
  if (wasForked()) {
    forget();
  }
  return started == count - 1 ? Status() : start();
}

Status ThreadPool::start() {
  // Signals are the program's own threads' affair.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  int error = 0;
  while (error == 0 && started < count - 1) {
    Worker &worker = workers[static_cast<size_t>(started)];
    error = pthread_create(&worker.thread, nullptr, workerMain, &worker);
    if (error == 0) {
      pthread_setname_np(worker.thread, "heddle-worker");
      ++started;
    }
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) {
    // The caller of run() is the first.
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("cannot start thread {} of {}: {}", started + 2, count,
                                    std::generic_category().message(error)));
  }
  return {};
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
  HEDDLE_TRY(pool->start());
  return pool;
}

ThreadPool::~ThreadPool() {
  if (wasForked()) {
    forget();
  }
  stopping = true;
  // This thread also arrives on behalf of those that could not be started.
  arrived.fetch_add(count - 1 - started, std::memory_order_acq_rel);
  barrier();
  for (int i = 0; i < started; ++i) {
    pthread_join(workers[static_cast<size_t>(i)].thread, nullptr);
  }
}

} // namespace heddle
