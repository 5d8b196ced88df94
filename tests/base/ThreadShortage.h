// SPDX-License-Identifier: Apache-2.0
///
/// While one exists, this process can start no thread: the stacks that new threads ask for are
/// larger than any address space.
#ifndef HEDDLE_TESTS_BASE_THREADSHORTAGE_H
#define HEDDLE_TESTS_BASE_THREADSHORTAGE_H

#include <gtest/gtest.h>

#include <pthread.h>

namespace heddle {

class ThreadShortage {
public:
  ThreadShortage() {
    pthread_getattr_default_np(&before);
    pthread_attr_t large = before;
    pthread_attr_setstacksize(&large, size_t(1) << 60);
    pthread_setattr_default_np(&large);
    pthread_t thread;
    const auto nothing = [](void *) -> void * { return nullptr; };
    EXPECT_NE(pthread_create(&thread, nullptr, nothing, nullptr), 0) << "threads can be started";
  }
  ThreadShortage(const ThreadShortage &) = delete;
  ThreadShortage &operator=(const ThreadShortage &) = delete;
  ~ThreadShortage() { pthread_setattr_default_np(&before); }

private:
  pthread_attr_t before;
};

} // namespace heddle

#endif // HEDDLE_TESTS_BASE_THREADSHORTAGE_H
