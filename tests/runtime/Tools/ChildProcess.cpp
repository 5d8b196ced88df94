// SPDX-License-Identifier: Apache-2.0
///
/// fork, exec, and files for the standard streams: no pipe can fill up.
#include "tests/runtime/Tools/ChildProcess.h"

#include "tests/base/TemporaryFolder.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace heddle::tools {

/// In the child: redirects the stream to the file, or ends the child.
static void redirect(int stream, const std::string &path, int flags) {
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0 || ::dup2(descriptor, stream) < 0) {
    ::_exit(126);
  }
  ::close(descriptor);
}

/// In the child: sets up everything except the streams.
static void prepare(const ProcessOptions &options) {
  // The test runner may ignore or block signals, as nohup does: restore the defaults.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE}) {
    std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (options.fileLimit) {
    const rlimit limit = {*options.fileLimit, *options.fileLimit};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (int ends[2]; options.errorUnread && ::pipe(ends) == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  if (options.processorSeconds) {
    const rlimit limit = {*options.processorSeconds, *options.processorSeconds};
    ::setrlimit(RLIMIT_CPU, &limit);
  }
  for (const std::string &variable : options.environment) {
    ::putenv(const_cast<char *>(variable.c_str()));
  }
  if (options.bound && ::geteuid() == 0 && ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) != 0) {
    ::_exit(125);
  }
}

/// Sends the signal at its moment. The process id is not reused before the process is waited for.
static void sendSignal(pid_t child, const ProcessOptions &options) {
  const auto isRunning = [child] {
    siginfo_t state = {};
    return ::waitid(P_PID, static_cast<id_t>(child), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           state.si_pid == 0;
  };
  while (options.signalWhen && !options.signalWhen() && isRunning()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(options.signalAfter));
  ::kill(child, options.signal);
}

/// A terminal, which the child writes to and this process reads from.
namespace {
struct Terminal {
  Terminal() : descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    EXPECT_EQ(::grantpt(descriptor), 0);
    EXPECT_EQ(::unlockpt(descriptor), 0);
    path = ::ptsname(descriptor);
    // While it is open here, the output is not lost when the child ends.
    kept = ::open(path.c_str(), O_WRONLY | O_NOCTTY);
  }
  Terminal(const Terminal &) = delete;
  Terminal &operator=(const Terminal &) = delete;
  ~Terminal() {
    ::close(kept);
    ::close(descriptor);
  }

  std::string read() const {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(descriptor, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }

  int descriptor;
  int kept = -1;
  std::string path;
};
} // namespace

Outcome runProgram(const std::string &name, const std::vector<std::string> &arguments,
                   const ProcessOptions &options) {
  const TemporaryFolder folder;
  folder.write("in", options.input);
  const std::string output = options.outputPath.empty() ? folder / "out" : options.outputPath;
  std::string program = HEDDLE_BINARY_DIR "/bin/" + name;
  std::vector<char *> argv = {program.data()};
  for (const std::string &argument : arguments) {
    argv.push_back(const_cast<char *>(argument.c_str()));
  }
  argv.push_back(nullptr);
  std::optional<Terminal> terminal;
  if (options.errorOnTerminal) {
    terminal.emplace();
  }
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDIN_FILENO, folder / "in", O_RDONLY);
    redirect(STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC);
    if (terminal) {
      redirect(STDERR_FILENO, terminal->path, O_WRONLY | O_NOCTTY);
    } else {
      redirect(STDERR_FILENO, folder / "err", O_WRONLY | O_CREAT | O_TRUNC);
    }
    prepare(options);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  EXPECT_GT(child, 0);
  if (options.signal != 0) {
    sendSignal(child, options);
  }
  int status = 0;
  rusage used = {};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  Outcome outcome;
  outcome.peakKilobytes = used.ru_maxrss;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.output = options.outputPath.empty() ? folder.read("out") : "";
  outcome.error = terminal ? terminal->read() : folder.read("err");
  return outcome;
}

} // namespace heddle::tools
