// SPDX-License-Identifier: Apache-2.0
///
/// Modules and launches. Launches whose blocks have shared memory run as Blocks.h describes. The
/// threads of other launches run one after another, in reverse order in every second launch,
/// because nothing may depend on their order.
#include "tests/Emulator/Modules.h"

#include "tests/Emulator/Blocks.h"
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Memory.h"
#include "tests/Emulator/Streams.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace heddle::emulator {
namespace {
struct Function {
  std::string name;
  Entry *entry;
  int dynamicShared = 48 * 1024;
  /// The number of launches by the number of their blocks.
  std::map<unsigned, uint64_t> launches = {};
};
/// A library from a file in memory. The dynamic loader knows libraries by their paths, here
/// descriptors, so one stays open while its library is loaded.
struct Library {
  void *handle = nullptr;
  int file = -1;
};
struct Module {
  Library library;
  std::map<std::string, std::unique_ptr<Function>> functions;
};
std::set<Module *> modules;

constexpr char noMemory[] = "an address that is no memory of the GPU";
/// Where execution continues after a kernel has used an invalid address, except for blocks of
/// Blocks.h.
thread_local sigjmp_buf afterFault;
thread_local bool isInKernel = false;

void leaveKernel(int signal, siginfo_t *, void *) {
  if (isInKernel) {
    leaveThread(noMemory, IllegalAddress);
    ::siglongjmp(afterFault, 1);
  }
  // Not in a kernel: the process ends as without this handler.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Handles invalid addresses for its lifetime.
class FaultHandler {
public:
  FaultHandler() {
    struct sigaction action = {};
    action.sa_sigaction = leaveKernel;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (size_t i = 0; i < std::size(signals); ++i) {
      ::sigaction(signals[i], &action, &before[i]);
    }
    isInKernel = true;
  }
  FaultHandler(const FaultHandler &) = delete;
  FaultHandler &operator=(const FaultHandler &) = delete;
  ~FaultHandler() {
    isInKernel = false;
    for (size_t i = 0; i < std::size(signals); ++i) {
      ::sigaction(signals[i], &before[i], nullptr);
    }
  }

private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS};
  struct sigaction before[2];
};

/// A launch in a stream.
struct Launch {
  unsigned blocks;
  unsigned threads;
  unsigned shared;
  uint64_t parameter;
  /// The index of the launch.
  uint64_t number;
};

/// Returns whether a launch is checked for races: the first ones of a kernel with as many blocks,
/// and one of HEDDLE_EMULATOR_CHECKED later ones.
bool isChecked(Function &function, const Launch &launch) {
  constexpr uint64_t first = 4;
  const auto part = uint64_t(std::max(1L, setting("HEDDLE_EMULATOR_CHECKED", 1)));
  const uint64_t earlier = function.launches[launch.blocks]++;
  return earlier < first || earlier % part == 0;
}

/// Runs all threads of a launch.
int run(Function &function, const Launch &launch) {
  const FaultHandler handler;
  noteKernel();
  const auto *const parameter = reinterpret_cast<const void *>(launch.parameter);
  if (launch.shared != 0) {
    const auto seed = launch.number + uint64_t(setting("HEDDLE_EMULATOR_SEED", 0));
    const KernelFailure failure =
        runBlocks(function.entry, parameter, int(launch.blocks), int(launch.threads), launch.shared,
                  seed, isChecked(function, launch));
    return failure.code == Success ? int(Success)
                                   : complain(function.name.c_str(), failure.text, failure.code);
  }
  if (sigsetjmp(afterFault, 1) != 0) {
    return complain(function.name.c_str(), noMemory, IllegalAddress);
  }
  const bool isBackward = launch.number % 2 != 0;
  const unsigned blocks = launch.blocks, threads = launch.threads;
  const uint64_t count = uint64_t(blocks) * threads;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = isBackward ? count - 1 - i : i;
    threadPlace() = {int32_t(number % threads), int32_t(threads), int32_t(number / threads),
                     int32_t(blocks)};
    function.entry(parameter);
  }
  return Success;
}

