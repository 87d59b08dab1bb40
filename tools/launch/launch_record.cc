#include "tools/launch/launch_record.h"

#include <random>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {
namespace {

struct Field {
  const char* name;
  std::string LaunchRecord::*value;
};

const Field kFields[] = {
    {"hosts", &LaunchRecord::hosts},
    {"ssh", &LaunchRecord::ssh},
    {"run_id", &LaunchRecord::run_id},
    {"server", &LaunchRecord::server_program},
    {"worker", &LaunchRecord::worker_program},
};

std::string PathIn(const std::string& run_directory) {
  return run_directory + "/hosts";
}

bool Take(absl::string_view line, LaunchRecord* record) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  if (parts.first == "port") {
    return absl::SimpleAtoi(parts.second, &record->port);
  }
  for (const Field& field : kFields) {
    if (parts.first != field.name) continue;
    record->*field.value = parts.second;
    return true;
  }
  return false;
}

}  // namespace

std::string NewRunId() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

absl::Status WriteLaunchRecord(const LaunchRecord& record,
                               const std::string& run_directory) {
  std::string text = absl::StrCat("port: ", record.port, "\n");
  for (const Field& field : kFields) {
    absl::StrAppend(&text, field.name, ": ", record.*field.value, "\n");
  }
  return WriteFileAtomically(PathIn(run_directory), text);
}

absl::StatusOr<LaunchRecord> ReadLaunchRecord(
    const std::string& run_directory) {
  const std::string path = PathIn(run_directory);
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  LaunchRecord record;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!Take(line, &record)) {
      return absl::DataLossError(
          absl::StrCat(path, ": there is no meaning to \"", line, "\""));
    }
  }
  return record;
}

}  // namespace ps
