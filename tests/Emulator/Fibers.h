// SPDX-License-Identifier: Apache-2.0
///
/// Flows of control with a stack each, of which one runs at a time until it says who is next.
#ifndef HEDDLE_TESTS_EMULATOR_FIBERS_H
#define HEDDLE_TESTS_EMULATOR_FIBERS_H

#include <cstddef>
#include <cstdint>

// swapcontext() asks the kernel for the signal mask, twice for each instruction of a lane: ten
// times the time of a switch. Sanitizers know of swapcontext() and of nothing else.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEDDLE_FIBERS_BY_CONTEXTS 1
#endif
#endif
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_FIBERS_BY_CONTEXTS 1
#endif

#ifdef HEDDLE_FIBERS_BY_CONTEXTS
#include <ucontext.h>
#endif

namespace heddle::emulator {

class Fiber {
public:
  /// One that calls `function`, which must not return, when it is first switched to.
  void prepare(char *stack, size_t bytes, void (*function)());
  /// Leaves the one that runs, which is to go on as `this`, for another one.
  void switchTo(Fiber &other);
  /// Whether an address is of its frames.
  bool hasOnStack(uint64_t address) const { return address - stackStart < stackBytes; }

private:
  uint64_t stackStart = 0;
  size_t stackBytes = 0;
#ifdef HEDDLE_FIBERS_BY_CONTEXTS
  ucontext_t context = {};
#else
  /// Where it goes on: what it must find in registers again, and an address of code.
  void *top = nullptr;
#endif
};

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_FIBERS_H
