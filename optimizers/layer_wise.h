// Implements the common part of rules with one learning rate for each tensor.
#ifndef OPTIMIZERS_LAYER_WISE_H_
#define OPTIMIZERS_LAYER_WISE_H_

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "glog/logging.h"
#include "optimizers/optimizer.h"
#include "optimizers/stretch_table.h"

namespace ps {

class LayerWiseOptimizer : public Optimizer {
 public:
  bool layer_wise() const final { return true; }

  void StepTouched(const UpdateInfo& /*update*/,
                   absl::Span<const uint32_t> /*indices*/,
                   const float* /*gradient*/, float* /*weights*/) final {
    LOG(FATAL) << "a layer-wise rule changes every element";
  }

 protected:
  explicit LayerWiseOptimizer(StretchTable stretches)
      : stretches_(std::move(stretches)) {}

  const StretchTable& stretches() const { return stretches_; }

 private:
  const StretchTable stretches_;
};

// Creates a `Rule`, whose constructor takes (OptimizerConfig, StretchTable).
template <typename Rule>
absl::StatusOr<std::unique_ptr<Optimizer>> NewLayerWise(
    const OptimizerOptions& options) {
  PS_ASSIGN_OR_RETURN(StretchTable stretches, StretchTable::Create(options));
  return std::make_unique<Rule>(options.config, std::move(stretches));
}

}  // namespace ps

#endif  // OPTIMIZERS_LAYER_WISE_H_
