// SPDX-License-Identifier: Apache-2.0
///
/// ptxas reads and writes files, so PTX passes through a temporary folder, which is always removed.
#include "compiler/Target/Cuda/Ptx.h"

#include "base/Utf8.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace heddle {

/// Splits PTX into its head (version, target and address size) and the rest.
static Result<std::pair<llvm::StringRef, llvm::StringRef>> splitHead(llvm::StringRef text) {
  constexpr llvm::StringLiteral last = ".address_size";
  const size_t at = text.find(last);
  const size_t end = at == llvm::StringRef::npos ? at : text.find('\n', at);
  if (end == llvm::StringRef::npos) {
    return HEDDLE_ERROR(Internal, "PTX of LLVM has no line " + quote(last.str()));
  }
  return std::pair(text.take_front(end + 1), text.drop_front(end + 1));
}

Result<Code> joinPtx(llvm::ArrayRef<Code> texts) {
  Code joined;
  llvm::StringRef head;
  for (const Code &text : texts) {
    HEDDLE_ASSIGN(const auto parts, splitHead(llvm::StringRef(text.data(), text.size())));
    if (joined.empty()) {
      head = parts.first;
      joined.append(head.begin(), head.end());
    } else if (parts.first != head) {
      return HEDDLE_ERROR(Internal, "PTX of two functions begins with " + quote(head.str()) +
                                        " and with " + quote(parts.first.str()));
    }
    joined.append(parts.second.begin(), parts.second.end());
  }
  return joined;
}

// --- ptxas -----------------------------------------------------------------------------------

static std::string contentOf(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Runs a program to completion and returns its output of both streams; fails with that output
/// unless the exit code is 0.
static Result<std::string> run(const std::string &program, llvm::ArrayRef<llvm::StringRef> options,
                               llvm::StringRef folder) {
  const std::string output = (folder + "/output").str();
  // Otherwise the output of an earlier run would remain after a shorter one.
  if (std::error_code error = llvm::sys::fs::remove(output)) {
    return HEDDLE_ERROR(InputOutput, output + ": cannot be removed: " + error.message());
  }
  llvm::SmallVector<llvm::StringRef> arguments = {program};
  llvm::append_range(arguments, options);
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(output),
                                                      llvm::StringRef(output)};
  std::string message;
  bool failedToRun = false;
  const int code =
      llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects,
                                /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message, &failedToRun);
  if (failedToRun) {
    return HEDDLE_ERROR(InvalidArgument, program + ": cannot be run: " + message);
  }
  if (code != 0) {
    return HEDDLE_ERROR(Internal, program + " ends with " + std::to_string(code) + ": " +
                                      contentOf(output) + message);
  }
  return contentOf(output);
}

/// Returns for example "ptxas 12.9.86", from "Cuda compilation tools, release 12.9, V12.9.86".
static Result<std::string> nameOfPtxas(const std::string &path, llvm::StringRef folder) {
  HEDDLE_ASSIGN(const std::string text, run(path, {"--version"}, folder));
  const llvm::StringRef release = llvm::StringRef(text).split(", release ").second;
  const llvm::StringRef version = release.split(", V").second.take_while(
      [](char each) { return llvm::isDigit(each) || each == '.'; });
  if (version.empty()) {
    return HEDDLE_ERROR(InvalidArgument, path + " says of its version " + quote(text) +
                                             ", expected ptxas of CUDA, a release and V");
  }
  return "ptxas " + version.str();
}

static Status writeFile(const std::string &path, const Code &bytes) {
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

Result<DeviceImage> assemblePtx(const Code &text, llvm::StringRef processor,
                                const std::string &path) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("heddlec", folder)) {
    return HEDDLE_ERROR(InputOutput, "no temporary folder for ptxas: " + error.message());
  }
  llvm::scope_exit remove([&] {
    [[maybe_unused]] const std::error_code ignored = llvm::sys::fs::remove_directories(folder);
  });
  HEDDLE_ASSIGN(std::string compiler, nameOfPtxas(path, folder));
  const std::string source = (folder + "/kernels.ptx").str();
  const std::string output = (folder + "/kernels.cubin").str();
  HEDDLE_TRY(writeFile(source, text));
  const std::string arch = ("-arch=" + processor).str();
  HEDDLE_TRY(run(path, {arch, source, "-o", output}, folder).status());
  const std::string cubin = contentOf(output);
  if (cubin.empty()) {
    return HEDDLE_ERROR(InputOutput, path + " has left no cubin at " + output);
  }
  return DeviceImage{manifest::ImageKind::Cubin, Code(cubin.begin(), cubin.end()),
                     std::move(compiler)};
}

} // namespace heddle
