// SPDX-License-Identifier: Apache-2.0
///
/// Uses memory from the operating system and code from the dynamic loader.
#include "runtime/Device/Cpu/CpuDevice.h"

#include "base/FileDescriptor.h"
#include "base/ProcessorTargets.h"
#include "base/Utf8.h"
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/Manifest_generated.h"
#include "runtime/Device/Cpu/Roofline.h"

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace heddle {

/// The size of a large page; smaller blocks cannot use one.
static constexpr uint64_t largePage = uint64_t(2) << 20;

namespace {

/// The code of a file in this process, loaded once however many models are of that file.
///
/// The dynamic loader knows libraries by the text of their paths, and answers with one that it has
/// before it looks at the disk. A file that has replaced another one, or a relative path after a
/// change of folders, would get the other file's code. So a library has the name of an open
/// descriptor: no other one has it while the descriptor is open, which is until the library is
/// gone. That takes one name for each file, as the loader adds the names of a file that it finds
/// under a second one.
class LoadedLibrary {
public:
  static Result<LoadedLibrary> load(int descriptor);

  LoadedLibrary() = default;
  LoadedLibrary(LoadedLibrary &&other) noexcept : file(std::exchange(other.file, nullptr)) {}
  LoadedLibrary &operator=(LoadedLibrary &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  LoadedLibrary(const LoadedLibrary &) = delete;
  LoadedLibrary &operator=(const LoadedLibrary &) = delete;
  ~LoadedLibrary();

  /// What dlsym() takes.
  void *handle() const { return file->second.handle; }

private:
  struct File {
    FileDescriptor descriptor;
    void *handle = nullptr;
    /// Libraries that refer to it.
    int64_t users = 0;
  };
  /// By device and inode, which no other file gets while the descriptor is open.
  using Files = std::map<std::pair<dev_t, ino_t>, File>;

  explicit LoadedLibrary(Files::value_type &file) : file(&file) {}

  /// Guards all files, and the loader's view of them.
  static std::mutex &mutex();
  static Files &files();

  Files::value_type *file = nullptr;
};

class CpuProgram final : public DeviceProgram {
public:
  Status load(const ProgramFile &file);
  const DeviceKernel &kernel(uint32_t number) const override { return kernels[number]; }
  const DeviceKernel *ownKernel(OwnKernel) const override { return nullptr; }
  const std::byte *parameter(uint32_t number) const override {
    return mappedWeights + parameters->Get(number)->offset();
  }

private:
  LoadedLibrary library;
  std::vector<CpuKernel> kernels;
  const std::byte *mappedWeights = nullptr;
  const flatbuffers::Vector<flatbuffers::Offset<manifest::Parameter>> *parameters = nullptr;
};

class CpuDevice final : public Device {
public:
  std::string_view name() const override { return "this CPU"; }
  std::string_view id() const override { return "cpu"; }
  std::vector<std::string> targets() const override;
  bool sharesHostMemory() const override { return true; }
  bool hasMatrixUnits() const override { return false; }
  Result<std::unique_ptr<DeviceProgram>> load(const ProgramFile &file) override;
  Result<DeviceMemory> allocate(uint64_t bytes, MemoryUse use, std::string_view what) override;
  Result<std::unique_ptr<DeviceStream>> createStream(int lanes) override {
    return createCpuStream(lanes, *this);
  }
  Result<double> measurePeak(int lanes, Arithmetic arithmetic, std::string_view target) override;
  Result<double> measureReading(int lanes, uint64_t bytes) override {
    return measureReadBandwidth(lanes, bytes);
  }
  std::string_view vectors(std::string_view target) const override {
    return rooflineVectors(target);
  }

private:
  void release(std::byte *start, uint64_t bytes) override { ::munmap(start, bytes); }
};

} // namespace

std::shared_ptr<Device> cpuDevice() {
  static const std::shared_ptr<Device> device = std::make_shared<CpuDevice>();
  return device;
}

std::vector<std::string> CpuDevice::targets() const {
  std::vector<std::string> targets;
  for (const ProcessorTarget &target : processorTargets()) {
    if (target.isPresent()) {
      targets.emplace_back(target.name);
    }
  }
  return targets;
}

Result<double> CpuDevice::measurePeak(int lanes, Arithmetic arithmetic, std::string_view target) {
  const std::vector<std::string> known = targets();
  if (std::find(known.begin(), known.end(), target) == known.end()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("the peak of target {}, expected one of {}",
                                                     quote(target), fmt::join(known, ", ")));
  }
  switch (arithmetic) {
  case Arithmetic::Integers:
    return measureIntegerPeak(lanes, target);
  case Arithmetic::Bf16:
    return measureBf16Peak(lanes, target);
  case Arithmetic::F32:
  case Arithmetic::Tf32:
  case Arithmetic::Tf32x3:
    break;
  }
  return measureFmaPeak(lanes, target);
}

std::mutex &LoadedLibrary::mutex() {
  static std::mutex guard;
  return guard;
}

LoadedLibrary::Files &LoadedLibrary::files() {
  // Never destroyed: a model may be static, too.
  static auto *const all = new Files;
  return *all;
}

/// Loads the library that a descriptor is open on, under a name that depends on nothing else.
static Result<void *> openLibrary(int descriptor) {
  // The number of the process, not "self": debuggers open the name as well.
  const std::string name = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
  if (void *const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return handle;
  }
  const char *const said = ::dlerror();
  std::string reason = said == nullptr ? "no reason given" : said;
  if (::access(name.c_str(), F_OK) != 0) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("no {}, by which the dynamic loader reads the file that was "
                                    "checked, expected /proc to be mounted",
                                    name));
  }
  if (reason.starts_with(name + ": ")) {
    reason.erase(0, name.size() + 2);
  }
  return HEDDLE_ERROR(DataLoss, fmt::format("the dynamic loader refuses it: {}", reason));
}

