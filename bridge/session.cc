#include "bridge/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data_description.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/state_io.h"
#include "glog/logging.h"
#include "transport/push_samples.h"
#include "worker/bucket_plan.h"
#include "worker/timings.h"

namespace ps {
namespace {

// Servers only compare it.
constexpr int64_t kWithoutEnd = int64_t{1} << 53;

constexpr absl::string_view kStateKind = "bridge";

// So that workers with other tensors, or the same in another order, are
// refused.
std::string Describe(const BridgeSessionOptions& options) {
  std::vector<std::string> tensors;
  for (const ParameterInfo& parameter : options.parameters) {
    tensors.push_back(
        absl::StrCat(parameter.name, " ", ShapeString(parameter.shape)));
  }
  DataDescription description;
  description.AddList("tensor", tensors);
  description.AddList("frozen tensor", options.same);
  description.Add("buckets of a push", options.staggered ? "one" : "all");
  return description.text();
}

// Whether buckets can take turns.
absl::Status CheckStaggered(const JobConfig& config) {
  const CompressorConfig& compressor = config.compressor();
  std::string problem;
  if (AnswersMeans(config)) {
    problem = "downlink.mode is MEAN; must be another";
  } else if (WorkersDrift(config)) {
    problem =
        absl::StrCat("consistency.mode is ",
                     ConsistencyConfig::Mode_Name(config.consistency().mode()),
                     "; must be SYNCHRONOUS");
  } else if (config.training().non_finite() == TrainingConfig::SKIP) {
    problem =
        "training.non_finite is SKIP, which looks at all buckets first; must "
        "be FAIL";
  } else if (compressor.name() == "auto" ||
             SharesPositions(compressor, config.cluster().num_workers())) {
    problem = absl::StrCat("compressor.name is \"", compressor.name(),
                           "\", which chooses for all buckets of a push; must "
                           "be another");
  }
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("buckets take turns (stagger), and ", problem));
}

// Adds the push of one bucket to those of its round.
void AddTurn(const ExchangeStats& turn, ExchangeStats* round) {
  round->compression.insert(round->compression.end(), turn.compression.begin(),
                            turn.compression.end());
  Timings& timings = round->timings;
  const auto n = static_cast<double>(round->compression.size());
  // Means over slices, in place of sums.
  const double wire = timings.wire + (turn.timings.wire - timings.wire) / n;
  const double held = timings.server.held +
                      (turn.timings.server.held - timings.server.held) / n;
  const double wait = timings.server.wait +
                      (turn.timings.server.wait - timings.server.wait) / n;
  std::vector<double*> sums;
  ForEachTiming(timings,
                [&](const char*, double& sum) { sums.push_back(&sum); });
  size_t next = 0;
  ForEachTiming(turn.timings,
                [&](const char*, double value) { *sums[next++] += value; });
  timings.wire = wire;
  timings.server.held = held;
  timings.server.wait = wait;
  round->mean_loss = turn.mean_loss;
  round->sent_elements += turn.sent_elements;
  round->bytes_up += turn.bytes_up;
  round->bytes_down += turn.bytes_down;
  round->retries += turn.retries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BridgeSession>> BridgeSession::Open(
    const BridgeSessionOptions& options) {
  PS_RETURN_IF_ERROR(CheckRank(*options.config, options.worker_rank));
  if (options.staggered) PS_RETURN_IF_ERROR(CheckStaggered(*options.config));
  std::unique_ptr<BridgeSession> session(new BridgeSession(options));
  const absl::Status joined = session->Join();
  if (joined.ok()) return session;
  if (session->link_.client != nullptr) session->GiveUp(joined);
  return joined;
}

absl::Status BridgeSession::Join() {
  const JobConfig& config = *options_.config;
  CpuBackendOptions cpu;
  // The other process uses the cores.
  cpu.num_threads = std::max(1, config.machine().worker_threads());
  PS_ASSIGN_OR_RETURN(backend_, NewCpuCompressorBackend(cpu));

  const int64_t max_iterations = config.training().max_iterations();
  JoinClusterOptions join;
  join.config = options_.config;
  join.worker_rank = options_.worker_rank;
  join.incarnation = options_.incarnation;
  join.name = options_.name;
  join.data_text = Describe(options_);
  join.parameters = options_.parameters;
  join.buckets = PlanBuckets(options_.parameters, /*rates=*/{},
                             config.training().bucket_megabytes() * (1 << 20));
  const bool drift = WorkersDrift(config);
  if (!drift) join.averaged = {static_cast<int64_t>(kMaxAveraged)};
  join.num_pushes = max_iterations > 0 ? max_iterations : kWithoutEnd;
  join.interruption = options_.interruption;
  PS_ASSIGN_OR_RETURN(link_, JoinCluster(join));
  if (KeepsSnapshots(config) && !link_.client->JoinsAt().has_value()) {
    PS_RETURN_IF_ERROR(BeginFromNothing());
  }

  context_.config = options_.config;
  context_.worker_rank = options_.worker_rank;
  context_.buckets = join.buckets;
  context_.shard_map = link_.shard_map.get();
  context_.backend = backend_.get();
  context_.client = link_.client.get();
  GradientPipelineOptions pipeline;
  pipeline.parameters = options_.parameters;
  PS_ASSIGN_OR_RETURN(pipeline_, GradientPipeline::Create(context_, pipeline));
  const int64_t num_averaged = drift ? 0 : kMaxAveraged;
  servers_ = std::make_unique<ServerState>(context_, num_averaged);
  PS_ASSIGN_OR_RETURN(averaged_, backend_->Allocate({num_averaged}));
  const ParameterInfo& last = options_.parameters.back();
  const int64_t n = last.offset + NumElements(last.shape);
  PS_ASSIGN_OR_RETURN(steps_, backend_->Allocate({n}));
  turns_.assign(context_.buckets.size(), 0);
  PushRecordsOptions records;
  records.config = options_.config;
  records.num_parameters = n;
  records.run_directory = options_.run_directory;
  records.observers = options_.observers;
  PS_ASSIGN_OR_RETURN(records_, PushRecords::Create(records));
  if (!exchanges()) {
    PS_ASSIGN_OR_RETURN(x_, backend_->Allocate({n}));
    return absl::OkStatus();
  }
  x_ = Tensor::View(options_.out, {n});
  state_ = State::kBetweenPushes;
  std::vector<const float*> buckets(context_.buckets.size(), nullptr);
  buckets.push_back(averaged_.data());
  return link_.client->InitializeWeights(buckets);
}

absl::Status BridgeSession::BeginFromNothing() {
  // Servers go on from their logs, and these from the beginning.
  PS_ASSIGN_OR_RETURN(const CommonSnapshots common,
                      link_.client->FindSnapshots({}, {}));
  if (!common.alone) return absl::OkStatus();
  return link_.client->StartAgain(
      absl::StrCat("worker ", options_.worker_rank,
                   " was started again, and does not know what it has pushed"));
}

absl::Status BridgeSession::Require(State state, const char* call) const {
  if (state_ == state) return absl::OkStatus();
  const char* const is = state_ == State::kJoined ? "before the first weights"
                         : state_ == State::kPushing ? "within a push"
                                                     : "between two pushes";
  return absl::FailedPreconditionError(
      absl::StrCat(call, " must not be called ", is));
}

absl::Status BridgeSession::SetFirstWeights() {
  PS_RETURN_IF_ERROR(Require(State::kJoined, "FIRST"));
  if (link_.client->JoinsAt().has_value()) return absl::OkStatus();
  std::vector<const float*> buckets;
  for (const Bucket& bucket : context_.buckets) {
    buckets.push_back(options_.in + bucket.begin);
  }
  if (averaged_.size() > 0) buckets.push_back(averaged_.data());
  return link_.client->InitializeWeights(buckets);
}

absl::Status BridgeSession::Pull() {
  PS_RETURN_IF_ERROR(Require(State::kJoined, "PULL"));
  if (const auto joins_at = link_.client->JoinsAt()) {
    push_ = *joins_at;
    PS_RETURN_IF_ERROR(link_.client->Join(push_, /*averagings=*/0));
  }
  PS_RETURN_IF_ERROR(servers_->Pull(push_, averagings_, &x_, &averaged_));
  std::memcpy(options_.out, x_.data(), x_.size() * sizeof(float));
  state_ = State::kBetweenPushes;
  return absl::OkStatus();
}

absl::Status BridgeSession::BeginPush(std::optional<double> loss,
                                      int64_t samples) {
  PS_RETURN_IF_ERROR(Require(State::kBetweenPushes, "BEGIN"));
  PS_RETURN_IF_ERROR(CheckPushSamples(*options_.config, samples));
  PushDetails details;
  details.samples = samples;
  details.first_bucket = first_bucket();
  pipeline_->Begin(options_.staggered ? turns_[turn_] : push_, steps_, x_,
                   details);
  loss_ = loss;
  next_bucket_ = first_bucket();
  state_ = State::kPushing;
  return absl::OkStatus();
}

absl::Status BridgeSession::TakeStep(int bucket) {
  const int64_t begin = context_.buckets[bucket].begin;
  const int64_t n = context_.buckets[bucket].size();
  if (exchanges()) {
    std::memcpy(steps_.data() + begin, options_.in + begin, n * sizeof(float));
    return absl::OkStatus();
  }
  return backend_->sparse().AddScaled({options_.out + begin, 1},
                                      {options_.in + begin, -1}, n,
                                      steps_.data() + begin);
}

absl::Status BridgeSession::ExplainFailure(int bucket,
                                           const absl::Status& failure) {
  if (!absl::IsFailedPrecondition(failure)) return failure;
  // The other process may have changed `in` meanwhile, but not `steps_`.
  const Bucket& range = context_.buckets[bucket];
  double squares = 0;
  PS_RETURN_IF_ERROR(backend_->sparse().SumSquares(steps_.data() + range.begin,
                                                   range.size(), &squares));
  if (std::isfinite(squares)) return failure;
  return absl::OutOfRangeError(absl::StrCat(
      exchanges() ? "the gradient of worker " : "the weights of worker ",
      options_.worker_rank,
      exchanges() ? " is not finite in step " : " are not finite after step ",
      push_, " (counted from 0); lower the learning rate, ",
      exchanges() ? "give HookState the script's GradScaler if it has one, "
                  : "",
      "or set training.non_finite=SKIP in the job to leave such ",
      exchanges() ? "gradients" : "steps", " out"));
}

absl::Status BridgeSession::Ready(int bucket) {
  PS_RETURN_IF_ERROR(Require(State::kPushing, "READY"));
  if (bucket != next_bucket_ || bucket >= end_bucket()) {
    return absl::InvalidArgumentError(
        absl::StrCat("READY is for bucket ", bucket, "; must be for bucket ",
                     next_bucket_, " of ", num_buckets()));
  }
  ++next_bucket_;
  PS_RETURN_IF_ERROR(TakeStep(bucket));
  const absl::Status sent =
      pipeline_->Ready(loss_.value_or(0), context_.buckets[bucket].begin);
  return sent.ok() ? sent : ExplainFailure(bucket, sent);
}

absl::Status BridgeSession::AwaitPush() {
  PS_RETURN_IF_ERROR(Require(State::kPushing, "WAIT"));
  if (next_bucket_ < end_bucket()) {
    return absl::FailedPreconditionError(
        absl::StrCat("WAIT before READY of bucket ", next_bucket_));
  }
  PS_ASSIGN_OR_RETURN(ExchangeStats stats, pipeline_->Await());
  PS_RETURN_IF_ERROR(WriteWeights(first_bucket(), end_bucket()));
  state_ = State::kBetweenPushes;
  if (options_.staggered) {
    std::optional<ExchangeStats> round = EndTurn(std::move(stats));
    if (!round.has_value()) return absl::OkStatus();
    stats = *std::move(round);
  }
  push_ = stats.next_push;
  PS_ASSIGN_OR_RETURN(
      const std::optional<double> seconds,
      records_->Push(stats, loss_.has_value(), pipeline_.get()));
  // With what the other process does in between.
  if (seconds.has_value()) pipeline_->IterationTook(*seconds);
  return absl::OkStatus();
}

std::optional<ExchangeStats> BridgeSession::EndTurn(ExchangeStats stats) {
  ++turns_[turn_];
  turn_ = (turn_ + 1) % num_buckets();
  if (round_.has_value()) {
    AddTurn(stats, &*round_);
  } else {
    round_ = std::move(stats);
  }
  return turn_ == 0 ? std::exchange(round_, std::nullopt) : std::nullopt;
}

absl::Status BridgeSession::WriteWeights(int begin, int end) {
  if (exchanges()) return absl::OkStatus();
  const auto ahead =
      static_cast<float>(options_.config->worker_optimizer().step_ahead());
  for (int b = begin; b < end; ++b) {
    const Bucket& bucket = context_.buckets[b];
    const Tensor& residual = *pipeline_->residuals()->of(b);
    PS_RETURN_IF_ERROR(backend_->sparse().AddScaled(
        {x_.data() + bucket.begin, 1}, {residual.data(), -ahead}, bucket.size(),
        options_.out + bucket.begin));
  }
  return absl::OkStatus();
}

absl::Status BridgeSession::ReadServersWeights() {
  PS_RETURN_IF_ERROR(Require(State::kBetweenPushes, "SERVERS"));
  if (exchanges()) {
    return absl::FailedPreconditionError(
        "SERVERS needs delta mode; with downlink.mode MEAN servers have no "
        "weights");
  }
  std::memcpy(options_.in, x_.data(), x_.size() * sizeof(float));
  return absl::OkStatus();
}

absl::Status BridgeSession::Average(std::vector<float>* values) {
  PS_RETURN_IF_ERROR(Require(State::kBetweenPushes, "AVERAGE"));
  if (averaged_.size() == 0) {
    return absl::FailedPreconditionError(
        "AVERAGE needs consistency.mode SYNCHRONOUS, in which all workers have "
        "made the same pushes");
  }
  if (values->size() > kMaxAveraged) {
    return absl::InvalidArgumentError(
        absl::StrCat("AVERAGE of ", values->size(), " values; at most ",
                     kMaxAveraged, " are allowed"));
  }
  std::copy(values->begin(), values->end(), averaged_.data());
  PS_RETURN_IF_ERROR(
      servers_->AverageStatistics(averagings_++, &averaged_).status());
  std::copy_n(averaged_.data(), values->size(), values->begin());
  return absl::OkStatus();
}

absl::StatusOr<std::string> BridgeSession::SaveState() {
  PS_RETURN_IF_ERROR(Require(State::kBetweenPushes, "SAVE"));
  StateWriter writer(kStateKind);
  PS_ASSIGN_OR_RETURN(const std::string residuals,
                      pipeline_->residuals()->Save());
  writer.PutBytes(residuals);
  PS_RETURN_IF_ERROR(pipeline_->Save(&writer));
  if (options_.staggered) writer.PutInt(turn_);
  return std::move(writer).Finish();
}

absl::Status BridgeSession::LoadState(absl::string_view state) {
  PS_RETURN_IF_ERROR(Require(State::kBetweenPushes, "LOAD"));
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kStateKind, state));
  PS_ASSIGN_OR_RETURN(const absl::string_view residuals, reader.GetBytes());
  PS_RETURN_IF_ERROR(pipeline_->residuals()->Load(residuals));
  PS_RETURN_IF_ERROR(pipeline_->Load(&reader));
  if (options_.staggered) {
    PS_ASSIGN_OR_RETURN(const int64_t turn, reader.GetInt());
    if (turn < 0 || turn >= num_buckets()) {
      return absl::DataLossError(absl::StrCat("it is the turn of bucket ", turn,
                                              " of ", num_buckets()));
    }
    turn_ = static_cast<int>(turn);
  }
  PS_RETURN_IF_ERROR(reader.Finish());
  return WriteWeights(0, num_buckets());
}

absl::Status BridgeSession::Finish() {
  if (state_ == State::kPushing)
    return Require(State::kBetweenPushes, "FINISH");
  if (state_ == State::kBetweenPushes && WorkersDrift(*options_.config)) {
    PS_RETURN_IF_ERROR(servers_->Pull(push_, averagings_, &x_, &averaged_));
    PS_RETURN_IF_ERROR(ReadServersWeights());
  }
  PS_RETURN_IF_ERROR(
      Annotate(link_.client->Finish(absl::OkStatus()), "at the end"));
  return records_->Close();
}

void BridgeSession::GiveUp(const absl::Status& why) {
  if (pipeline_ != nullptr) pipeline_->Abandon();
  const absl::Status told = link_.client->Finish(why);
  if (!told.ok()) LOG(WARNING) << "the servers were not told: " << told;
}

}  // namespace ps
