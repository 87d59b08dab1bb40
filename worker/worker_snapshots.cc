#include "worker/worker_snapshots.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"
#include "formats/safetensors.h"
#include "glog/logging.h"
#include "transport/weights_digest.h"
#include "worker/records/model_values.h"

namespace ps {
namespace {

constexpr absl::string_view kKind = "worker";
constexpr char kStatePart[] = "state";
constexpr char kWeightsPart[] = "weights.safetensors";

absl::StatusOr<std::vector<float>> ToHost(Backend* backend,
                                          const Tensor& values) {
  std::vector<float> host(values.size());
  PS_RETURN_IF_ERROR(backend->CopyToHost(values, host.data()));
  return host;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessSnapshots>> WorkerSnapshots::OpenFiles(
    const JobConfig& config, int worker_rank, const std::string& data_text,
    std::function<void(absl::Duration took, const absl::Status& result)>
        written) {
  if (!KeepsSnapshots(config)) return std::unique_ptr<ProcessSnapshots>();
  ProcessSnapshotsOptions kept;
  kept.config = &config;
  kept.process = WorkerProcess(worker_rank);
  kept.data_text = data_text;
  kept.any_num_servers = true;
  kept.written = std::move(written);
  return ProcessSnapshots::Open(kept);
}

WorkerSnapshots::WorkerSnapshots(const WorkerContext& context,
                                 const WorkerSnapshotsOptions& options,
                                 std::unique_ptr<ProcessSnapshots> files)
    : context_(context),
      options_(options),
      drift_(WorkersDrift(*context.config)),
      files_(std::move(files)) {}

absl::StatusOr<int64_t> WorkerSnapshots::Find() {
  if (files_ == nullptr) return 0;
  PS_ASSIGN_OR_RETURN(
      const CommonSnapshots common,
      context_.client->FindSnapshots(files_->numbers(), files_->damaged()));
  if (common.holdings.empty()) {
    PS_RETURN_IF_ERROR(files_->SaveBeginning());
    return 0;
  }
  if (common.numbers.empty() && common.alone) {
    return context_.client->StartAgain(absl::StrCat(
        "it was started again and has no snapshot from which servers can "
        "repeat their answers (",
        absl::StrJoin(common.holdings, "; "), ")"));
  }
  if (common.numbers.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no snapshot that all processes of the job have: ",
        absl::StrJoin(common.holdings, "; "),
        ". Bring back what is missing, or remove the snapshots of all "
        "processes to begin anew (checkpoint.directory). A worker's folder "
        "that is lost for good is replaced with "
        "checkpoint.replace_lost_workers: true"));
  }
  found_ = common.numbers.back();
  alone_ = common.alone;
  if (context_.worker_rank == 0 || common.alone) {
    PS_RETURN_IF_ERROR(context_.client->Restore(*found_, common.alone));
  }
  if (*found_ > 0) return *found_;
  // A process was killed before it had written its first snapshot.
  if (files_->numbers().empty()) {
    PS_RETURN_IF_ERROR(files_->SaveBeginning());
  } else {
    PS_RETURN_IF_ERROR(files_->Take(0).status());
  }
  return 0;
}

absl::StatusOr<ResumePoint> WorkerSnapshots::Replace() {
  LOG(WARNING) << "worker " << context_.worker_rank << " has no snapshot in "
               << files_->folder() << ", and goes on after push " << *found_
               << " with the servers' weights. What it had kept to send later "
                  "is lost (checkpoint.replace_lost_workers)";
  if (context_.own_weights != nullptr) {
    PS_RETURN_IF_ERROR(
        options_.pipeline->FollowServers(*options_.from_servers));
  }
  ResumePoint point;
  point.push = *found_;
  return point;
}

absl::StatusOr<ResumePoint> WorkerSnapshots::Join(int64_t push) {
  ResumePoint point;
  std::string where;
  if (files_ != nullptr && files_->latest() > 0) {
    PS_ASSIGN_OR_RETURN(const SnapshotParts parts,
                        files_->Take(files_->latest()));
    where = absl::StrCat(files_->folder(), "/snapshot-", files_->latest());
    const absl::StatusOr<ResumePoint> loaded = LoadParts(parts);
    PS_RETURN_IF_ERROR(Annotate(loaded.status(), where));
    point = *loaded;
    PS_RETURN_IF_ERROR(options_.pipeline->residuals()->Clear());
  }
  if (context_.own_weights != nullptr) {
    PS_RETURN_IF_ERROR(
        options_.pipeline->FollowServers(*options_.from_servers));
  }
  LOG(WARNING) << "worker " << context_.worker_rank
               << " joins a job that is under way, after push " << push
               << (where.empty() ? "" : ", with the state of ") << where
               << "; what an earlier process of it had kept to send is lost";
  point.push = push;
  point.metrics_bytes = ResumePoint::kAllMetrics;
  return point;
}

absl::StatusOr<ResumePoint> WorkerSnapshots::Load() {
  if (files_->numbers().empty() && files_->damaged().empty()) return Replace();
  PS_ASSIGN_OR_RETURN(const SnapshotParts parts, files_->Take(*found_));
  const std::string where =
      absl::StrCat(files_->folder(), "/snapshot-", *found_);
  const absl::StatusOr<ResumePoint> point = LoadParts(parts);
  PS_RETURN_IF_ERROR(Annotate(point.status(), where));
  LOG(INFO) << "worker " << context_.worker_rank << " goes on after push "
            << point->push << " from " << where;
  return point;
}

absl::StatusOr<int64_t> WorkerSnapshots::WeightsDigestNow() const {
  // In asynchronous modes, workers pull newer weights than they had.
  if (drift_) return 0;
  PS_ASSIGN_OR_RETURN(const std::vector<float> weights,
                      ToHost(context_.backend, *options_.from_servers));
  return static_cast<int64_t>(
      WeightsDigest(weights.data(), static_cast<int64_t>(weights.size())));
}

absl::StatusOr<SnapshotParts> WorkerSnapshots::Parts(
    const ResumePoint& point) const {
  SnapshotParts parts;
  SavedProgress progress;
  progress.point = point;
  PS_ASSIGN_OR_RETURN(progress.weights_digest, WeightsDigestNow());
  progress.set = options_.set;
  parts[kProgressPart] = SaveProgress(progress, *options_.totals);
  PS_ASSIGN_OR_RETURN(parts[kStatePart], State());
  PS_ASSIGN_OR_RETURN(parts[kResidualsPart],
                      options_.pipeline->residuals()->Save());
  if (context_.worker_rank == 0) {
    PS_ASSIGN_OR_RETURN(parts[kWeightsPart], NamedWeights());
  }
  return parts;
}

absl::StatusOr<ResumePoint> WorkerSnapshots::LoadParts(
    const SnapshotParts& parts) {
  for (const char* name : {kProgressPart, kStatePart, kResidualsPart}) {
    if (parts.count(name) == 0) {
      return absl::DataLossError(absl::StrCat("there is no ", name));
    }
  }
  PS_ASSIGN_OR_RETURN(const SavedProgress progress,
                      LoadProgress(parts.at(kProgressPart), options_.totals));
  PS_ASSIGN_OR_RETURN(const int64_t digest, WeightsDigestNow());
  if (digest != progress.weights_digest) {
    constexpr char kOthers[] =
        "the servers' weights are not those that this worker had";
    return alone_ ? context_.client->StartAgain(kOthers)
                  : absl::DataLossError(kOthers);
  }
  PS_RETURN_IF_ERROR(LoadState(parts.at(kStatePart)));
  PS_RETURN_IF_ERROR(
      options_.pipeline->residuals()->Load(parts.at(kResidualsPart)));
  if (context_.own_weights != nullptr && (drift_ || progress.other_residuals)) {
    PS_RETURN_IF_ERROR(
        options_.pipeline->FollowServers(*options_.from_servers));
  }
  return progress.point;
}

absl::StatusOr<std::string> WorkerSnapshots::State() const {
  StateWriter writer(kKind);
  PS_ASSIGN_OR_RETURN(const std::string model, options_.model->SaveState());
  writer.PutBytes(model);
  PS_ASSIGN_OR_RETURN(
      const std::vector<float> statistics,
      ToHost(context_.backend, options_.model->statistics_values()));
  writer.PutFloats(statistics);
  if (context_.own_weights != nullptr) {
    PS_ASSIGN_OR_RETURN(const std::string own,
                        context_.own_weights->SaveState());
    writer.PutBytes(own);
  }
  PS_RETURN_IF_ERROR(options_.pipeline->Save(&writer));
  return std::move(writer).Finish();
}

absl::Status WorkerSnapshots::LoadState(absl::string_view saved) {
  PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, saved));
  PS_ASSIGN_OR_RETURN(const absl::string_view model, reader.GetBytes());
  PS_RETURN_IF_ERROR(options_.model->LoadState(model));
  Tensor& statistics = options_.model->statistics_values();
  std::vector<float> values(statistics.size());
  PS_RETURN_IF_ERROR(reader.GetFloats(absl::MakeSpan(values)));
  PS_RETURN_IF_ERROR(
      context_.backend->CopyFromHost(values.data(), &statistics));
  if (context_.own_weights != nullptr) {
    PS_ASSIGN_OR_RETURN(const absl::string_view own, reader.GetBytes());
    PS_RETURN_IF_ERROR(context_.own_weights->LoadState(own));
  }
  PS_RETURN_IF_ERROR(options_.pipeline->Load(&reader));
  return reader.Finish();
}

