#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/slices/admission.h"

namespace ps {
namespace {

class StrictAdmission final : public Admission {
 public:
  explicit StrictAdmission(const SliceOptions& options)
      : Admission(options), pushes_(num_workers()) {}

  absl::StatusOr<Arrival> Take(WorkerPush push) override {
    if (push.iteration >= 0 && push.iteration == version() - 1) {
      return under_way() ? Arrival::kLate : Arrival::kStored;
    }
    if (push.iteration != version()) return OutOfOrder(push);
    std::optional<WorkerPush>& mine = pushes_[push.rank];
    // The first push is kept because it may be in use.
    if (mine.has_value()) return Arrival::kRepeat;
    mine = std::move(push);
    ++num_pushed_;
    return Arrival::kKept;
  }

  void WorkerGone(int rank) override { gone_.insert(rank); }

  absl::Status Hopeless(const std::set<int>& ask) const override {
    if (num_pushed_ == 0 && ask.empty()) return absl::OkStatus();
    for (const int rank : gone_) {
      if (pushes_[rank].has_value()) continue;
      const auto pushed =
          absl::c_find_if(pushes_, [](const auto& p) { return p.has_value(); });
      const int waits =
          pushed != pushes_.end() ? (*pushed)->rank : *ask.begin();
      return absl::FailedPreconditionError(absl::StrCat(
          "worker ", rank, " has finished after push ", version() - 1,
          " (counted from 0), and worker ", waits,
          " makes another one: all workers of a SYNCHRONOUS job must make "
          "equally many"));
    }
    return absl::OkStatus();
  }

  bool MayAnswer(int rank) const override { return !pushes_[rank].has_value(); }

  std::set<int> AwaitedRanks() const override {
    std::set<int> ranks;
    for (int rank = 0; rank < num_workers(); ++rank) {
      if (!pushes_[rank].has_value()) ranks.insert(rank);
    }
    return ranks;
  }

 private:
  std::optional<std::vector<WorkerPush>> Choose(absl::Time) override {
    if (num_pushed_ < num_workers()) return std::nullopt;
    std::vector<WorkerPush> pushes;
    // Rank order makes every run add in the same order.
    for (auto& push : pushes_) pushes.push_back(*std::move(push));
    return pushes;
  }

  void Counted() override {
    for (auto& push : pushes_) push.reset();
    num_pushed_ = 0;
  }

  // The pushes of this iteration; without payloads once the update has begun.
  std::vector<std::optional<WorkerPush>> pushes_;
  int num_pushed_ = 0;
  std::set<int> gone_;
};

}  // namespace

std::unique_ptr<Admission> NewStrictAdmission(const SliceOptions& options) {
  return std::make_unique<StrictAdmission>(options);
}

}  // namespace ps
