// SPDX-License-Identifier: Apache-2.0
///
/// Compiles in a separate process, runs in this one.
#include "tests/EndToEnd/CompiledModel.h"

#include "base/ProcessorTargets.h"
#include "runtime/Device/Device.h"
#include "tests/runtime/Session/TestDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <ranges>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle {

int runCommand(const std::string &command, std::string &text) {
  text.clear();
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    return -1;
  }
  std::array<char, 4096> buffer;
  while (size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), count);
  }
  int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string readBytes(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

namespace {
/// One folder for all binaries of this process.
struct BinaryFolder {
  std::string path;
  std::map<std::string, std::string> compiled;

  BinaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~BinaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
} // namespace

static const char *const kHeddlec = HEDDLE_BINARY_DIR "/bin/heddlec";
static const char *const kEmulatingHeddlec = HEDDLE_BINARY_DIR "/tests/heddlec-emulated";

/// Creates the folder of these programs, and removes those of others.
static std::string createCodeFolder() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string version;
  // tests/benchmarks/gpu_test.py finds the folder as well.
  for (const char *compiler : {kHeddlec, kEmulatingHeddlec}) {
    struct stat file = {};
    ::stat(compiler, &file);
    version += (version.empty() ? "" : "-") + std::to_string(file.st_mtim.tv_sec) + "-" +
               std::to_string(file.st_mtim.tv_nsec) + "-" + std::to_string(file.st_size);
  }
  const fs::path all = HEDDLE_BINARY_DIR "/tests/code";
  const fs::path own = all / version;
  fs::create_directories(own, error);
  for (const fs::directory_entry &other : fs::directory_iterator(all, error)) {
    if (other.path() != own) {
      fs::remove_all(other.path(), error);
    }
  }
  return own.string();
}

std::string codeOfHeddlec() {
  static const std::string folder = createCodeFolder();
  return folder;
}

std::vector<std::string> usualTargets() {
  const ProcessorTarget *const avx512 = findProcessorTarget("x86-64-v4");
  const bool runsAll = avx512 != nullptr && avx512->isPresent();
  return runsAll ? std::vector<std::string>() : std::vector<std::string>{"native"};
}

std::string presentTargets() {
  // There is code for processors from x86-64-v3 on.
  constexpr InstructionSet leastOfCompiler = InstructionSet::Avx2;
  std::string option;
  // The least capable first.
  for (const ProcessorTarget &target : std::views::reverse(processorTargets())) {
    if (target.has(leastOfCompiler) && target.isPresent()) {
      option += (option.empty() ? "--target=" : ",") + std::string(target.name);
    }
  }
  return option;
}

std::string gpuTarget() {
  const char *const named = std::getenv("HEDDLE_TEST_TARGET");
  return named == nullptr ? "sm_80" : named;
}

std::string targetsOfBoth() { return "--target=x86-64-v3," + gpuTarget(); }

/// Compiles a model for some targets, separated by commas; empty: those of a binary by default.
static std::string compileFor(const std::string &targets, bool isEmulated, const std::string &input,
                              const std::vector<std::string> &arguments) {
  static BinaryFolder folder;
  std::string command = std::string(isEmulated ? kEmulatingHeddlec : kHeddlec) + " '" + input +
                        "' --code-cache '" + codeOfHeddlec() + "'";
  if (!targets.empty()) {
    command += " --target=" + targets;
  }
  for (const std::string &argument : arguments) {
    command += " '" + argument + "'";
  }
  std::string &path = folder.compiled[command];
  if (path.empty()) {
    std::string output = folder.path + "/" + std::to_string(folder.compiled.size()) + ".so", text;
    int code = runCommand(command + " -o " + output, text);
    EXPECT_EQ(code, 0) << command << "\n" << text;
    path = code == 0 ? output : "";
  }
  return path;
}

std::string compileModel(const std::string &input, const std::vector<std::string> &arguments) {
  const bool isEmulated = !testsCpu();
  const auto has = [&](std::string_view beginning) {
    return std::ranges::any_of(
        arguments, [&](const std::string &each) { return each.starts_with(beginning); });
  };
  // Products of tf32 are those of GPUs, which are then among the targets by default.
  const bool isOfGpus = has("--precision=tf32"), namesTargets = has("--target");
  std::string targets;
  if (isEmulated && !namesTargets) {
    targets = gpuTarget();
  } else if (!namesTargets && !isOfGpus && !usualTargets().empty()) {
    targets = usualTargets().front();
  }
  return compileFor(targets, isEmulated, input, arguments);
}

std::string compileByDefault(const std::string &input, const std::vector<std::string> &arguments) {
  return compileFor(/*targets=*/"", /*isEmulated=*/false, input, arguments);
}

Ragged randomSentences(int count, int longest, int vocabulary, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> length(1, longest), id(0, vocabulary - 1);
  Ragged batch;
  for (int i = 0; i < count; ++i) {
    std::vector<int32_t> sentence(length(random));
    std::generate(sentence.begin(), sentence.end(), [&] { return id(random); });
    batch.append(sentence);
  }
  return batch;
}

std::map<std::string, std::vector<float>> runModel(Session &session, const std::string &entry,
                                                   const Ragged &batch) {
  const EntryInfo *info = session.model().findEntry(entry);
  EXPECT_NE(info, nullptr) << entry;
  if (info == nullptr) {
    return {};
  }
  std::map<std::string, std::vector<float>> values;
  std::vector<Output> outputs;
  for (const PortInfo &port : info->outputs) {
    auto rows = static_cast<size_t>(port.rowsOf(batch.lengths));
    std::vector<float> &place = values[port.name];
    place.assign(rows * port.shape[1], std::numeric_limits<float>::quiet_NaN());
    outputs.push_back({port.name, place});
  }
  // Encoders of models that generate name their ids "source".
  std::vector<Input> inputs;
  for (const PortInfo &port : info->inputs) {
    if (!port.optional) {
      inputs.push_back({port.name, batch.ids});
    }
  }
  Status status = session.run(entry, batch.lengths, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok() ? values : std::map<std::string, std::vector<float>>();
}

std::map<std::string, std::vector<float>> runBinary(const std::string &path, const Ragged &batch,
                                                    const std::string &isa, int threads,
                                                    const std::string &entry) {
  auto model = Model::load(path, {.isa = isa, .device = anyDevice});
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) {
    return {};
  }
  auto session = Session::create(*model, {.threads = threads});
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? runModel(*session, entry, batch)
                      : std::map<std::string, std::vector<float>>();
}

float largestDifference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) {
    return std::numeric_limits<float>::infinity();
  }
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    float difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference;
    if (std::isnan(difference)) {
      return std::numeric_limits<float>::infinity();
    }
  }
  return largest;
}

std::vector<std::string> runnableTargets(const std::string &path) {
  auto model = Model::load(path, {.describeOnly = true});
  EXPECT_TRUE(model.ok()) << model.status().message();
  std::vector<std::string> runnable;
  for (const DeviceInfo &device : findDevices().found) {
    for (const std::string &name : device.targets) {
      if (model.ok() && std::ranges::count(model->targets(), name) > 0) {
        runnable.push_back(name);
      }
    }
  }
  EXPECT_FALSE(runnable.empty());
  return runnable;
}

} // namespace heddle
