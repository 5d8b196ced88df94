// SPDX-License-Identifier: Apache-2.0
///
/// Launches a kernel several times, and takes the best rate: disturbances, and clocks that are not
/// up yet, only lower it.
#include "runtime/Device/Cuda/CudaRoofs.h"

#include "heddle/Abi.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

/// What a launch takes at least, at last, and the resolution of the driver's events.
static constexpr double leastSeconds = 1e-3;
static constexpr double eventSeconds = 1e-6;
/// The launches of a measurement end after so long, in which clocks come up, and after so many. The
/// limits of a profile's work are about five, so all take less than half a second.
static constexpr double mostSeconds = 0.06;
static constexpr int mostLaunches = 100;
/// A launch has at most so many times the rounds of the one before: the first ones, of a GPU that
/// sleeps, tell little about its speed.
static constexpr int64_t mostGrowth = 8;
static constexpr int64_t mostRounds = int64_t(1) << 40;

/// What kernels multiply: results stay finite however many rounds there are. Numbers of bf16 come
/// in pairs.
static HeddleRoofNumbers numbersOf(Roof roof, int64_t parts) {
  constexpr uint32_t nearlyOne = 0x3F7FBE77, small = 0x3A83126F;
  constexpr uint32_t half = 0x3F000000, pairOfHalves = 0x3F003F00;
  // Sums of integers begin anew at 2^32.
  constexpr uint32_t codesOfRows = 0xAAAAAAAA, codesOfWeights = 0x55555555;
  switch (roof) {
  case Roof::MultiplyF32:
    return {nearlyOne, small, parts};
  case Roof::MultiplyTf32:
    return {half, half, parts};
  case Roof::MultiplyIntegers:
    return {codesOfRows, codesOfWeights, parts};
  case Roof::MultiplyBf16:
  case Roof::WarpgroupsMultiplyBf16:
  case Roof::Read:
    break;
  }
  return {pairOfHalves, pairOfHalves, parts};
}

void CudaRoofs::add(std::string_view target, const std::shared_ptr<const CudaModule> &module) {
  const std::lock_guard lock(mutex);
  std::erase_if(modules, [](const Loaded &loaded) { return loaded.module.expired(); });
  modules.push_back({std::string(target), module});
}

Result<double> CudaRoofs::peak(Arithmetic arithmetic, std::string_view target) {
  switch (arithmetic) {
  case Arithmetic::Bf16:
    // An image has the one that its products use.
    return known({Roof::WarpgroupsMultiplyBf16, Roof::MultiplyBf16}, target, 0);
  case Arithmetic::Tf32:
    return known({Roof::MultiplyTf32}, target, 0);
  case Arithmetic::Tf32x3: {
    HEDDLE_ASSIGN(const double products, known({Roof::MultiplyTf32}, target, 0));
    return products / 3;
  }
  case Arithmetic::Integers:
    return known({Roof::MultiplyIntegers}, target, 0);
  case Arithmetic::F32:
    break;
  }
  return known({Roof::MultiplyF32}, target, 0);
}

Result<double> CudaRoofs::reading(uint64_t bytes) {
  return known({Roof::Read}, "", std::clamp<uint64_t>(bytes, roofPartBytes, beyondCaches));
}

Result<double> CudaRoofs::known(const std::vector<Roof> &roofs, std::string_view target,
                                uint64_t bytes) {
  const std::lock_guard lock(mutex);
  double &rate = rates[{roofs.front(), std::string(target), bytes}];
  if (rate == 0) {
    const CudaContext::Current current(*context);
    HEDDLE_ASSIGN(const Found found, find(roofs, target));
    HEDDLE_ASSIGN(rate, measure(found, bytes));
  }
  return rate;
}

