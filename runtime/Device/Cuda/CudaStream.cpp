// SPDX-License-Identifier: Apache-2.0
///
/// One lane: a stream of the driver, which works in order and asynchronously to the host. Launches
/// are collected and passed to the driver in groups, because the records that kernels read are
/// uploaded by one copy. An event marks the end of each run, so that the host can wait for a run
/// while the GPU executes the next. The first failure is kept: after it, the only calls are those
/// that wait for earlier runs.
#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/LaunchGraphs.h"
#include "runtime/Device/Cuda/LaunchRecord.h"
#include "runtime/Device/Cuda/LaunchShapes.h"
#include "runtime/Device/Cuda/LaunchedKernels.h"
#include "runtime/Device/Cuda/PinnedRing.h"

#include "heddle/Limits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace heddle {

/// Each row of a chunk is work for as many threads as a product has columns. With fewer rows, many
/// multiprocessors are idle; unlike on processors, smaller chunks do not improve caching.
static constexpr int64_t tokensOfChunk = 8192;
/// The largest number of launches per group: all of a step of most decoders, which is then one
/// graph. Writing their records takes the host less time than launching a few of them, so the GPU
/// starts soon enough.
static constexpr size_t launchesAtOnce = 128;
/// What a run uploads at most, usually: rows, lists of cache blocks, tokens to exclude and searches
/// to order; and records of so many groups. A run that begins while the one before is executed then
/// waits for no kernel: the copies of that one come before its kernels.
static constexpr size_t piecesOfRun = 4;
/// The smallest number of launches of a graph.
static constexpr size_t fewestOfGraph = 4;
/// Memory for the records of such a group, with a dozen operands per launch.
static constexpr uint64_t usualRecordBytes = uint64_t(256) << 10;
/// The largest number of callers per multiprocessor, and a limit for their scratch memory.
static constexpr uint64_t callersOfMultiprocessor = 512;
static constexpr uint64_t usualScratch = uint64_t(256) << 20;

uint64_t scratchOfCallers(uint64_t ofCaller, const GpuFacts &gpu) {
  const uint64_t most = static_cast<uint64_t>(gpu.multiprocessors) * callersOfMultiprocessor;
  // There must be memory for at least one block of any size.
  const uint64_t callers =
      std::clamp<uint64_t>(usualScratch / std::max<uint64_t>(ofCaller, 1), mostBlockThreads,
                           std::max<uint64_t>(most, mostBlockThreads));
  return callers * ofCaller;
}

namespace {
class CudaStream final : public DeviceStream, private LaunchesUnderWay {
public:
  CudaStream(std::shared_ptr<CudaContext> context, Device &device)
      : context(std::move(context)), driver(this->context->driver()), device(device) {}
  ~CudaStream() override;
  Status create();

  int lanes() const override { return 1; }
  int64_t chunkTokens() const override { return tokensOfChunk; }
  double meetingFlops() const override { return 0; }
  uint64_t scratchBytes(uint64_t ofCaller) const override {
    return scratchOfCallers(ofCaller, context->facts());
  }
  Status failure() const override { return failed.ok() ? context->failure() : failed; }
  Status finish(StartedRun run) override;

  std::byte *stage(int lane, std::byte *to, uint64_t bytes) override;
  void send(int lane) override;
  FetchedRows fetchRows(int lane, const std::byte *from, uint64_t rows, uint64_t rowBytes,
                        uint64_t pitch) override;
  FetchedRows fetchLater(const std::byte *from, uint64_t rows, uint64_t rowBytes,
                         uint64_t pitch) override;
  void await(int lane) override;
  void launch(int lane, const Launch &launch, LaunchTime *time) override;
  void launchTogether(int lane, const Launch &launchOfAll, LaunchTime *time) override {
    launch(lane, launchOfAll, time);
  }
  void meet(int) override {}
  Status grow(DeviceMemory &memory, uint64_t needed) override;
  void copy(std::span<const CopiedRows> list) override;
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - epoch).count();
  }
  LaunchUse launchUse() const override { return use; }

