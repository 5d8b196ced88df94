// SPDX-License-Identifier: Apache-2.0
///
/// lld reads and writes files, so objects pass through a temporary folder that is always removed.
#include "compiler/Link/Linker.h"

#include "base/ScratchFolder.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <mutex>
#include <shared_mutex>

LLD_HAS_DRIVER(elf)

namespace heddle {

static Status writeFile(const std::string &path, llvm::ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  return error ? HEDDLE_ERROR(InputOutput, path + ": cannot be written: " + error.message())
               : Status();
}

std::shared_mutex &optionsMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

static Status runLinker(llvm::ArrayRef<std::string> objects, const std::string &output,
                        MissingSymbols missing) {
  std::vector<const char *> arguments = {"ld.lld",           "-shared", "--build-id=none",
                                         "--hash-style=gnu", "-z",      "noexecstack",
                                         "--threads=1",      "-o",      output.c_str()};
  if (missing == MissingSymbols::None) {
    arguments.push_back("--no-undefined");
  }
  for (const std::string &object : objects) {
    arguments.push_back(object.c_str());
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const std::unique_lock lock(optionsMutex());
  bool linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false,
                               /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  return linked ? Status() : HEDDLE_ERROR(Internal, "lld could not link the kernels: " + messages);
}

/// Returns an object without sections: lld needs an input to link an empty library.
static llvm::SmallVector<char, 0> emptyObject() {
  llvm::ELF::Elf64_Ehdr header{};
  std::memcpy(header.e_ident, llvm::ELF::ElfMagic, sizeof(uint32_t));
  header.e_ident[llvm::ELF::EI_CLASS] = llvm::ELF::ELFCLASS64;
  header.e_ident[llvm::ELF::EI_DATA] = llvm::ELF::ELFDATA2LSB;
  header.e_ident[llvm::ELF::EI_VERSION] = llvm::ELF::EV_CURRENT;
  header.e_type = llvm::ELF::ET_REL;
  header.e_machine = llvm::ELF::EM_X86_64;
  header.e_version = llvm::ELF::EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(llvm::ELF::Elf64_Shdr);
  const auto *const bytes = reinterpret_cast<const char *>(&header);
  return {bytes, bytes + sizeof header};
}

Result<std::string> linkSharedObject(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                                     MissingSymbols missing) {
  HEDDLE_ASSIGN(const ScratchFolder folder, ScratchFolder::create("heddlec", "the linker"));
  std::vector<std::string> paths;
  const std::vector<llvm::SmallVector<char, 0>> none = {emptyObject()};
  for (const auto &object : objects.empty() ? llvm::ArrayRef(none) : objects) {
    paths.push_back(folder / (std::to_string(paths.size()) + ".o"));
    HEDDLE_TRY(writeFile(paths.back(), object));
  }
  const std::string output = folder / "linked.so";
  HEDDLE_TRY(runLinker(paths, output, missing));
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer) {
    return HEDDLE_ERROR(InputOutput, output + ": " + buffer.getError().message());
  }
  return (*buffer)->getBuffer().str();
}

} // namespace heddle
