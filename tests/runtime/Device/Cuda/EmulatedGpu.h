// SPDX-License-Identifier: Apache-2.0
///
/// Access to the emulated GPU (tests/Emulator) for tests.
#ifndef HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_EMULATEDGPU_H
#define HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_EMULATEDGPU_H

#include "tests/Emulator/Emulator.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {

/// The library that the process finds, as the runtime does.
class EmulatedGpu {
public:
  static EmulatedGpu &get() {
    static EmulatedGpu gpu;
    return gpu;
  }

  HeddleEmulatorFail *fail = find<HeddleEmulatorFail>("heddle_emulator_fail");
  HeddleEmulatorHasFailed *hasFailed = find<HeddleEmulatorHasFailed>("heddle_emulator_has_failed");
  HeddleEmulatorRecord *record = find<HeddleEmulatorRecord>("heddle_emulator_record");

  HeddleEmulatorExecuted *executed = find<HeddleEmulatorExecuted>("heddle_emulator_executed");

  /// Returns the calls since record(), one per line.
  std::string journal() const {
    return read(find<HeddleEmulatorJournal>("heddle_emulator_journal"));
  }
  /// Returns the lines of it that begin with `function`.
  std::vector<std::string> calls(const std::string &function) const {
    std::vector<std::string> found;
    std::istringstream lines(journal());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(function + "(")) {
        found.push_back(line);
      }
    }
    return found;
  }
  /// Returns the resources that were not released; empty if there are none.
  std::string leaks() const { return read(find<HeddleEmulatorLeaks>("heddle_emulator_leaks")); }

private:
  template <typename Function> static Function *find(const char *name) {
    static void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *const address = library == nullptr ? nullptr : ::dlsym(library, name);
    if (address == nullptr) {
      ADD_FAILURE() << "libcuda.so.1 is not the emulated GPU's";
      std::abort();
    }
    return reinterpret_cast<Function *>(address);
  }
  template <typename Function> static std::string read(Function *function) {
    std::string text(size_t(1) << 20, '\0');
    text.resize(function(text.data(), text.size()));
    return text;
  }
};

/// Sets an environment variable during its lifetime.
class Setting {
public:
  Setting(const char *name, const char *value) : name(name) { ::setenv(name, value, 1); }
  Setting(const Setting &) = delete;
  Setting &operator=(const Setting &) = delete;
  ~Setting() { ::unsetenv(name); }

private:
  const char *name;
};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_DEVICE_CUDA_EMULATEDGPU_H
