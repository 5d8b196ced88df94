// SPDX-License-Identifier: Apache-2.0
///
/// Lanes that are threads. No data is transferred, and a launch has completed when the call
/// returns, so the only task left is to divide a dispatch among threads.
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cpu/FloatingPoint.h"
#include "runtime/Device/Cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace heddle {

/// With 1536 floats per row in the widest activation of a small encoder, 256 rows are 1.5 MB, which
/// fit in a second-level cache of 2 MB; and 256 rows reuse each weight often enough to amortise its
/// load from memory.
static constexpr int64_t tokensOfChunk = 256;
/// A barrier takes some microseconds if each thread has a processor to itself, and otherwise a time
/// slice of the scheduler: smaller dispatches are not worth sharing.
static constexpr double flopsOfMeeting = 4e4;

/// Above this number of rows, the reuse of each weight hides the time to load it; and the loss to
/// unevenly divided columns must not exceed the gain.
static constexpr int64_t mostStreamedRows = 64;
static constexpr double evenEnoughColumns = 0.8;

static int64_t sizeOf(Range range) { return range.end - range.begin; }

/// Returns part `index` of `parts` of a range, cut at multiples of `tile`, as evenly as possible.
static Range partOf(Range range, int64_t tile, int index, int parts) {
  const int64_t tiles = (sizeOf(range) + tile - 1) / tile;
  const auto edge = [&](int64_t number) {
    return std::min(range.end, range.begin + tiles * number / parts * tile);
  };
  return {edge(index), edge(index + 1)};
}

/// Returns the mean load divided by the maximum if `threads` threads share `pieces` pieces.
static double evenness(int64_t pieces, int threads) {
  const int64_t rounds = (pieces + threads - 1) / threads;
  return static_cast<double>(pieces) / static_cast<double>(rounds * threads);
}

/// Returns whether a dispatch is better divided by columns. Rows are preferred, because a thread
/// then reads what it has written, but too few rows leave threads idle; and with few rows, loading
/// the weights dominates, so each thread should load its own part.
static bool dividesColumns(const Launch &launch, int threads) {
  const int64_t rows = sizeOf(launch.rows);
  const int64_t columns = sizeOf(launch.columns);
  if (rows <= mostStreamedRows && columns > 1 && evenness(columns, threads) >= evenEnoughColumns) {
    return true;
  }
  const int64_t tiles = (rows + launch.rowTile - 1) / launch.rowTile;
  return tiles < int64_t(threads) * 2 && columns > 1 &&
         evenness(columns, threads) > evenness(tiles, threads);
}

static void call(const DeviceKernel *kernel, const Launch &launch, Range rows, Range columns) {
  if (kernel != nullptr && rows.begin < rows.end && columns.begin < columns.end) {
    static_cast<const CpuKernel *>(kernel)->function(launch.context, rows.begin, rows.end,
                                                     columns.begin, columns.end);
  }
}

namespace {
class CpuStream final : public DeviceStream {
public:
  CpuStream(std::unique_ptr<ThreadPool> pool, Device &device)
      : pool(std::move(pool)), device(device) {}

  int lanes() const override { return pool->threads(); }
  int64_t chunkTokens() const override { return tokensOfChunk; }
  double meetingFlops() const override { return flopsOfMeeting; }

  uint64_t scratchBytes(uint64_t ofCaller) const override { return ofCaller; }
  Status failure() const override { return {}; }
  /// Launches have completed when they return.
  Status finish(StartedRun) override { return {}; }

  std::byte *stage(int, std::byte *to, uint64_t) override { return to; }
  void send(int) override {}
  FetchedRows fetchRows(int, const std::byte *from, uint64_t, uint64_t, uint64_t pitch) override {
    return {from, pitch};
  }
  FetchedRows fetchLater(const std::byte *from, uint64_t, uint64_t, uint64_t pitch) override {
    return {from, pitch};
  }
  void launch(int lane, const Launch &launch, LaunchTime *time) override;
  void launchTogether(int lane, const Launch &launch, LaunchTime *time) override;
  void meet(int) override { pool->barrier(); }
  Status grow(DeviceMemory &memory, uint64_t needed) override {
    return memory.grow(device, needed);
  }
  void copy(std::span<const CopiedRows> list) override;
  void await(int) override {}
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - epoch).count();
  }
  /// Launches are calls of functions, and nothing is copied: there is no driver.
  LaunchUse launchUse() const override { return {}; }

protected:
  Result<StartedRun> startErased(int count, ErasedTask task, void *argument) override;

private:
  void share(int lane, const Launch &launch);

  std::unique_ptr<ThreadPool> pool;
  Device &device;
  const std::chrono::steady_clock::time_point epoch = std::chrono::steady_clock::now();
};
} // namespace

Result<std::unique_ptr<DeviceStream>> createCpuStream(int lanes, Device &device) {
  HEDDLE_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(lanes));
  return std::unique_ptr<DeviceStream>(std::make_unique<CpuStream>(std::move(pool), device));
}

Result<StartedRun> CpuStream::startErased(int count, ErasedTask task, void *argument) {
  auto guarded = [&](int lane) {
    if (lane < count) {
      const DefaultFloatingPoint control;
      task(argument, lane);
    }
  };
  if (count == 1) {
    // The other threads keep sleeping.
    guarded(0);
  } else {
    HEDDLE_TRY(pool->renew());
    pool->run(guarded);
  }
  return StartedRun();
}

void CpuStream::launch(int, const Launch &launch, LaunchTime *time) {
  if (time != nullptr) {
    time->begin = now();
  }
  call(launch.kernel, launch, launch.rows, launch.columns);
  call(launch.finish, launch, launch.rows, launch.columns);
  if (time != nullptr) {
    time->end = now();
  }
}

/// Runs the part of one thread in a dispatch that all threads share.
void CpuStream::share(int lane, const Launch &launch) {
  const int threads = pool->threads();
  if (threads == 1) {
    // A dispatch in a step of a small decoder takes 0.2 microseconds, so divisions are significant.
    call(launch.kernel, launch, launch.rows, launch.columns);
    call(launch.finish, launch, launch.rows, launch.columns);
    return;
  }
  const Range ownRows = partOf(launch.rows, launch.rowTile, lane, threads);
  if (!dividesColumns(launch, threads)) {
    call(launch.kernel, launch, ownRows, launch.columns);
    call(launch.finish, launch, ownRows, launch.columns);
    return;
  }
  call(launch.kernel, launch, launch.rows, partOf(launch.columns, 1, lane, threads));
  if (launch.finish != nullptr) {
    // A row is done when all its columns are.
    pool->barrier();
    call(launch.finish, launch, ownRows, launch.columns);
  }
}

void CpuStream::launchTogether(int lane, const Launch &launch, LaunchTime *time) {
  if (time != nullptr) {
    time->begin = now();
  }
  share(lane, launch);
  if (time != nullptr) {
    time->end = now();
  }
  pool->barrier();
}

void CpuStream::copy(std::span<const CopiedRows> list) {
  for (const CopiedRows &copied : list) {
    for (uint64_t row = 0; row < copied.rows; ++row) {
      std::memcpy(copied.to + row * copied.pitch, copied.from + row * copied.readPitch(),
                  copied.rowBytes);
    }
  }
}

} // namespace heddle
