// SPDX-License-Identifier: Apache-2.0
///
/// A switch saves callee-saved registers on the stack and changes the stack pointer; the caller
/// saves the others, as for any call.
#include "tests/Emulator/Fibers.h"

#include <algorithm>

#ifdef HEDDLE_FIBERS_BY_CONTEXTS

namespace heddle::emulator {

void Fiber::prepare(char *stack, size_t bytes, void (*function)()) {
  stackStart = reinterpret_cast<uint64_t>(stack);
  stackBytes = bytes;
  ::getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  context.uc_link = nullptr;
  ::makecontext(&context, function, 0);
}

void Fiber::switchTo(Fiber &other) { ::swapcontext(&context, &other.context); }

} // namespace heddle::emulator

#else

/// Saves the callee-saved registers of the x86-64 ABI, and resumes `next`.
extern "C" void heddle_emulator_switch(void **own, void *next);
__asm__(".text\n"
        ".hidden heddle_emulator_switch\n"
        ".globl heddle_emulator_switch\n"
        ".type heddle_emulator_switch, @function\n"
        "heddle_emulator_switch:\n"
        "  subq $48, %rsp\n"
        "  movq %rbx, 0(%rsp)\n"
        "  movq %rbp, 8(%rsp)\n"
        "  movq %r12, 16(%rsp)\n"
        "  movq %r13, 24(%rsp)\n"
        "  movq %r14, 32(%rsp)\n"
        "  movq %r15, 40(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  movq 0(%rsp), %rbx\n"
        "  movq 8(%rsp), %rbp\n"
        "  movq 16(%rsp), %r12\n"
        "  movq 24(%rsp), %r13\n"
        "  movq 32(%rsp), %r14\n"
        "  movq 40(%rsp), %r15\n"
        "  addq $48, %rsp\n"
        "  ret\n"
        ".size heddle_emulator_switch, . - heddle_emulator_switch\n");

namespace heddle::emulator {

void Fiber::prepare(char *stack, size_t bytes, void (*function)()) {
  stackStart = reinterpret_cast<uint64_t>(stack);
  stackBytes = bytes;
  // Six arbitrary register values, the function to call, and a null return address: at the
  // beginning of a function, the stack pointer is 8 bytes below a multiple of 16.
  constexpr size_t registers = 6, words = registers + 2;
  auto *const end = reinterpret_cast<uint64_t *>((stackStart + bytes) & ~uint64_t(15));
  uint64_t *const first = end - words;
  std::fill_n(first, words, 0);
  first[registers] = reinterpret_cast<uint64_t>(function);
  top = first;
}

void Fiber::switchTo(Fiber &other) { heddle_emulator_switch(&top, other.top); }

} // namespace heddle::emulator

#endif