/// Returns the size of an ELF image: the end of its section headers, which linkers put last.
size_t sizeOf(const Elf64_Ehdr &header) {
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

/// Loads a library from memory; sets `reason` if the dynamic loader rejects it.
Library loadLibrary(const Elf64_Ehdr &header, std::string &reason) {
  // Kernels call functions of this library, so its symbols must be global.
  Dl_info own;
  ::dladdr(reinterpret_cast<void *>(&loadLibrary), &own);
  ::dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  Library library = {nullptr, ::memfd_create("kernels", MFD_CLOEXEC)};
  const std::string path = "/proc/self/fd/" + std::to_string(library.file);
  const auto bytes = static_cast<ssize_t>(sizeOf(header));
  if (::write(library.file, &header, sizeOf(header)) == bytes) {
    library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char *const said = library.handle == nullptr ? ::dlerror() : nullptr;
    reason = said == nullptr ? "" : said;
  }
  if (library.handle == nullptr) {
    ::close(library.file);
  }
  return library;
}

/// The supported options of cuModuleLoadDataEx.
struct Options {
  char *log = nullptr;
  size_t logBytes = 0;
  bool areKnown = true;

  void say(const std::string &text) const {
    if (log != nullptr && logBytes != 0) {
      std::strncpy(log, text.c_str(), logBytes - 1);
      log[logBytes - 1] = '\0';
    }
  }
};

Options readOptions(unsigned count, const int *options, void **values) {
  constexpr int errorLog = 5;
  constexpr int errorLogBytes = 6;
  Options read;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == errorLog) {
      read.log = static_cast<char *>(values[i]);
    } else if (options[i] == errorLogBytes) {
      read.logBytes = static_cast<size_t>(reinterpret_cast<uintptr_t>(values[i])) & 0xffffffff;
    } else {
      read.areKnown = false;
    }
  }
  return read;
}

/// Returns the function of a handle if it belongs to a loaded module; otherwise null.
Function *functionOf(void *handle) {
  for (const Module *const module : modules) {
    for (const auto &[name, function] : module->functions) {
      if (function.get() == handle) {
        return function.get();
      }
    }
  }
  return nullptr;
}
} // namespace

HeddleExecuted &executed() {
  static HeddleExecuted counts = {};
  return counts;
}

std::string describeModules() {
  return modules.empty() ? "" : std::to_string(modules.size()) + " modules\n";
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                                       int *options, void **values) {
  const std::lock_guard guard(lock());
  const auto *const header = static_cast<const Elf64_Ehdr *>(image);
  const bool isElf = image != nullptr && std::memcmp(image, ELFMAG, SELFMAG) == 0;
  const bool isHost = isElf && header->e_machine == EM_X86_64;
  const char *const kind = isHost ? "host" : isElf ? "cubin" : "ptx";
  if (const int code = enter("cuModuleLoadDataEx", kind, Needs::Context)) {
    return code;
  }
  const Options read = readOptions(count, options, values);
  if (module == nullptr || image == nullptr || !read.areKnown) {
    return complain("cuModuleLoadDataEx", "no module, no image, or unknown options", InvalidValue);
  }
  if (!isElf) {
    read.say("the emulated GPU does not compile PTX\n");
    return InvalidPtx;
  }
  if (!isHost) {
    return NoBinaryForGpu;
  }
  std::string reason;
  const Library library = loadLibrary(*header, reason);
  if (library.handle == nullptr) {
    read.say(reason);
    return InvalidImage;
  }
  *module = *modules.insert(new Module{library, {}}).first;
  return Success;
}

HEDDLE_EMULATED int cuModuleUnload(void *handle) {
  const std::lock_guard guard(lock());
  const int code = enter("cuModuleUnload", "", Needs::Context);
  const auto found = modules.find(static_cast<Module *>(handle));
  if (found == modules.end()) {
    return code != Success ? code : complain("cuModuleUnload", "no module", InvalidHandle);
  }
  finishAllStreams();
  ::dlclose((*found)->library.handle);
  ::close((*found)->library.file);
  delete *found;
  modules.erase(found);
  return code;
}

