#include "transport/grpc_log.h"

#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/log_limit.h"
#include "glog/logging.h"
#include "grpc/support/log.h"

namespace ps {
namespace {

constexpr int kLines = 20;
constexpr absl::Duration kInterval = absl::Seconds(10);

void Log(gpr_log_func_args* args) {
  // gRPC logs this for each connection, because certificates name processes and
  // not hosts (security/identity.h).
  if (absl::StartsWith(args->message, "No match found for server name")) return;
  static LogLimit* const limit = new LogLimit(kLines, kInterval);
  const gpr_log_severity severity = args->severity;
  const char* const slash = std::strrchr(args->file, '/');
  limit->Log(absl::StrCat("gRPC: ", args->message, " (",
                          slash == nullptr ? args->file : slash + 1, ":",
                          args->line, ")"),
             [severity](const std::string& line) {
               if (severity == GPR_LOG_SEVERITY_ERROR) {
                 LOG(WARNING) << line;
               } else {
                 LOG(INFO) << line;
               }
             });
}

}  // namespace

void LimitGrpcLog() { gpr_set_log_function(Log); }

}  // namespace ps
