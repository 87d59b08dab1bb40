#include "server/slices/slice_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"
#include "server/slices/scaled_payload.h"

namespace ps {
namespace {

// An empty list of segments means one tensor.
SliceOptions WithStretches(SliceOptions options) {
  if (options.stretches.empty()) {
    options.stretches.push_back({0, 0, options.num_elements, true});
  }
  return options;
}

// Checks that all pushes tell their samples, or none.
absl::Status CheckSamples(const std::vector<WorkerPush>& pushes) {
  const auto tells = [](const WorkerPush& push) { return push.samples > 0; };
  const auto one = std::find_if(pushes.begin(), pushes.end(), tells);
  const auto other = std::find_if_not(pushes.begin(), pushes.end(), tells);
  if (one == pushes.end() || other == pushes.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "worker ", one->rank, " tells that its push ", one->iteration,
      " is from ", one->samples, " samples, and worker ", other->rank,
      " tells none; all workers must, or none"));
}

}  // namespace

SliceState::SliceState(const SliceOptions& options)
    : options_(WithStretches(options)),
      each_push_(UpdatesByEachPush(*options.config)),
      may_leave_out_(MayLeaveOut(*options.config)),
      may_drop_(options.config->consistency().push_norms().action() ==
                PushNormsConfig::LEAVE_OUT),
      workers_(options.config->cluster().num_workers()) {
  progress_.counted.assign(workers_.size(), -1);
  const JobConfig& config = *options_.config;
  const int num_workers = config.cluster().num_workers();
  const SliceCoderFactory new_coder =
      FindCompressor(config.compressor().name()).slice_coder;
  may_have_coder_ = new_coder != nullptr && options_.rule != UpdateRule::kMean;
  if (may_have_coder_ && SharesPositions(config.compressor(), num_workers)) {
    coder_ = new_coder({config.compressor(), options_.num_elements, num_workers,
                        config.seed(), options_.number});
  }
  const PushNormsConfig& norms = options.config->consistency().push_norms();
  if (norms.action() != PushNormsConfig::ACCEPT &&
      options.rule != UpdateRule::kMean) {
    norms_.emplace(norms, static_cast<int>(workers_.size()),
                   options.num_elements);
  }
}

absl::StatusOr<std::unique_ptr<SliceState>> SliceState::Create(
    const SliceOptions& options, const PayloadPieces& first) {
  std::unique_ptr<SliceState> state(new SliceState(options));
  PS_ASSIGN_OR_RETURN(state->weights_,
                      SliceWeights::Create(state->options_, first));
  if (options.rule != UpdateRule::kExchange) {
    state->first_digest_ = DigestOf(first, options.num_elements);
  }
  return state;
}

absl::Status SliceState::CheckDigests(
    const std::vector<WorkerPush>& pushes) const {
  std::vector<int> others;
  std::optional<uint64_t> digest;
  for (const WorkerPush& push : pushes) {
    // A worker that skipped ahead to this update holds older weights.
    if (!push.weights_digest.has_value() || each_push_ ||
        (may_leave_out_ && push.base_version != push.iteration)) {
      continue;
    }
    if (!digest.has_value()) digest = Digest();
    if (*push.weights_digest != *digest) others.push_back(push.rank);
  }
  if (others.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "worker ", absl::StrJoin(others, ", "),
      " does not hold the weights that this server sent (digests differ before "
      "iteration ",
      pushes[0].iteration, "): its memory, or the network, changed them"));
}

absl::StatusOr<std::vector<Squares>> SliceState::Apply(
    const UpdateRecord& record) {
  SliceWeights::Outcome outcome;
  if (!under_way_) {
    under_way_ = true;
    num_totals_ = 0;
    PS_ASSIGN_OR_RETURN(outcome, Begin(record.pushes));
  } else {
    CHECK_LT(num_totals_, record.totals.size());
    PS_ASSIGN_OR_RETURN(outcome, Continue(record.totals[num_totals_++]));
  }
  while (!outcome.squares.empty() && num_totals_ < record.totals.size()) {
    PS_ASSIGN_OR_RETURN(outcome, Continue(record.totals[num_totals_++]));
  }
  if (outcome.squares.empty()) {
    Finish(record, std::move(outcome.answer));
  }
  return std::move(outcome.squares);
}

