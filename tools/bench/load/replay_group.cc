#include "tools/bench/load/replay_group.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace ps {

ReplayGroup::ReplayGroup(const Replay* replay, int first_rank, int end_rank)
    : first_rank_(first_rank) {
  for (int rank = first_rank; rank < end_rank; ++rank) {
    workers_.push_back(std::make_unique<ReplayWorker>(
        replay, rank, /*holds_weights=*/rank == first_rank));
  }
}

absl::Status ReplayGroup::ForEach(
    const std::function<absl::Status(ReplayWorker*)>& work) {
  Mutex mu;
  absl::Status first_failure;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers_.size(); ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status = work(workers_[i].get());
      if (status.ok()) return;
      {
        MutexLock lock(&mu);
        if (first_failure.ok()) {
          first_failure = Annotate(
              status,
              absl::StrCat("worker ", first_rank_ + static_cast<int>(i)));
        }
      }
      // Ends the job, because the others would wait for this worker's next
      // push. An error of this call adds nothing to the first failure.
      static_cast<void>(workers_[i]->Finish(status));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first_failure;
}

absl::Status ReplayGroup::Join() {
  return ForEach([](ReplayWorker* worker) { return worker->Join(); });
}

absl::Status ReplayGroup::Iterate(int64_t iterations) {
  return ForEach([iterations](ReplayWorker* worker) {
    return worker->Iterate(iterations);
  });
}

absl::Status ReplayGroup::Check() {
  return ForEach([](ReplayWorker* worker) { return worker->Check(); });
}

absl::Status ReplayGroup::Finish() {
  return ForEach(
      [](ReplayWorker* worker) { return worker->Finish(absl::OkStatus()); });
}

ReplayCounts ReplayGroup::TakeCounts() {
  ReplayCounts counts;
  for (const auto& worker : workers_) counts.Add(worker->TakeCounts());
  return counts;
}

}  // namespace ps
