// SPDX-License-Identifier: Apache-2.0
///
/// The journal, and failures on request.
#include "tests/Emulator/Calls.h"

#include "tests/Emulator/Emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace heddle::emulator {
namespace {
/// A requested failure.
struct Request {
  std::string function;
  long n = 0;
  int code = 0;
  long calls = 0;
  bool failed = false;
};
Request request;
std::string recorded;
bool isRecording = false;
bool isInitialized = false;
int sticky = Success;

/// Reads HEDDLE_EMULATOR_FAIL, once.
void readRequest() {
  static bool done = false;
  const char *const text = done ? nullptr : std::getenv("HEDDLE_EMULATOR_FAIL");
  done = true;
  const char *const colon = text == nullptr ? nullptr : std::strchr(text, ':');
  if (colon == nullptr) {
    return;
  }
  char *end = nullptr;
  const long n = std::strtol(colon + 1, &end, 10);
  if (end == colon + 1) {
    return;
  }
  const long code = *end == ':' ? std::strtol(end + 1, nullptr, 10) : long(OutOfMemory);
  request = {std::string(text, colon), n, static_cast<int>(code)};
}

std::FILE *journalFile() {
  static std::FILE *const file = [] {
    const char *const path = std::getenv("HEDDLE_EMULATOR_JOURNAL");
    return path == nullptr ? nullptr : std::fopen(path, "w");
  }();
  return file;
}

void write(const std::string &line) {
  if (std::FILE *const file = journalFile()) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fflush(file);
  }
  if (isRecording) {
    recorded += line + "\n";
  }
}

/// Returns the code with which a call has to fail on request.
int requested(const char *function) {
  readRequest();
  if (request.function != function || ++request.calls != request.n) {
    return Success;
  }
  request.failed = true;
  return request.code;
}
} // namespace

std::recursive_mutex &lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

long setting(const char *name, long otherwise) {
  const char *const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

void initialize() { isInitialized = true; }
void poison(int code) { sticky = sticky == Success ? code : sticky; }
int poisoned() { return sticky; }
void heal() { sticky = Success; }

bool &recordingThread() {
  static thread_local bool isRecording = false;
  return isRecording;
}

/// Returns whether a thread that captures a stream may call a function.
static bool mayWhileRecording(const char *function) {
  static constexpr const char *allowed[] = {
      "cuLaunchKernel",     "cuStreamEndCapture", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
      "cuStreamDestroy_v2", "cuGetErrorName",     "cuGetErrorString"};
  return std::any_of(std::begin(allowed), std::end(allowed),
                     [=](const char *each) { return std::strcmp(each, function) == 0; });
}

int enter(const char *function, const std::string &arguments, Needs needs) {
  write(std::string(function) + "(" + arguments + ")");
  if (const int code = requested(function)) {
    return code;
  }
  if (needs != Needs::Nothing && !isInitialized) {
    return complain(function, "before cuInit", NotInitialized);
  }
  if (needs == Needs::Context && !hasContext()) {
    return complain(function, "without a context", InvalidContext);
  }
  if (recordingThread() && !mayWhileRecording(function)) {
    return complain(function, "by a thread that records a stream", CaptureUnsupported);
  }
  return needs == Needs::Context ? sticky : int(Success);
}

int complain(const char *function, const std::string &what, int code) {
  std::fprintf(stderr, "emulated GPU: %s: %s\n", function, what.c_str());
  write(std::string("! ") + function + ": " + what);
  return code;
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED void heddle_emulator_fail(const char *function, long n, int code) {
  const std::lock_guard guard(lock());
  readRequest();
  request = function == nullptr ? Request() : Request{function, n, code};
}

HEDDLE_EMULATED int heddle_emulator_has_failed(void) { return request.failed ? 1 : 0; }

HEDDLE_EMULATED void heddle_emulator_record(void) {
  const std::lock_guard guard(lock());
  recorded.clear();
  isRecording = true;
}

HEDDLE_EMULATED size_t heddle_emulator_journal(char *text, size_t size) {
  const std::lock_guard guard(lock());
  isRecording = false;
  const size_t count = std::min(size, recorded.size());
  std::copy_n(recorded.data(), count, text);
  return count;
}
