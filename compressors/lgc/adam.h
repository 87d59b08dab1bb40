// Adam for the few parameters of an autoencoder. Kingma, Ba, "Adam: A Method
// for Stochastic Optimization", ICLR 2015.
#ifndef COMPRESSORS_LGC_ADAM_H_
#define COMPRESSORS_LGC_ADAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "compressors/state_io.h"

namespace ps {

// The optimizer, with betas 0.9 and 0.999, epsilon 1e-8 and bias correction.
class Adam {
 public:
  Adam(double learning_rate, size_t num_parameters);

  // Makes a step. Both vectors have num_parameters elements.
  void Step(const std::vector<float>& gradient, std::vector<float>* parameters);

  void Save(StateWriter* writer) const;
  // Restores the state. The first num_saved parameters have saved moments; the
  // others start from zero. Errors: kDataLoss.
  absl::Status Load(StateReader* reader, size_t num_saved);

 private:
  const double learning_rate_;
  int64_t num_steps_ = 0;
  std::vector<float> mean_;
  std::vector<float> mean_square_;
};

}  // namespace ps

#endif  // COMPRESSORS_LGC_ADAM_H_
