#include "data/skipping_dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {
namespace {

class SkippingDataset final : public Dataset {
 public:
  explicit SkippingDataset(std::unique_ptr<Dataset> set)
      : set_(std::move(set)) {}

  ExampleShape example_shape() const override { return set_->example_shape(); }
  int64_t size() const override { return set_->size(); }
  ExampleOrder order() const override { return set_->order(); }
  std::vector<std::string> class_names() const override {
    return set_->class_names();
  }
  std::string example_name(int64_t number) const override {
    return set_->example_name(number);
  }
  const ImageConverter* converter() const override { return set_->converter(); }
  const LabelledSequences* sequences() const override {
    return set_->sequences();
  }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    std::vector<int64_t> whole(numbers.begin(), numbers.end());
    for (int64_t& number : whole) number = Known(number);
    if (set_->Read(whole, epoch, batch).ok()) return absl::OkStatus();
    for (int64_t& number : whole) {
      PS_ASSIGN_OR_RETURN(number, FindWhole(number, epoch));
    }
    return set_->Read(whole, epoch, batch);
  }

 private:
  int64_t Next(int64_t number) const { return (number + 1) % size(); }

  // Returns the first number from `number` on that is not known to be damaged.
  int64_t Known(int64_t number) const {
    MutexLock lock(&mu_);
    while (damaged_.contains(number) && !all_are_damaged_) {
      number = Next(number);
    }
    return number;
  }

  absl::StatusOr<int64_t> FindWhole(int64_t number, int64_t epoch) const {
    Batch one;
    for (;;) {
      const absl::Status read = set_->Read({number}, epoch, &one);
      if (read.ok()) return number;
      // A number that the set does not have is an error, too.
      if (!(absl::IsDataLoss(read) || absl::IsInvalidArgument(read)) ||
          number < 0 || number >= size()) {
        return read;
      }
      {
        MutexLock lock(&mu_);
        if (damaged_.insert(number).second) {
          LOG(WARNING) << "an example is damaged, and the next one is read in "
                          "its place (data.on_bad_example): "
                       << read.message() << "; " << damaged_.size()
                       << " so far";
        }
        all_are_damaged_ = static_cast<int64_t>(damaged_.size()) == size();
        if (all_are_damaged_) return read;
      }
      number = Known(number);
    }
  }

  const std::unique_ptr<Dataset> set_;
  mutable Mutex mu_;
  mutable absl::flat_hash_set<int64_t> damaged_ ABSL_GUARDED_BY(mu_);
  mutable bool all_are_damaged_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

std::unique_ptr<Dataset> NewSkippingDataset(std::unique_ptr<Dataset> set) {
  return std::make_unique<SkippingDataset>(std::move(set));
}

}  // namespace ps
