// SPDX-License-Identifier: Apache-2.0
///
/// The emulated GPU (tests/Emulator) in the hands of a test.
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

  /// What was called since record(), a line each.
  std::string journal() const {
    return read(find<HeddleEmulatorJournal>("heddle_emulator_journal"));
  }
  /// The lines of it that begin so.
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
  /// What was not given back; empty if nothing is.
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

/// Sets a variable of the environment while it lives.
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
