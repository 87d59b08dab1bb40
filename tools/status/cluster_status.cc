#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "tools/command_line/human_format.h"
#include "tools/status/status.h"
#include "transport/cluster_watch.h"
#include "transport/job_channels.h"
#include "worker/join_cluster.h"

namespace ps {
namespace {

// What each server says first.
class FirstReports {
 public:
  explicit FirstReports(size_t num_servers) : reports_(num_servers) {}

  void Heard(int server, const ServerReport& report) {
    MutexLock lock(&mu_);
    if (reports_[server].has_value()) return;
    reports_[server] = report;
    ++num_heard_;
    changed_.SignalAll();
  }

  // Each call has its own deadline, after which there is a report, too.
  std::vector<std::optional<ServerReport>> Await() {
    MutexLock lock(&mu_);
    while (num_heard_ < reports_.size()) changed_.Wait(&mu_);
    return reports_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<std::optional<ServerReport>> reports_ ABSL_GUARDED_BY(mu_);
  size_t num_heard_ ABSL_GUARDED_BY(mu_) = 0;
};

std::string Workers(const std::set<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "worker " : "workers ",
                      absl::StrJoin(ranks, ", "));
}

}  // namespace

absl::StatusOr<ClusterStatus> AskCluster(const JobConfig& config,
                                         int worker_rank) {
  if (config.cluster().servers().empty()) {
    return absl::InvalidArgumentError(
        "cluster.servers names no servers to ask; of a job that runs by "
        "`gradsieve train`, name the run directory");
  }
  PS_RETURN_IF_ERROR(CheckRank(config, worker_rank));
  PS_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ServerChannel>> channels,
                      ChannelsToServers(config, worker_rank));
  FirstReports first(channels.size());
  const ClusterWatch watch(std::move(channels), absl::InfiniteDuration(),
                           [&first](int server, const ServerReport& report) {
                             first.Heard(server, report);
                           });
  ClusterStatus status;
  status.all_answered = true;
  status.json = {{"servers", Json::array()}};
  std::set<int> missing;
  std::set<int> awaited;
  const std::vector<std::optional<ServerReport>> reports = first.Await();
  for (size_t i = 0; i < reports.size(); ++i) {
    const ServerReport& report = *reports[i];
    const std::string& address = config.cluster().servers(static_cast<int>(i));
    Json server = {{"address", address}};
    absl::StrAppend(&status.text, "server ", i, " at ", address, ": ");
    if (report.status.ok()) {
      const bool begun = report.version >= 0;
      absl::StrAppend(
          &status.text,
          begun ? absl::StrCat(FormatCount(report.version), " updates")
                : "has no weights yet",
          "\n");
      server["updates"] = begun ? Json(report.version) : Json();
      missing.insert(report.missing_ranks.begin(), report.missing_ranks.end());
      awaited.insert(report.awaited_ranks.begin(), report.awaited_ranks.end());
    } else {
      status.all_answered = false;
      const std::string error(report.status.message());
      absl::StrAppend(&status.text, "does not answer: ", error, "\n");
      server["error"] = error;
    }
    status.json["servers"].push_back(std::move(server));
  }
  if (!missing.empty()) {
    absl::StrAppend(&status.text, Workers(missing), ": not connected\n");
  }
  if (!awaited.empty()) {
    absl::StrAppend(&status.text, Workers(awaited),
                    ": the next push has not arrived\n");
  }
  status.json["missing_workers"] = missing;
  status.json["awaited_workers"] = awaited;
  return status;
}

}  // namespace ps
