// What LGC's workers and servers compute, where nothing travels.
#ifndef TESTS_COMPRESSORS_LGC_REFERENCE_LGC_H_
#define TESTS_COMPRESSORS_LGC_REFERENCE_LGC_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/random.h"
#include "compressors/lgc/adam.h"
#include "compressors/lgc/autoencoder.h"
#include "tests/compressors/lgc/lgc_cluster.h"

namespace ps {

// What all workers would send without codes: the sum of residual + gradient at
// the positions, which a reference keeps by itself.
class Reference {
 public:
  explicit Reference(int num_workers)
      : residuals_(num_workers, std::vector<float>(kSize, 0.0f)) {}

  std::vector<float> Values(int rank, const std::vector<float>& gradient,
                            const std::vector<uint32_t>& indices) {
    std::vector<float>& residual = residuals_[rank];
    for (int64_t i = 0; i < kSize; ++i) residual[i] += gradient[i];
    std::vector<float> values;
    for (const uint32_t i : indices) {
      values.push_back(residual[i]);
      residual[i] = 0;
    }
    return values;
  }
  const std::vector<float>& residual(int rank) const {
    return residuals_[rank];
  }

 private:
  std::vector<std::vector<float>> residuals_;
};

// The specification's phases 2 and 3 with the same autoencoder, in which
// nothing travels.
class ReferenceAutoencoder {
 public:
  explicit ReferenceAutoencoder(int num_workers)
      : parameters_(InitialEncoder(kKey)),
        adam_(0.001,
              NumEncoderParameters() + num_workers * NumDecoderParameters()) {
    for (int rank = 0; rank < num_workers; ++rank) {
      const std::vector<float> decoder = InitialDecoder(kKey, rank);
      parameters_.insert(parameters_.end(), decoder.begin(), decoder.end());
    }
  }

  // values: [num_workers][indices.size()].
  void Take(const std::vector<uint32_t>& indices,
            const std::vector<std::vector<float>>& values, int leader) {
    order_.clear();
    for (const bool positive : {true, false}) {
      for (size_t i = 0; i < indices.size(); ++i) {
        if (indices[i] >= kFirst && indices[i] < kFirst + kMiddle &&
            (values[leader][i] >= 0) == positive) {
          order_.push_back(i);
        }
      }
    }
    double squares = 0;
    for (const size_t i : order_) {
      squares += double{values[leader][i]} * values[leader][i];
    }
    scale_ = static_cast<float>(
        std::sqrt(squares / static_cast<double>(order_.size())));
    example_ = TrainingExample<float>();
    example_.leader = leader;
    for (const std::vector<float>& of_worker : values) {
      std::vector<float> x;
      for (const size_t i : order_) x.push_back(of_worker[i] / scale_);
      std::vector<float> magnitudes;
      for (const float value : x) magnitudes.push_back(std::fabs(value));
      std::sort(magnitudes.rbegin(), magnitudes.rend());
      // The five largest, a hundredth of 410.
      std::vector<float> innovation;
      for (const float value : x) {
        innovation.push_back(std::fabs(value) >= magnitudes[4] ? value : 0.0f);
      }
      example_.values.push_back(x);
      example_.innovations.push_back(innovation);
    }
  }

  void Train() {
    std::vector<float> gradient;
    ReconstructionError error;
    AutoencoderLoss<float>(parameters_, example_, &gradient, &error);
    adam_.Step(gradient, &parameters_);
  }

  // What the server makes of worker `rank`'s values.
  std::vector<float> Decoded(int rank, std::vector<float> values) const {
    const std::vector<float> code =
        Encode<float>(parameters_.data(), example_.values[example_.leader]);
    const std::vector<float> decoded =
        Decode<float>(parameters_.data() + NumEncoderParameters() +
                          rank * NumDecoderParameters(),
                      code, example_.innovations[rank]);
    for (size_t i = 0; i < order_.size(); ++i) {
      values[order_[i]] = decoded[i] * scale_;
    }
    return values;
  }

 private:
  static constexpr uint64_t kSlice = 0;
  const uint64_t kKey = RandomKey(kSeed, kSlice);
  std::vector<float> parameters_;
  Adam adam_;
  std::vector<size_t> order_;
  float scale_ = 1;
  TrainingExample<float> example_;
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_LGC_REFERENCE_LGC_H_
