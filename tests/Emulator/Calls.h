// SPDX-License-Identifier: Apache-2.0
///
/// What all functions of the emulated driver begin with: the journal, failures on request, and
/// whether the process has done what must come before.
#ifndef HEDDLE_TESTS_EMULATOR_CALLS_H
#define HEDDLE_TESTS_EMULATOR_CALLS_H

#include <mutex>
#include <string>

/// Marks a function that the library exports.
#define HEDDLE_EMULATED extern "C" __attribute__((visibility("default")))

namespace heddle::emulator {

/// CUresult: those that the emulated driver gives.
enum Code : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  CaptureUnsupported = 900,
  Unknown = 999
};

/// All functions take it: the emulated driver does one thing at a time.
std::recursive_mutex &lock();

/// What must have come before a call.
enum class Needs { Nothing, Init, Context };

/// Writes a call down. The code it is to fail with, if any: on request, because what it needs is
/// missing, or because a kernel has gone wrong before.
int enter(const char *function, const std::string &arguments, Needs needs);

/// Reports a mistake of the caller, and answers `code`.
int complain(const char *function, const std::string &what, int code);

/// A number of the environment.
long setting(const char *name, long otherwise);

/// Whether cuInit was called; whether this thread has a context.
void initialize();
bool hasContext();

/// Whether this thread records a stream: it may call little else until it ends that.
bool &recordingThread();

/// After a kernel went wrong every call with a context fails, until the context is given back.
void poison(int code);
int poisoned();
void heal();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_CALLS_H