protected:
  Result<StartedRun> startErased(int count, ErasedTask task, void *argument) override;

private:
  /// A launch that is timed, with the indices of the events before and after it.
  struct Timed {
    LaunchTime *time;
    size_t begin;
    size_t end;
  };
  /// The end of a run in the stream.
  struct Mark {
    /// Null until the first run.
    void *event = nullptr;
    bool isFinished = true;
    /// The launches of the run, until the host has waited for them.
    LaunchedKernels launched = {};
    /// The rows of its fetchLater().
    PinnedMemory fetched = {};
  };

  Mark &markOf(StartedRun run) { return marks[static_cast<uint64_t>(run) % marks.size()]; }
  bool keep(const Status &status);
  HeddleSections sectionsOf(const CudaKernel &kernel, const Launch &launch);
  HeddleRoundedRows roundedOf(const CudaKernel &kernel, const Launch &launch);
  bool makeRoom(uint64_t bytes);
  bool tellLaunches();
  FetchedRows tellFetch(PinnedMemory &to, const std::byte *from, uint64_t rows, uint64_t rowBytes,
                        uint64_t pitch);
  Status recordMark(Mark &mark);
  Status tellRecords(uint64_t bytes);
  Status tellAll();
  Status tellSequence();
  Status tell(const GraphLaunch &launch, LaunchTime *time);
  Status tellKernel(const CudaKernel &kernel, unsigned blocks, uint64_t parameter);
  Status recordEvent(size_t &number);
  Status copyRows(const CopiedRows &rows);
  std::string text() const override;
  Status wait();
  /// Waits for the collected launches too. Returns whether no call has failed.
  bool awaitAll() { return tellLaunches() && keep(wait()); }
  Status readTimes();

  const std::shared_ptr<CudaContext> context;
  const Driver &driver;
  Device &device;
  void *stream = nullptr;
  Status failed;
  const std::chrono::steady_clock::time_point epoch = std::chrono::steady_clock::now();

  // A pending upload: from pinned memory to `sendTo`.
  PinnedRing staging{piecesOfRun};
  std::byte *staged = nullptr;
  uint64_t sendTo = 0;
  uint64_t sendBytes = 0;
  // The results that were fetched.
  PinnedMemory fetched;
  // Collected launches, where their times go, their records, and where those go.
  std::vector<GraphLaunch> recorded;
  std::vector<LaunchTime *> recordedTimes;
  std::vector<std::byte> records;
  PinnedRing recordRing{piecesOfRun};
  DeviceMemory recordMemory;
  LaunchGraphs graphs;
  bool grow(SpareMemory &spare, uint64_t needed);
  // Partial results of the sections of keys. Each launch that uses them is followed by one that
  // merges them.
  SpareMemory partials;
  // Rounded rows. Each launch that uses them follows one that stores them.
  SpareMemory rounded;
  // The launches since the last wait or the end of a run.
  LaunchedKernels launched;
  // All that the driver has been told.
  LaunchUse use;
  // The last two runs, by their numbers, and the number of the last one.
  std::array<Mark, 2> marks;
  StartedRun lastStarted{};
  // The events of this run's timings, the first of which is at `timesFrom`. The next run uses the
  // events again.
  std::vector<void *> events;
  size_t eventsUsed = 0;
  double timesFrom = 0;
  std::vector<Timed> timed;
};
} // namespace

CudaStream::~CudaStream() {
  // Waits, so that nothing is released while the GPU still uses it.
  if (stream != nullptr) {
    context->giveBack(driver.cuStreamSynchronize, stream);
  }
  graphs.clear();
  for (const Mark &mark : marks) {
    events.push_back(mark.event);
  }
  for (void *const event : events) {
    if (event != nullptr) {
      context->giveBack(driver.cuEventDestroy_v2, event);
    }
  }
  if (stream != nullptr) {
    context->giveBack(driver.cuStreamDestroy_v2, stream);
  }
}