Result<LoadedLibrary> LoadedLibrary::load(int descriptor) {
  struct stat information;
  if (::fstat(descriptor, &information) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("cannot examine the file: {}",
                                                 std::generic_category().message(errno)));
  }
  const std::lock_guard<std::mutex> lock(mutex());
  const auto [found, isNew] = files().try_emplace({information.st_dev, information.st_ino}, File());
  if (isNew) {
    // Its own, as the caller closes the one that is given.
    FileDescriptor own(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    Result<void *> handle =
        own.number() >= 0
            ? openLibrary(own.number())
            : HEDDLE_ERROR(ResourceExhausted, fmt::format("cannot keep the file open: {}",
                                                          std::generic_category().message(errno)));
    if (!handle.ok()) {
      files().erase(found);
      return handle.status();
    }
    found->second = {std::move(own), *handle, 0};
  }
  ++found->second.users;
  return LoadedLibrary(*found);
}

LoadedLibrary::~LoadedLibrary() {
  if (file == nullptr) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex());
  if (--file->second.users == 0) {
    // Before its descriptor is closed and another file gets the number.
    ::dlclose(file->second.handle);
    files().erase(file->first);
  }
}

Status CpuProgram::load(const ProgramFile &file) {
  HEDDLE_ASSIGN(library, LoadedLibrary::load(file.descriptor));
  link_map *map = nullptr;
  if (::dlinfo(library.handle(), RTLD_DI_LINKMAP, &map) != 0) {
    return HEDDLE_ERROR(Internal, "the dynamic loader does not say where it loaded it");
  }
  for (const manifest::Kernel *const kernel : *file.model.kernels()) {
    const char *const symbol = kernel->symbols()->Get(file.target)->c_str();
    void *const address = ::dlsym(library.handle(), symbol);
    // dlsym also finds what the library needs: a manifest must not name a function of libc.
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - map->l_addr;
    if (address == nullptr || !file.elf.isCode(offset)) {
      return HEDDLE_ERROR(DataLoss,
                          fmt::format("damaged: kernel {} for {} is the function {}, which "
                                      "the file does not have",
                                      quote(kernel->name()->string_view()),
                                      file.model.targets()->Get(file.target)->string_view(),
                                      quote(symbol)));
    }
    kernels.emplace_back(reinterpret_cast<HeddleKernel *>(address));
  }
  mappedWeights = file.weights.data();
  parameters = file.model.parameters();
  return {};
}

Result<std::unique_ptr<DeviceProgram>> CpuDevice::load(const ProgramFile &file) {
  auto program = std::make_unique<CpuProgram>();
  HEDDLE_TRY(program->load(file));
  return std::unique_ptr<DeviceProgram>(std::move(program));
}

Result<DeviceMemory> CpuDevice::allocate(uint64_t bytes, MemoryUse use, std::string_view what) {
  if (bytes == 0) {
    return DeviceMemory();
  }
  const bool isWork = use == MemoryUse::Work;
  const uint64_t unit = bytes >= largePage ? largePage : uint64_t(64) << 10;
  const uint64_t rounded = isWork ? (bytes + unit - 1) / unit * unit : bytes;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (isWork ? 0 : MAP_NORESERVE);
  void *const start = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (start == MAP_FAILED) {
    const std::string reason = std::generic_category().message(errno);
    return HEDDLE_ERROR(
        ResourceExhausted,
        isWork ? fmt::format("{} needs {} bytes of working memory: {}", what, bytes, reason)
               : fmt::format("{} bytes of addresses for {}: {}", bytes, what, reason));
  }
  if (!isWork || unit == largePage) {
    // A hint that avoids most TLB misses when the memory is traversed; a cache may then use up to 2
    // MiB more than is touched.
    ::madvise(start, rounded, MADV_HUGEPAGE);
  }
  return DeviceMemory(*this, static_cast<std::byte *>(start), rounded);
}

} // namespace heddle
