#include "common/program.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace ps {

void InitProgram(const char* argv0) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv0);
  std::signal(SIGTERM, [](int signal) { _exit(128 + signal); });
  std::signal(SIGPIPE, SIG_IGN);
}

int64_t NumberFromEnvironment(const char* name, int64_t otherwise) {
  int64_t number = 0;
  const char* const text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

std::string ProcessName() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '?';
  return absl::StrCat(host, ":", getpid());
}

int ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return kExitConfig;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

}  // namespace ps