Status CudaStream::create() {
  const CudaContext::Current current(*context, this);
  HEDDLE_TRY(context->call(driver.cuStreamCreate, &stream, cudaStreamNonBlocking));
  recorded.reserve(launchesAtOnce);
  records.reserve(usualRecordBytes);
  return recordMemory.grow(device, usualRecordBytes);
}

Result<std::unique_ptr<DeviceStream>> createCudaStream(std::shared_ptr<CudaContext> context,
                                                       Device &device) {
  auto stream = std::make_unique<CudaStream>(std::move(context), device);
  HEDDLE_TRY(stream->create());
  return std::unique_ptr<DeviceStream>(std::move(stream));
}

/// Keeps the first failure. Returns whether there was none.
bool CudaStream::keep(const Status &status) {
  if (!status.ok() && failed.ok()) {
    failed = status;
  }
  return failed.ok();
}

// --- Sending and fetching ----------------------------------------------------------------------

std::byte *CudaStream::stage(int, std::byte *to, uint64_t bytes) {
  staged = nullptr;
  const CudaContext::Current current(*context, this);
  if (!tellLaunches()) {
    return nullptr;
  }
  Result<std::byte *> pinned = staging.take(*context, bytes);
  if (!keep(pinned.status())) {
    return nullptr;
  }
  staged = *pinned;
  sendTo = addressOf(to);
  sendBytes = bytes;
  return staged;
}

void CudaStream::send(int) {
  if (staged == nullptr || !failed.ok()) {
    return;
  }
  const CudaContext::Current current(*context, this);
  if (keep(context->callFor("what kernels read", driver.cuMemcpyHtoDAsync_v2, sendTo,
                            static_cast<const void *>(staged), sendBytes, stream))) {
    ++use.copiesToDevice;
    keep(staging.used(*context, stream));
  }
}

/// Passes a copy of rows to pinned memory to the driver; the context must be current.
FetchedRows CudaStream::tellFetch(PinnedMemory &to, const std::byte *from, uint64_t rows,
                                  uint64_t rowBytes, uint64_t pitch) {
  if (!tellLaunches() || !keep(to.grow(*context, rows * rowBytes))) {
    return {nullptr, 0};
  }
  const bool isDense = rows == 1 || pitch == rowBytes;
  const CudaCopy2D copied = {{0, 0, cudaMemoryDevice, nullptr, addressOf(from), nullptr, pitch},
                             {0, 0, cudaMemoryHost, to.data(), 0, nullptr, rowBytes},
                             rowBytes,
                             rows};
  const std::string_view what = "results";
  const bool isTold = keep(
      isDense ? context->callFor(what, driver.cuMemcpyDtoHAsync_v2, static_cast<void *>(to.data()),
                                 addressOf(from), rows * rowBytes, stream)
              : context->callFor(what, driver.cuMemcpy2DAsync_v2, &copied, stream));
  if (!isTold) {
    return {nullptr, 0};
  }
  ++use.copiesToHost;
  return {to.data(), rowBytes};
}

FetchedRows CudaStream::fetchRows(int, const std::byte *from, uint64_t rows, uint64_t rowBytes,
                                  uint64_t pitch) {
  const CudaContext::Current current(*context, this);
  const FetchedRows found = tellFetch(fetched, from, rows, rowBytes, pitch);
  return found.first != nullptr && keep(wait()) ? found : FetchedRows{nullptr, 0};
}

FetchedRows CudaStream::fetchLater(const std::byte *from, uint64_t rows, uint64_t rowBytes,
                                   uint64_t pitch) {
  const CudaContext::Current current(*context, this);
  return tellFetch(markOf(lastStarted).fetched, from, rows, rowBytes, pitch);
}

void CudaStream::await(int) {
  const CudaContext::Current current(*context, this);
  awaitAll();
}

Status CudaStream::grow(DeviceMemory &memory, uint64_t needed) {
  if (needed <= memory.size()) {
    return {};
  }
  const CudaContext::Current current(*context, this);
  if (memory.size() != 0 && !awaitAll()) {
    return failure();
  }
  return memory.grow(device, needed);
}

