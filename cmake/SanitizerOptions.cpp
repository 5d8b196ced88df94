// SPDX-License-Identifier: Apache-2.0
///
/// What every program asks of the address sanitizer. LLVM's headers poison memory that its
/// allocators hold; the distribution's LLVM and MLIR, which are not instrumented, do not take that
/// back when they use it.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