HEDDLE_EMULATED int cuModuleGetFunction(void **function, void *handle, const char *name) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuModuleGetFunction", name, Needs::Context)) {
    return code;
  }
  const auto found = modules.find(static_cast<Module *>(handle));
  if (function == nullptr || found == modules.end()) {
    return complain("cuModuleGetFunction", "no module", InvalidHandle);
  }
  void *const address = ::dlsym((*found)->library.handle, name);
  if (address == nullptr) {
    return NotFound;
  }
  std::unique_ptr<Function> &known = (*found)->functions[name];
  if (known == nullptr) {
    known = std::make_unique<Function>(Function{name, reinterpret_cast<Entry *>(address)});
  }
  *function = known.get();
  return Success;
}

HEDDLE_EMULATED int cuFuncSetAttribute(void *handle, int attribute, int value) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuFuncSetAttribute", std::to_string(value), Needs::Context)) {
    return code;
  }
  constexpr int dynamicShared = 8;
  Function *const function = functionOf(handle);
  if (function == nullptr || attribute != dynamicShared || value < 0 || value > sharedOfBlock) {
    return complain("cuFuncSetAttribute", "no function, or no such attribute", InvalidValue);
  }
  function->dynamicShared = value;
  return Success;
}

HEDDLE_EMULATED int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *handle,
                                                                int threads, size_t shared) {
  const char *const name = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  const std::lock_guard guard(lock());
  if (const int code = enter(name, std::to_string(threads), Needs::Context)) {
    return code;
  }
  const Function *const function = functionOf(handle);
  if (function == nullptr || blocks == nullptr || threads < 1 || threads > 1024) {
    return complain(name, "no function, no place for the number, or no such block", InvalidValue);
  }
  *blocks = shared <= size_t(function->dynamicShared) ? 1 : 0;
  return Success;
}

HEDDLE_EMULATED int cuLaunchKernel(void *handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                                   unsigned blockX, unsigned blockY, unsigned blockZ,
                                   unsigned shared, void *stream, void **parameters, void **extra) {
  const std::lock_guard guard(lock());
  Function *const function = functionOf(handle);
  const std::string arguments = (function == nullptr ? "?" : function->name) + ", " +
                                std::to_string(gridX) + " x " + std::to_string(blockX);
  if (const int code = enter("cuLaunchKernel", arguments, Needs::Context)) {
    return code;
  }
  const bool isOneDimension = gridY == 1 && gridZ == 1 && blockY == 1 && blockZ == 1;
  if (function == nullptr || !isOneDimension || gridX < 1 || blockX < 1 || blockX > 1024 ||
      shared > unsigned(function->dynamicShared) || parameters == nullptr || extra != nullptr) {
    return complain("cuLaunchKernel", "no function, or sizes that are not allowed", InvalidValue);
  }
  Launch launch = {gridX, blockX, shared, 0, 0};
  std::memcpy(&launch.parameter, parameters[0], sizeof launch.parameter);
  // A launch in a graph runs several times, each time in another order.
  return addTo(stream, "cuLaunchKernel", [=] {
    Launch next = launch;
    next.number = ++executed().kernels;
    return run(*function, next);
  });
}

HEDDLE_EMULATED HeddleExecuted heddle_emulator_executed(void) {
  const std::lock_guard guard(lock());
  return executed();
}

// --- Functions that kernels call ---------------------------------------------------------------

HEDDLE_EMULATED int32_t heddle_emulated_read_ptx_sreg_tid_x(void) { return threadPlace().thread; }
HEDDLE_EMULATED int32_t heddle_emulated_read_ptx_sreg_ntid_x(void) { return threadPlace().threads; }
HEDDLE_EMULATED int32_t heddle_emulated_read_ptx_sreg_ctaid_x(void) { return threadPlace().block; }
HEDDLE_EMULATED int32_t heddle_emulated_read_ptx_sreg_nctaid_x(void) {
  return threadPlace().blocks;
}
