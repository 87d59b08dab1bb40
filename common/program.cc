#include "common/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "glog/logging.h"
#include "google/protobuf/stubs/logging.h"

namespace ps {
namespace {

// Messages of several megabytes are allocated and freed all the time. Memory
// that is returned to the system comes back as pages that must be zeroed, with
// one page fault each, which took a third of the system time of a server that
// receives dense pushes.
void KeepFreedMemory() {
#ifdef __GLIBC__
  // The largest value that glibc allows. Larger blocks live as long as the
  // process.
  constexpr int kMmapBytes = 32 << 20;
  constexpr int kTrimBytes = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kMmapBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimBytes);
  // One thread allocates what another one frees, so with one arena per thread
  // each arena would grow and empty in turns. Small blocks have per-thread
  // caches.
  mallopt(M_ARENA_MAX, 1);
#endif
}

// Debian's Abseil is built to search for deadlocks at each lock, which takes 2
// to 3 % of a server's time. Other builds keep that.
void LockWithoutSearch() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

std::atomic<bool> asked_to_end{false};
std::atomic<bool> asked_by_signal{false};
std::atomic<int> asked_by{SIGTERM};
std::atomic<unsigned> seconds_to_end{0};
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<int>::is_always_lock_free,
              "a signal handler must not wait");

// Without this, a file that is opened later could get the descriptor of
// standard output, and what is written there.
void OpenStandardStreams() {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd >= 0) close(fd);
}

// Writes "W 12:03:04", after which glog writes a space and the message.
void WriteShortPrefix(std::ostream& out, const google::LogMessageInfo& message,
                      void*) {
  out << message.severity[0]
      << absl::StrFormat(" %02d:%02d:%02d", message.time.hour(),
                         message.time.min(), message.time.sec());
}

void Exit(int signal) { _exit(128 + signal); }

void Ask(int signal) {
  // When all processes are asked at the same time, a peer may have asked first.
  if (asked_by_signal.exchange(true)) Exit(signal);
  asked_to_end = true;
  asked_by = signal;
  alarm(seconds_to_end);
}

// Raises the limit of open files to the hard limit.
void RaiseOpenFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void InitProgram(const char* argv0) {
  OpenStandardStreams();
  RaiseOpenFiles();
  KeepFreedMemory();
  LockWithoutSearch();
  FLAGS_logtostderr = true;
  if (isatty(STDERR_FILENO) != 0) {
    google::InitGoogleLogging(argv0, WriteShortPrefix);
  } else {
    google::InitGoogleLogging(argv0);
  }
  // Protobuf would log a line for each malformed message of a peer.
  google::protobuf::SetLogHandler(nullptr);
  std::signal(SIGTERM, Exit);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void EndWhenAsked(int grace_seconds) {
  seconds_to_end = static_cast<unsigned>(grace_seconds);
  std::signal(SIGALRM, [](int) { Exit(asked_by); });
  std::signal(SIGTERM, Ask);
  std::signal(SIGINT, Ask);
  if (std::signal(SIGHUP, Ask) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

std::atomic<bool>* AskedToEnd() { return &asked_to_end; }

void EndProgram(int exit_code) {
  const bool flushed = std::fflush(stdout) == 0;
  // errno holds the reason of the last error only.
  const char* const reason = flushed ? "some was lost" : std::strerror(errno);
  if (std::ferror(stdout) != 0) {
    std::fprintf(stderr, "%s: cannot write to standard output: %s\n",
                 program_invocation_short_name, reason);
    if (exit_code == kExitDone) exit_code = kExitFailed;
  }
  std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();
#endif
  _exit(exit_code);
}

int NumberFromEnvironment(const char* name, int otherwise) {
  int number = 0;
  const char* const text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

void GiveBackMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

std::string ProcessName() { return ProcessName(getpid()); }

std::string ProcessName(int pid) {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '?';
  return absl::StrCat(host, ":", pid);
}

int ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnimplemented:
      return kExitConfig;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

}  // namespace ps
