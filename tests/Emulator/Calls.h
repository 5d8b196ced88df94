// SPDX-License-Identifier: Apache-2.0
///
/// The prologue of all functions of the emulated driver: it writes the journal, fails calls on
/// request, and checks that required calls have been made before.
#ifndef HEDDLE_TESTS_EMULATOR_CALLS_H
#define HEDDLE_TESTS_EMULATOR_CALLS_H

#include <mutex>
#include <string>

/// Marks a function that the library exports.
#define HEDDLE_EMULATED extern "C" __attribute__((visibility("default")))

namespace heddle::emulator {

/// CUresult: the codes that the emulated driver returns.
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

/// Every function of the driver locks it, so calls do not run concurrently.
std::recursive_mutex &lock();

/// The calls that must have been made before a function.
enum class Needs { Nothing, Init, Context };

/// Writes a call to the journal. Returns the code with which it has to fail, or Success: a
/// requested failure, a missing prerequisite, or an earlier error of a kernel.
int enter(const char *function, const std::string &arguments, Needs needs);

/// Reports an incorrect call, and returns `code`.
int complain(const char *function, const std::string &what, int code);

/// Returns a number from the environment.
long setting(const char *name, long otherwise);

/// initialize() records that cuInit was called; hasContext() returns whether this thread has a
/// context.
void initialize();
bool hasContext();

/// Whether this thread is capturing a stream: until the capture ends, few other calls are allowed.
bool &recordingThread();

/// After an error of a kernel, every call with a context fails until the context is released.
void poison(int code);
int poisoned();
void heal();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_CALLS_H
