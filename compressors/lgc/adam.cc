#include "compressors/lgc/adam.h"

#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

Adam::Adam(double learning_rate, size_t num_parameters)
    : learning_rate_(learning_rate),
      mean_(num_parameters, 0.0f),
      mean_square_(num_parameters, 0.0f) {}

void Adam::Step(const std::vector<float>& gradient,
                std::vector<float>* parameters) {
  ++num_steps_;
  const auto t = static_cast<double>(num_steps_);
  const double correction = std::sqrt(1 - std::pow(kBeta2, t));
  const auto rate = static_cast<float>(learning_rate_ * correction /
                                       (1 - std::pow(kBeta1, t)));
  const auto epsilon = static_cast<float>(kEpsilon * correction);
  for (size_t i = 0; i < mean_.size(); ++i) {
    const float g = gradient[i];
    mean_[i] += static_cast<float>(1 - kBeta1) * (g - mean_[i]);
    mean_square_[i] +=
        static_cast<float>(1 - kBeta2) * (g * g - mean_square_[i]);
    (*parameters)[i] -=
        rate * mean_[i] / (std::sqrt(mean_square_[i]) + epsilon);
  }
}

void Adam::Save(StateWriter* writer) const {
  writer->PutInt(num_steps_);
  writer->PutFloats(mean_);
  writer->PutFloats(mean_square_);
}

absl::Status Adam::Load(StateReader* reader, size_t num_saved) {
  PS_ASSIGN_OR_RETURN(num_steps_, reader->GetInt());
  for (std::vector<float>* const moments : {&mean_, &mean_square_}) {
    std::vector<float> saved(num_saved);
    PS_RETURN_IF_ERROR(reader->GetFloats(absl::MakeSpan(saved)));
    saved.resize(moments->size(), 0.0f);
    *moments = std::move(saved);
  }
  return absl::OkStatus();
}

}  // namespace ps