/// Returns whether there is as much memory.
bool CudaStream::grow(SpareMemory &spare, uint64_t needed) {
  if (needed < spare.refused && !grow(spare.memory, needed).ok()) {
    spare.refused = needed;
  }
  return needed < spare.refused;
}

Status CudaStream::copyRows(const CopiedRows &rows) {
  const std::string_view what = "rows within the GPU";
  const bool isDense = rows.pitch == rows.rowBytes && rows.readPitch() == rows.rowBytes;
  if (rows.rows == 1 || isDense) {
    return context->callFor(what, driver.cuMemcpyDtoDAsync_v2, addressOf(rows.to),
                            addressOf(rows.from), rows.rows * rows.rowBytes, stream);
  }
  const CudaCopy2D copied = {
      {0, 0, cudaMemoryDevice, nullptr, addressOf(rows.from), nullptr, rows.readPitch()},
      {0, 0, cudaMemoryDevice, nullptr, addressOf(rows.to), nullptr, rows.pitch},
      rows.rowBytes,
      rows.rows};
  return context->callFor(what, driver.cuMemcpy2DAsync_v2, &copied, stream);
}

void CudaStream::copy(std::span<const CopiedRows> list) {
  const CudaContext::Current current(*context, this);
  if (!tellLaunches()) {
    return;
  }
  for (const CopiedRows &rows : list) {
    if (rows.rows == 0 || rows.rowBytes == 0) {
      continue;
    }
    if (!keep(copyRows(rows))) {
      return;
    }
    ++use.copiesWithin;
  }
}

// --- Launches ----------------------------------------------------------------------------------

/// Returns into how many sections a launch divides the keys of its rows, and where partial results
/// go. Without memory for them there is one.
HeddleSections CudaStream::sectionsOf(const CudaKernel &kernel, const Launch &launch) {
  const SectionMemory sections = sectionMemory(kernel, launch);
  return sections.count == 1 || !grow(partials, sections.bytes)
             ? HeddleSections{1, nullptr}
             : HeddleSections{
                   sections.count,
                   reinterpret_cast<void *>(addressOf(partials.memory.data()) - sections.before)};
}

/// Returns where a separate kernel rounds the rows of a launch first; null if the launch does it
/// itself, as it does without memory for them.
HeddleRoundedRows CudaStream::roundedOf(const CudaKernel &kernel, const Launch &launch) {
  const uint64_t bytes = roundedMemory(kernel, launch);
  return {bytes != 0 && grow(rounded, bytes) ? rounded.memory.data() : nullptr};
}

void CudaStream::launch(int, const Launch &launch, LaunchTime *time) {
  if (!failed.ok() || launch.rows.begin >= launch.rows.end ||
      launch.columns.begin >= launch.columns.end) {
    return;
  }
  const auto *const kernel = static_cast<const CudaKernel *>(launch.kernel);
  const HeddleSections sections = sectionsOf(*kernel, launch);
  const HeddleRoundedRows roundedRows = roundedOf(*kernel, launch);
  const bool isDivided = sections.count > 1;
  const auto *const before = roundedRows.rows == nullptr ? nullptr : kernel->round.get();
  const auto *const next =
      isDivided ? kernel->merge.get() : static_cast<const CudaKernel *>(launch.finish);
  const uint64_t bytes = recordBytes(*kernel, next != nullptr);
  if ((recorded.size() == launchesAtOnce || records.size() + bytes > recordMemory.size()) &&
      !makeRoom(bytes)) {
    return;
  }
  const uint64_t offset = records.size();
  records.resize(offset + bytes);
  const int64_t columns = launch.columns.end - launch.columns.begin;
  const auto blocks = [&](const CudaKernel *each, int64_t ofColumns) {
    return each == nullptr ? 0
                           : blocksOf(*each, launch, ofColumns,
                                      launch.scratch == 0 ? 0 : scratchBytes(launch.scratch));
  };
  recorded.push_back({kernel, before, next, blocks(kernel, columns * sections.count),
                      blocks(before, 1), blocks(next, isDivided ? columns : 1), offset});
  recordedTimes.push_back(time);
  writeRecord(launch, *kernel, sections, roundedRows, records.data() + offset,
              addressOf(recordMemory.data()) + offset);
}

