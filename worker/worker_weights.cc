#include "worker/worker_weights.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "compressors/state_io.h"
#include "optimizers/element_rule.h"

namespace ps {
namespace {

constexpr absl::string_view kStateKind = "worker_optimizer";
// The number of elements that a thread steps at a time.
constexpr int64_t kChunk = 64 * 1024;
// The number of elements that FollowAt prefetches.
constexpr size_t kAhead = 24;
// Keeps the divisor of clipping above 0, as in PyTorch's clip_grad_norm_.
constexpr double kClipEpsilon = 1e-6;

}  // namespace

WorkerWeights::WorkerWeights(const WorkerWeightsOptions& options)
    : options_(options),
      ahead_(
          static_cast<float>(options.config->worker_optimizer().step_ahead())),
      local_steps_(options.config->consistency().local_steps() > 1) {}

absl::StatusOr<std::unique_ptr<WorkerWeights>> WorkerWeights::Create(
    const WorkerWeightsOptions& options) {
  std::unique_ptr<WorkerWeights> weights(new WorkerWeights(options));
  PS_RETURN_IF_ERROR(weights->Init());
  return weights;
}

absl::Status WorkerWeights::Init() {
  const Shape shape = {options_.num_parameters};
  PS_ASSIGN_OR_RETURN(values_, options_.backend->Allocate(shape));
  OptimizerOptions rule;
  rule.config = options_.config->worker_optimizer();
  rule.num_elements = 1;  // One element shows the initial state.
  PS_ASSIGN_OR_RETURN(optimizer_, NewOptimizer(rule));
  for (const auto& [name, first] : optimizer_->State()) {
    State state;
    state.name = std::string(name);
    PS_ASSIGN_OR_RETURN(state.values, options_.backend->Allocate(shape));
    if (first->front() != 0) {
      const std::vector<float> host(options_.num_parameters, first->front());
      PS_RETURN_IF_ERROR(
          options_.backend->CopyFromHost(host.data(), &state.values));
    }
    states_.push_back(std::move(state));
  }
  return absl::OkStatus();
}

void WorkerWeights::Begin(int64_t iteration) {
  update_.update = iteration;
  update_.learning_rate = LearningRate(options_.config->worker_optimizer(),
                                       options_.config->schedule(),
                                       options_.total_iterations, iteration);
}

void WorkerWeights::Clip(double norm) {
  const double clip_norm = options_.config->worker_optimizer().clip_norm();
  if (clip_norm == 0) return;
  update_.gradient_scale = std::min(1.0, clip_norm / (norm + kClipEpsilon));
}

absl::Status WorkerWeights::Step(int64_t begin, int64_t end, Tensor* gradient) {
  if (options_.rates.empty()) return StepStretch(begin, end, 1, gradient);
  auto stretch = absl::c_upper_bound(
      options_.rates, begin,
      [](int64_t element, const RateStretch& s) { return element < s.end; });
  for (; begin < end; ++stretch) {
    const int64_t stretch_end = std::min(end, stretch->end);
    PS_RETURN_IF_ERROR(
        StepStretch(begin, stretch_end, stretch->rate, gradient));
    begin = stretch_end;
  }
  return absl::OkStatus();
}

absl::Status WorkerWeights::StepStretch(int64_t begin, int64_t end, double rate,
                                        Tensor* gradient) {
  SparseKernels& kernels = options_.backend->sparse();
  UpdateInfo update = update_;
  update.learning_rate *= rate;
  const ElementRule rule = *optimizer_->RuleOf(update);
  const auto arrays_from = [&](int64_t first) {
    StepArrays arrays;
    arrays.gradient = gradient->data() + first;
    arrays.weights = values_.data() + first;
    arrays.share = local_steps_ ? 1 : ahead_;
    for (size_t s = 0; s < states_.size(); ++s) {
      arrays.states[s] = states_[s].values.data() + first;
    }
    return arrays;
  };
  if (SparseWork* const work = kernels.device_work(); work != nullptr) {
    if (on_device_ == nullptr) on_device_ = NewOnDevice<DeviceStep>(work);
    return on_device_->Step(rule, arrays_from(begin), end - begin);
  }
  kernels.host_threads().ParallelFor(
      end - begin, kChunk, [&](const ChunkRange& chunk) {
        StepElements(rule, arrays_from(begin + chunk.begin),
                     chunk.end - chunk.begin);
      });
  return absl::OkStatus();
}

absl::Status WorkerWeights::Follow(int64_t begin, const Tensor& x,
                                   const Tensor& e) {
  return options_.backend->sparse().AddScaled(
      {x.data(), 1}, {e.data(), -ahead_}, x.size(), values_.data() + begin);
}

bool WorkerWeights::can_follow_at() const {
  return (!local_steps_ || ahead_ == 1) &&
         options_.backend->sparse().device_work() == nullptr;
}

void WorkerWeights::FollowAt(absl::Span<const uint32_t> indices, int64_t begin,
                             const Tensor& x, const Tensor& e) {
  float* const y = values_.data() + begin;
  const float* const from_x = x.data();
  const float* const from_e = e.data();
  const size_t count = indices.size();
  // The elements lie too far apart for the hardware prefetcher.
  const size_t ahead = count > kAhead ? count - kAhead : 0;
  for (size_t k = 0; k < count; ++k) {
    if (k < ahead) {
      const uint32_t next = indices[k + kAhead];
      __builtin_prefetch(from_x + next);
      __builtin_prefetch(from_e + next);
      __builtin_prefetch(y + next, /*rw=*/1);
    }
    y[indices[k]] = from_x[indices[k]] - ahead_ * from_e[indices[k]];
  }
}

absl::StatusOr<std::string> WorkerWeights::SaveState() const {
  StateWriter writer(kStateKind);
  writer.PutBytes(options_.config->worker_optimizer().name());
  writer.PutInt(options_.num_parameters);
  std::vector<float> host(options_.num_parameters);
  PS_RETURN_IF_ERROR(options_.backend->CopyToHost(values_, host.data()));
  writer.PutFloats(host);
  for (const State& state : states_) {
    PS_RETURN_IF_ERROR(options_.backend->CopyToHost(state.values, host.data()));
    writer.PutBytes(state.name);
    writer.PutFloats(host);
  }
  return std::move(writer).Finish();
}

absl::Status WorkerWeights::LoadState(absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kStateKind, bytes));
  PS_ASSIGN_OR_RETURN(const absl::string_view rule, reader.GetBytes());
  PS_ASSIGN_OR_RETURN(const int64_t size, reader.GetInt());
  const std::string& own_rule = options_.config->worker_optimizer().name();
  if (rule != own_rule || size != options_.num_parameters) {
    return absl::DataLossError(absl::StrCat(
        "the state of optimizer \"", rule, "\" with ", size,
        " parameters for \"", own_rule, "\" with ", options_.num_parameters));
  }
  std::vector<float> values(size);
  PS_RETURN_IF_ERROR(reader.GetFloats(absl::MakeSpan(values)));
  std::vector<std::vector<float>> read(states_.size());
  for (size_t s = 0; s < states_.size(); ++s) {
    PS_ASSIGN_OR_RETURN(const absl::string_view name, reader.GetBytes());
    if (name != states_[s].name) {
      return absl::DataLossError(absl::StrCat(
          "optimizer state \"", name, "\" for \"", states_[s].name, "\""));
    }
    read[s].resize(size);
    PS_RETURN_IF_ERROR(reader.GetFloats(absl::MakeSpan(read[s])));
  }
  PS_RETURN_IF_ERROR(reader.Finish());
  PS_RETURN_IF_ERROR(options_.backend->CopyFromHost(values.data(), &values_));
  for (size_t s = 0; s < states_.size(); ++s) {
    PS_RETURN_IF_ERROR(
        options_.backend->CopyFromHost(read[s].data(), &states_[s].values));
  }
  return absl::OkStatus();
}

}  // namespace ps