absl::StatusOr<std::vector<CoderPush>> SliceState::Decode(
    const std::vector<WorkerPush>& pushes, GradientPayloads* gradients) {
  std::vector<CoderPush> decoded(pushes.size());
  for (size_t i = 0; i < pushes.size(); ++i) {
    decoded[i].rank = pushes[i].rank;
    decoded[i].pieces = pushes[i].payload.pieces;
  }
  PS_RETURN_IF_ERROR(coder_->Apply(progress_.version, absl::MakeSpan(decoded)));
  for (size_t i = 0; i < pushes.size(); ++i) {
    gradients->payloads[i] = &decoded[i].pieces;
  }
  return decoded;
}

void SliceState::JudgeNorms(const std::vector<WorkerPush>& pushes,
                            std::deque<PayloadBuffer>* changed,
                            std::deque<PayloadPieces>* pieces,
                            GradientPayloads* gradients) {
  using Config = PushNormsConfig;
  const Config& config = options_.config->consistency().push_norms();
  const char* const done = config.action() == Config::FLAG  ? "is used"
                           : config.action() == Config::CAP ? "is scaled down"
                                                            : "is left out";
  std::vector<const PayloadPieces*>& payloads = gradients->payloads;
  for (const PushNorms::Finding& found : norms_->Judge(payloads)) {
    const WorkerPush& push = pushes[found.push];
    unusual_.push_back(absl::StrCat(
        "worker ", push.rank, ", iteration ", push.iteration, ", ",
        options_.name, ": the push has norm ", found.norm, ", more than ",
        config.factor(), " times the median, ", found.median, "; it ", done));
    if (config.action() == Config::CAP) {
      changed->push_back(norms_->Capped(*payloads[found.push], found));
      pieces->push_back({changed->back().span()});
      payloads[found.push] = &pieces->back();
    } else if (config.action() == Config::LEAVE_OUT) {
      payloads[found.push] = nullptr;
      gradients->sent_elements -= push.count;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < payloads.size(); ++i) {
    if (payloads[i] == nullptr) continue;
    payloads[kept] = payloads[i];
    gradients->samples[kept++] = gradients->samples[i];
  }
  payloads.resize(kept);
  gradients->samples.resize(kept);
}

void SliceState::Weigh(std::deque<PayloadBuffer>* changed,
                       std::deque<PayloadPieces>* pieces,
                       GradientPayloads* gradients) const {
  const std::vector<int64_t>& samples = gradients->samples;
  const int64_t sum =
      std::accumulate(samples.begin(), samples.end(), int64_t{0});
  if (sum == 0) return;
  for (size_t i = 0; i < samples.size(); ++i) {
    // Exactly 1 if all are from equally many.
    const double scale = static_cast<double>(samples[i]) *
                         static_cast<double>(samples.size()) /
                         static_cast<double>(sum);
    if (scale == 1) continue;
    changed->push_back(
        ScaledPayload(*gradients->payloads[i], scale, options_.num_elements));
    pieces->push_back({changed->back().span()});
    gradients->payloads[i] = &pieces->back();
  }
}

absl::StatusOr<SliceWeights::Outcome> SliceState::Begin(
    const std::vector<WorkerPush>& pushes) {
  PS_RETURN_IF_ERROR(CheckDigests(pushes));
  PS_RETURN_IF_ERROR(CheckSamples(pushes));
  // The weights can be updated in place once no answer shares them.
  answer_.weights = DownlinkPayload();
  timings_ = ServerTimings();
  GradientPayloads gradients;
  gradients.all_dense = true;
  for (const WorkerPush& push : pushes) {
    gradients.payloads.push_back(&push.payload.pieces);
    gradients.samples.push_back(push.samples);
    gradients.any_dense = gradients.any_dense || push.dense;
    gradients.all_dense = gradients.all_dense && push.dense;
    gradients.sent_elements += push.count;
  }
  std::vector<CoderPush> decoded;
  if (coder_ != nullptr) {
    PS_ASSIGN_OR_RETURN(decoded, Decode(pushes, &gradients));
  }
  unusual_.clear();
  std::deque<PayloadBuffer> changed;
  std::deque<PayloadPieces> pieces;
  if (norms_.has_value()) JudgeNorms(pushes, &changed, &pieces, &gradients);
  Weigh(&changed, &pieces, &gradients);
  std::vector<PayloadPieces> statistics;
  if (each_push_ && options_.rule == UpdateRule::kMean) {
    std::vector<float> values(options_.num_elements);
    DecodeDensePayload(pushes[0].payload.pieces, absl::MakeSpan(values));
    workers_[pushes[0].rank].statistics = EncodeDense(values);
    for (const Worker& worker : workers_) {
      if (worker.statistics.size_bytes() == 0) continue;
      statistics.push_back({worker.statistics.span()});
    }
    gradients.payloads.clear();
    for (const PayloadPieces& one : statistics) {
      gradients.payloads.push_back(&one);
    }
  }
  return weights_->Begin(progress_.version, gradients, &timings_);
}

absl::StatusOr<SliceWeights::Outcome> SliceState::Continue(
    const SquaresTotals& totals) {
  std::vector<Squares> mine;
  for (const TensorStretch& stretch : options_.stretches) {
    mine.push_back(totals.tensors[stretch.tensor]);
  }
  return weights_->Continue(mine, totals.norm, &timings_);
}

void SliceState::Finish(const UpdateRecord& record, DownlinkPayload answer) {
  const std::vector<WorkerPush>& pushes = record.pushes;
  WeightAnswer next;
  for (const WorkerPush& push : pushes) {
    next.mean_loss += push.loss / static_cast<double>(pushes.size());
    next.sent_elements += push.count;
    next.bytes_up += push.message_bytes;
    if (push.rank == 0) compress_next_ = push.compress_next;
    progress_.counted[push.rank] = push.iteration;
    if (!each_push_) continue;
    Worker& worker = workers_[push.rank];
    worker.loss = push.loss;
    worker.staleness = progress_.version - push.base_version;
    worker.timings = timings_;
  }
  ++progress_.version;
  under_way_ = false;
  if (each_push_) {
    counts_.sent_elements += next.sent_elements;
    counts_.bytes_up += next.bytes_up;
    FindMeanLoss();
    return;
  }
  next.version = progress_.version;
  next.compress_next = compress_next_;
  next.weights = std::move(answer);
  if (may_drop_) next.weights.covers_pushes = false;
  next.timings = timings_;
  next.stop = record.stop;
  answer_ = std::move(next);
}

void SliceState::FindMeanLoss() {
  double sum = 0;
  int64_t count = 0;
  for (const Worker& worker : workers_) {
    if (!worker.loss.has_value()) continue;
    sum += *worker.loss;
    ++count;
  }
  mean_loss_ = count == 0 ? 0 : sum / static_cast<double>(count);
}

void SliceState::WorkerGone(int rank) {
  workers_[rank].loss.reset();
  FindMeanLoss();
}

absl::StatusOr<WeightAnswer> SliceState::Answer(int rank,
                                                int64_t base_version) {
  if (!each_push_) {
    // A worker that skipped updates before this one lacks their changes.
    const bool skipped =
        may_leave_out_ && base_version != progress_.version - 1;
    return skipped ? AnswerWithAll() : answer_;
  }
  Worker& worker = workers_[rank];
  WeightAnswer answer;
  answer.version = progress_.version;
  answer.mean_loss = mean_loss_;
  answer.sent_elements = counts_.sent_elements - worker.answered.sent_elements;
  answer.bytes_up = counts_.bytes_up - worker.answered.bytes_up;
  answer.staleness = worker.staleness;
  answer.compress_next = compress_next_;
  answer.timings = worker.timings;
  worker.answered = counts_;
  PS_ASSIGN_OR_RETURN(answer.weights,
                      weights_->Since(base_version, &answer.timings));
  if (may_drop_) answer.weights.covers_pushes = false;
  return answer;
}

WeightAnswer SliceState::AnswerWithAll() const {
  if (options_.rule == UpdateRule::kExchange) return answer_;
  WeightAnswer answer = answer_;
  answer.version = progress_.version;
  answer.weights.bytes = weights_->All();
  answer.weights.difference = false;
  return answer;
}

}  // namespace ps
