// SPDX-License-Identifier: Apache-2.0
///
/// What every program asks of its sanitizer, as the distribution's LLVM and MLIR are not
/// instrumented.

/// LLVM's headers poison memory that its allocators hold; the libraries do not take that back when
/// they use it.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

/// What the libraries make once for all threads: nobody sees that they guard it.
extern "C" const char *__tsan_default_suppressions() {
  return "race:llvm::vfs::getRealFileSystem\n";
}