/// Returns the first of some kernels that a loaded image has; of any target if that is empty.
Result<CudaRoofs::Found> CudaRoofs::find(const std::vector<Roof> &roofs,
                                         std::string_view target) const {
  std::string looked;
  for (const Loaded &loaded : modules) {
    Found found;
    found.module = loaded.module.lock();
    if (found.module == nullptr || (!target.empty() && target != loaded.target)) {
      continue;
    }
    for (const Roof roof : roofs) {
      const RoofKernel &info = infoOf(roof);
      found.roof = roof;
      found.kernel.name = info.entry;
      found.kernel.threads = static_cast<unsigned>(info.threads);
      found.kernel.shared = static_cast<unsigned>(info.shared);
      found.kernel.operands.assign(3, OperandKind::Elements);
      const Status status = found.module->find(info.entry, found.kernel);
      if (status.ok()) {
        return found;
      }
      if (status.code() != StatusCode::NotFound) {
        return status;
      }
    }
    looked = loaded.target;
  }
  return HEDDLE_ERROR(
      Unsupported,
      looked.empty()
          ? fmt::format("{}: no model with code for {} is loaded, whose image measures the GPU",
                        context->facts().text(), target.empty() ? "a GPU" : target)
          : fmt::format("{}: the image for {} has no kernels that measure the GPU, expected them "
                        "of a newer heddlec",
                        context->facts().text(), looked));
}

namespace {
/// A kernel with its operands in the memory of a GPU.
class Trial {
public:
  Trial(const CudaKernel &kernel, Roof roof, uint64_t bytes)
      : kernel(kernel), numbers(numbersOf(roof, static_cast<int64_t>(bytes) / roofPartBytes)) {}

  Status prepare(const std::shared_ptr<CudaContext> &context, Device &device, uint64_t bytes);
  /// Returns the seconds of a launch.
  Result<double> launch(int64_t rounds);

private:
  const CudaKernel &kernel;
  const HeddleRoofNumbers numbers;
  DeviceMemory results, sent, read;
  std::unique_ptr<DeviceStream> stream;
};
} // namespace

Status Trial::prepare(const std::shared_ptr<CudaContext> &context, Device &device, uint64_t bytes) {
  const auto allocate = [&](DeviceMemory &memory, uint64_t size) -> Status {
    HEDDLE_ASSIGN(memory, device.allocate(size, MemoryUse::Work, "measuring the GPU"));
    return {};
  };
  HEDDLE_TRY(allocate(results, uint64_t(kernel.mostBlocks) * kernel.threads * sizeof(uint32_t)));
  HEDDLE_TRY(allocate(sent, sizeof numbers));
  HEDDLE_TRY(allocate(read, bytes));
  HEDDLE_ASSIGN(stream, createCudaStream(context, device));
  auto task = [&](int lane) {
    if (std::byte *const staged = stream->stage(lane, sent.data(), sizeof numbers)) {
      std::memcpy(staged, &numbers, sizeof numbers);
      stream->send(lane);
    }
  };
  return stream->run(1, task);
}

Result<double> Trial::launch(int64_t rounds) {
  void *const operands[] = {results.data(), sent.data(), read.data()};
  const HeddleKernelContext operandsOfAll = {operands, nullptr, nullptr};
  // As many rows as there are threads fill the GPU with blocks.
  const auto rows = static_cast<int64_t>(kernel.mostBlocks) * kernel.threads;
  LaunchTime time;
  auto task = [&](int lane) {
    stream->launch(lane, {&kernel, nullptr, &operandsOfAll, {0, rows}, {0, rounds}, 1, 0}, &time);
  };
  HEDDLE_TRY(stream->run(1, task));
  return time.end - time.begin;
}

/// Returns 10^9 operations, or bytes, per second.
Result<double> CudaRoofs::measure(const Found &found, uint64_t bytes) {
  Trial trial(found.kernel, found.roof, bytes);
  HEDDLE_TRY(trial.prepare(context, device, bytes));
  const double work = static_cast<double>(infoOf(found.roof).work) * found.kernel.mostBlocks;
  // A launch reads all bytes, so that those which a cache does not hold come from memory.
  int64_t rounds = static_cast<int64_t>(static_cast<double>(bytes) / work) + 1;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double best = 0;
  for (int i = 0; i < mostLaunches && elapsed() < mostSeconds; ++i) {
    HEDDLE_ASSIGN(const double seconds, trial.launch(rounds));
    // A short launch is not taken for faster than it was.
    best = std::max(best, work * static_cast<double>(rounds) / (seconds + eventSeconds) * 1e-9);
    if (seconds < leastSeconds && rounds < mostRounds) {
      const double wanted = 2 * leastSeconds / std::max(seconds, leastSeconds / mostGrowth);
      rounds *= std::clamp(static_cast<int64_t>(wanted), int64_t(2), mostGrowth);
    }
  }
  return best;
}

} // namespace heddle