/// Makes room for the record of one more launch.
bool CudaStream::makeRoom(uint64_t bytes) {
  const CudaContext::Current current(*context, this);
  if (!tellLaunches()) {
    return false;
  }
  if (bytes > recordMemory.size()) {
    // Kernels may still read the old memory, and graphs refer to it.
    if (!keep(wait())) {
      return false;
    }
    graphs.clear();
    return keep(recordMemory.grow(device, bytes));
  }
  return true;
}

/// Uploads the records. The copy is in stream order, after kernels that read the previous ones.
Status CudaStream::tellRecords(uint64_t bytes) {
  HEDDLE_ASSIGN(std::byte *const pinned, recordRing.take(*context, bytes));
  std::copy_n(records.data(), bytes, pinned);
  HEDDLE_TRY(context->callFor("launches", driver.cuMemcpyHtoDAsync_v2,
                              addressOf(recordMemory.data()), static_cast<const void *>(pinned),
                              bytes, stream));
  ++use.copiesToDevice;
  return recordRing.used(*context, stream);
}

/// Passes the collected launches to the driver; the context must be current. Returns whether no
/// call has failed.
bool CudaStream::tellLaunches() {
  if (failure().ok() && !recorded.empty() && keep(tellRecords(records.size()))) {
    // Times require events between launches, which graphs do not have.
    const bool isTimed = std::any_of(recordedTimes.begin(), recordedTimes.end(),
                                     [](const LaunchTime *time) { return time != nullptr; });
    keep(isTimed || recorded.size() < fewestOfGraph ? tellAll() : tellSequence());
  }
  recorded.clear();
  recordedTimes.clear();
  records.clear();
  return keep(context->failure());
}

/// Issues the collected launches one by one.
Status CudaStream::tellAll() {
  for (size_t i = 0; i < recorded.size(); ++i) {
    HEDDLE_TRY(tell(recorded[i], recordedTimes[i]));
  }
  return {};
}

/// Issues the collected launches: as a graph if the sequence has been issued before and there is
/// memory for its graph.
Status CudaStream::tellSequence() {
  const auto capture = [&] {
    const LaunchedKernels launchedBefore = launched;
    const LaunchUse useBefore = use;
    const Status told = tellAll();
    // The kernels are captured, and do not run.
    launched = launchedBefore;
    use = useBefore;
    return told;
  };
  HEDDLE_ASSIGN(void *const graph, graphs.graphOf(recorded, *context, stream, capture));
  if (graph == nullptr) {
    return tellAll();
  }
  const LaunchedKernels kernels = LaunchedKernels::of(recorded);
  HEDDLE_TRY(context->callFor([&] { return "a graph of " + kernels.text(); }, driver.cuGraphLaunch,
                              graph, stream));
  launched.add(kernels);
  ++use.graphs;
  use.kernelsOfGraphs += static_cast<int64_t>(kernels.count);
  return {};
}

Status CudaStream::tell(const GraphLaunch &launch, LaunchTime *time) {
  const uint64_t parameter = addressOf(recordMemory.data()) + launch.offset;
  Timed times{time, 0, 0};
  if (time != nullptr) {
    HEDDLE_TRY(recordEvent(times.begin));
  }
  if (launch.before != nullptr) {
    HEDDLE_TRY(tellKernel(*launch.before, launch.blocksBefore, parameter));
  }
  HEDDLE_TRY(tellKernel(*launch.kernel, launch.blocks, parameter));
  if (launch.next != nullptr) {
    HEDDLE_TRY(tellKernel(*launch.next, launch.nextBlocks, parameter + nextOffset));
  }
  if (time != nullptr) {
    HEDDLE_TRY(recordEvent(times.end));
    timed.push_back(times);
  }
  return {};
}

