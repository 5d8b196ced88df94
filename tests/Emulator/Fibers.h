// SPDX-License-Identifier: Apache-2.0
///
/// Fibers: control flows with a stack each. One runs at a time, until it switches to another.
#ifndef HEDDLE_TESTS_EMULATOR_FIBERS_H
#define HEDDLE_TESTS_EMULATOR_FIBERS_H

#include <cstddef>
#include <cstdint>

// swapcontext() calls the kernel for the signal mask, twice for each warp instruction of a lane,
// which takes ten times as long as a switch. But sanitizers only support swapcontext().
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
  /// Prepares a fiber that calls `function`, which must not return, when it is first switched to.
  void prepare(char *stack, size_t bytes, void (*function)());
  /// Suspends the running fiber as `this`, and resumes another one.
  void switchTo(Fiber &other);
  /// Returns whether an address is on its stack.
  bool hasOnStack(uint64_t address) const { return address - stackStart < stackBytes; }

private:
  uint64_t stackStart = 0;
  size_t stackBytes = 0;
#ifdef HEDDLE_FIBERS_BY_CONTEXTS
  ucontext_t context = {};
#else
  /// The saved stack pointer: callee-saved registers, and the address at which to continue.
  void *top = nullptr;
#endif
};

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_FIBERS_H
