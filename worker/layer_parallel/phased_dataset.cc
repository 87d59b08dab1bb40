#include "worker/layer_parallel/phased_dataset.h"

#include <string>
#include <utility>
#include <vector>

namespace ps {
namespace {

class PhasedDataset final : public Dataset {
 public:
  PhasedDataset(std::unique_ptr<Dataset> changing,
                std::shared_ptr<const Dataset> plain,
                std::function<bool(int64_t)> plain_epoch)
      : changing_(std::move(changing)),
        plain_(std::move(plain)),
        plain_epoch_(std::move(plain_epoch)) {}

  ExampleShape example_shape() const override {
    return changing_->example_shape();
  }
  int64_t size() const override { return changing_->size(); }
  ExampleOrder order() const override { return changing_->order(); }
  std::vector<std::string> class_names() const override {
    return changing_->class_names();
  }
  std::string example_name(int64_t number) const override {
    return changing_->example_name(number);
  }
  const ImageConverter* converter() const override {
    return changing_->converter();
  }
  const LabelledSequences* sequences() const override {
    return changing_->sequences();
  }
  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    const Dataset& set = plain_epoch_(epoch) ? *plain_ : *changing_;
    return set.Read(numbers, epoch, batch);
  }

 private:
  const std::unique_ptr<Dataset> changing_;
  const std::shared_ptr<const Dataset> plain_;
  const std::function<bool(int64_t)> plain_epoch_;
};

}  // namespace

std::unique_ptr<Dataset> NewPhasedDataset(
    std::unique_ptr<Dataset> changing, std::shared_ptr<const Dataset> plain,
    std::function<bool(int64_t)> plain_epoch) {
  return std::make_unique<PhasedDataset>(std::move(changing), std::move(plain),
                                         std::move(plain_epoch));
}

}  // namespace ps
