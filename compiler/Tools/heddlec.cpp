// SPDX-License-Identifier: Apache-2.0
///
/// heddlec: compiles a model folder, a GGUF or ONNX file, or a program of the IR, to a binary or to
/// the program after any phase. compiler/Compile.h does the work; this file has messages, files and
/// exit codes.
#include "base/AtomicFile.h"
#include "base/Signals.h"
#include "compiler/Tools/CommandLine.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

using namespace heddle;

namespace {
enum ExitCode { Success = 0, BadInput = 1, BadUsage = 2 };

/// Shows the current phase on a terminal after the first second.
class Progress {
public:
  void show(llvm::StringRef step) {
    auto elapsed = std::chrono::steady_clock::now() - start;
    if (isTerminal && elapsed > std::chrono::seconds(1)) {
      llvm::errs() << "\r\033[Kheddlec: " << step << " ...";
      shown = true;
    }
  }
  ~Progress() {
    if (shown) {
      llvm::errs() << "\r\033[K";
    }
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool isTerminal = ::isatty(STDERR_FILENO);
  bool shown = false;
};
} // namespace

static int fail(const Status &status, ExitCode code) {
  llvm::errs() << "heddlec: " << llvm::StringRef(status.message()) << "\n";
  if (code == BadUsage) {
    llvm::errs() << "heddlec: try 'heddlec --help'\n";
  }
  return code;
}

// Not through /dev/stdout: if standard output is a file, writing would replace that file.
static Status writeStandardOutput(llvm::StringRef text) {
  llvm::raw_fd_ostream stream(STDOUT_FILENO, /*shouldClose=*/false, /*unbuffered=*/true);
  stream << text;
  const std::error_code error = stream.error();
  stream.clear_error();
  // A closed pipe is no error; the files are still written.
  if (!error || error == std::errc::broken_pipe) {
    return {};
  }
  return HEDDLE_ERROR(InputOutput, "standard output: cannot write: " + error.message());
}

/// Writes a file, or standard output for an empty path.
static Status writeText(std::string_view text, const std::string &path) {
  if (path.empty() || path == "-") {
    return writeStandardOutput(text);
  }
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::open(path));
  HEDDLE_TRY(file.write(text));
  return file.commit();
}

static Status run(CommandLine &line) {
  Progress progress;
  CompileRequest &request = line.request;
  const bool writesText = request.stopAfter != Phase::SharedObject;
  if (writesText && !line.output.empty() && line.output != "-") {
    request.otherOutputs.push_back({request.names.output, line.output});
  }
  if (!line.reportFile.empty() && line.reportFile != "-") {
    request.otherOutputs.push_back({"--report", line.reportFile});
  }
  request.onStep = [&](std::string_view step) { progress.show(step); };
  request.onRemark = [](RemarkKind kind, std::string_view text) {
    llvm::errs() << "heddlec: " << (kind == RemarkKind::Warning ? "warning: " : "note: ")
                 << llvm::StringRef(text) << "\n";
  };
  request.onText = [&](Phase phase, std::string_view text) {
    return writeText(text, phase == request.stopAfter ? line.output : std::string());
  };
  request.onReport = [&](std::string_view text) { return writeText(text, line.reportFile); };
  return compile(request).status;
}

/// Installs handlers for running out of memory and for fatal errors of LLVM.
static void installLastResorts() {
  std::set_new_handler([] {
    std::fputs("heddlec: out of memory\n", stderr);
    std::_Exit(BadInput);
  });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    std::fprintf(stderr, "heddlec: LLVM refused the program: %s\n", reason);
    std::_Exit(BadInput);
  });
}

int main(int argc, char **argv) {
  installLastResorts();
  handleSignals();
  CommandLine line;
  if (std::optional<int> code = parseCommandLine(argc, argv, line)) {
    return *code;
  }
  if (Status status = checkRequest(line.request); !status.ok()) {
    return fail(status, BadUsage);
  }
  if (Status status = run(line); !status.ok()) {
    return fail(status, BadInput);
  }
  return Success;
}