absl::StatusOr<std::string> WorkerSnapshots::NamedWeights() const {
  PS_ASSIGN_OR_RETURN(const std::vector<float> weights,
                      ToHost(context_.backend, *options_.from_servers));
  PS_ASSIGN_OR_RETURN(
      const std::vector<float> statistics,
      ToHost(context_.backend, options_.model->statistics_values()));
  return SafetensorsBytes(
      ViewsOf({{&options_.model->parameters(), weights.data()},
               {&options_.model->statistics(), statistics.data()}}),
      MetadataOf(context_.config->model().name(), options_.data));
}

absl::Status WorkerSnapshots::Save(int64_t number, const ResumePoint& point) {
  PS_ASSIGN_OR_RETURN(SnapshotParts parts, Parts(point));
  PS_ASSIGN_OR_RETURN(const std::set<int64_t> written_by_all,
                      context_.client->SaveSnapshot(number, files_->written()));
  files_->Save(number, std::move(parts), written_by_all);
  return absl::OkStatus();
}

absl::Status WorkerSnapshots::MarkDone() {
  return files_ == nullptr ? absl::OkStatus() : files_->MarkDone();
}

absl::Status WorkerSnapshots::Flush() {
  return files_ == nullptr ? absl::OkStatus() : files_->Flush();
}

}  // namespace ps
