// Asks the servers of a job for their status, beside the training.
#ifndef TRANSPORT_CLUSTER_WATCH_H_
#define TRANSPORT_CLUSTER_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "transport/server_channel.h"

namespace ps {

// A server's status, or the reason why it is unknown.
struct ServerReport {
  absl::Status status;
  // The other fields are set only if `status` is OK. This one is the number of
  // updates that every slice has received; -1 before the initial weights.
  int64_t version = 0;
  std::vector<int> missing_ranks;  // Workers that have not come, or are lost.
  std::vector<int> awaited_ranks;  // Workers whose next push has not arrived.
};

class ClusterWatch {
 public:
  // Called for each answer, by several threads.
  using Heard = std::function<void(int server, const ServerReport& report)>;

  // Asks the servers, in order of index, at once and then every `interval`; a
  // server that has not answered is not asked again meanwhile.
  ClusterWatch(std::vector<std::unique_ptr<ServerChannel>> servers,
               absl::Duration interval, Heard heard);
  // Ends the calls of `heard`.
  ~ClusterWatch();

 private:
  void Run();
  void Ask(int server);

  const std::vector<std::unique_ptr<ServerChannel>> servers_;
  const absl::Duration interval_;
  const Heard heard_;
  Mutex mu_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<bool> asked_ ABSL_GUARDED_BY(mu_);  // [server], without answer.
  Thread thread_;
};

}  // namespace ps

#endif  // TRANSPORT_CLUSTER_WATCH_H_