Status CudaStream::tellKernel(const CudaKernel &kernel, unsigned blocks, uint64_t parameter) {
  void *parameters[] = {&parameter};
  HEDDLE_TRY(context->callFor(kernel.name, driver.cuLaunchKernel, kernel.function, blocks, 1U, 1U,
                              kernel.threads, 1U, 1U, kernel.shared, stream, parameters,
                              static_cast<void **>(nullptr)));
  launched.add({1, &kernel, &kernel});
  ++use.kernels;
  return {};
}

// --- Waiting and times -------------------------------------------------------------------------

/// Records the next event, and sets `number` to its index.
Status CudaStream::recordEvent(size_t &number) {
  if (eventsUsed == 0) {
    timesFrom = now();
  }
  if (eventsUsed == events.size()) {
    void *event = nullptr;
    HEDDLE_TRY(context->call(driver.cuEventCreate, &event, 0U));
    events.push_back(event);
  }
  number = eventsUsed++;
  return context->call(driver.cuEventRecord, events[number], stream);
}

/// Describes the launches of unfinished runs and those since.
std::string CudaStream::text() const {
  LaunchedKernels all;
  // The oldest run first.
  for (size_t i = 1; i <= marks.size(); ++i) {
    all.add(marks[(static_cast<uint64_t>(lastStarted) + i) % marks.size()].launched);
  }
  all.add(launched);
  return all.text();
}

/// Waits for all work of the stream.
Status CudaStream::wait() {
  HEDDLE_TRY(context->call(driver.cuStreamSynchronize, stream));
  ++use.waits;
  launched = {};
  for (Mark &mark : marks) {
    mark.launched = {};
  }
  return {};
}

/// Reads the times of a run that is done.
Status CudaStream::readTimes() {
  for (const Timed &each : timed) {
    const auto at = [&](size_t number, double &seconds) -> Status {
      float milliseconds = 0;
      HEDDLE_TRY(
          context->call(driver.cuEventElapsedTime, &milliseconds, events[0], events[number]));
      seconds = timesFrom + static_cast<double>(milliseconds) * 1e-3;
      return {};
    };
    HEDDLE_TRY(at(each.begin, each.time->begin));
    HEDDLE_TRY(at(each.end, each.time->end));
  }
  return {};
}

/// Records the end of a run.
Status CudaStream::recordMark(Mark &mark) {
  if (mark.event == nullptr) {
    HEDDLE_TRY(context->call(driver.cuEventCreate, &mark.event, cudaEventWithoutTime));
  }
  mark.launched = std::exchange(launched, {});
  return context->call(driver.cuEventRecord, mark.event, stream);
}

Result<StartedRun> CudaStream::startErased(int, ErasedTask task, void *argument) {
  const auto run = StartedRun(static_cast<uint64_t>(lastStarted) + 1);
  Mark &mark = markOf(run);
  if (!mark.isFinished) {
    // Nobody wants its results any more, but they may still be copied to the same memory.
    HEDDLE_TRY(finish(run));
  }
  if (const Status status = failure(); !status.ok()) {
    return status;
  }
  lastStarted = run;
  task(argument, 0);
  const CudaContext::Current current(*context, this);
  if (!tellLaunches() || !keep(recordMark(mark))) {
    timed.clear();
    eventsUsed = 0;
    return failure();
  }
  mark.isFinished = false;
  return run;
}

Status CudaStream::finish(StartedRun run) {
  Mark &mark = markOf(run);
  if (std::exchange(mark.isFinished, true)) {
    return failure();
  }
  const CudaContext::Current current(*context, this);
  Status status = context->call(driver.cuEventSynchronize, mark.event);
  if (status.ok()) {
    ++use.waits;
    mark.launched = {};
    status = readTimes();
  }
  timed.clear();
  eventsUsed = 0;
  keep(status);
  return status;
}

} // namespace heddle
