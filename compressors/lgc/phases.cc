#include "compressors/lgc/phases.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The number of errors over which the gate takes the mean.
constexpr size_t kWindow = 20;

}  // namespace

LgcPhases::LgcPhases(const LgcConfig& config)
    : config_(config), decides_at_(config.train_iterations()) {}

void LgcPhases::Updated(LgcPush push,
                        const std::optional<ReconstructionError>& error) {
  news_.clear();
  is_new_ = false;
  if (push == LgcPush::kEverything && seen_ == Seen::kNothing) {
    seen_ = Seen::kEverything;
    news_.push_back("the autoencoder waits, because everything is sent");
  }
  if (push == LgcPush::kFewValues && seen_ < Seen::kFewValues) {
    seen_ = Seen::kFewValues;
    news_.push_back(absl::StrCat(
        "values are sent, and no autoencoder is trained: those that could be "
        "coded are fewer than lgc.min_values, ",
        config_.min_values(), ", or more than twice their share"));
  }
  if (push == LgcPush::kValues && seen_ != Seen::kValues) {
    seen_ = Seen::kValues;
    news_.push_back(
        absl::StrCat("values are sent, and train the autoencoder "
                     "for ",
                     decides_at_, " iterations"));
  }
  leader_lacks_encoder_ = push == LgcPush::kValues && plans_[0];
  if (leader_lacks_encoder_) {
    news_.push_back(
        absl::StrCat("the leader has sent values instead of a code, and gets "
                     "the encoder of autoencoder ",
                     version_, " again"));
  }
  plans_[0] = plans_[1];
  if (error.has_value() && training_) {
    Trained(*error);
  } else if (error.has_value() && !(error->error <= config_.check_error())) {
    // This form of the condition counts NaN as large.
    TrainAgain(absl::StrCat("the reconstruction error is ", error->error,
                            ", above check_error, ", config_.check_error()));
  }
  plans_[1] = !training_;
  if (training_) return;
  // One of check_every iterations sends plain values as a check.
  if (++since_check_ < config_.check_every()) return;
  since_check_ = 0;
  plans_[1] = false;
}

void LgcPhases::Trained(const ReconstructionError& error) {
  latest_.push_back(error);
  if (latest_.size() > kWindow) latest_.pop_front();
  if (++num_trained_ >= decides_at_) Decide();
}

void LgcPhases::Decide() {
  double error = 0;
  double innovation = 0;
  double signs = 0;
  for (const ReconstructionError& one : latest_) {
    error += one.error / static_cast<double>(latest_.size());
    innovation += one.innovation / static_cast<double>(latest_.size());
    signs += one.signs / static_cast<double>(latest_.size());
  }
  const double gain = config_.gate_gain() * innovation;
  const std::string found =
      absl::StrCat("after ", num_trained_,
                   " iterations of training the reconstruction error is ",
                   error, ", that of the uncoded values alone ", innovation,
                   ", and that of the leader's signs with two means ", signs);
  // This form of the condition stays in training for NaN.
  if (error < config_.gate_error() && error < gain) {
    training_ = false;
    ++version_;
    is_new_ = true;
    since_check_ = 0;
    news_.push_back(
        absl::StrCat("codes of autoencoder ", version_, " are sent: ", found));
    return;
  }
  decides_at_ = num_trained_ + config_.retry_every();
  news_.push_back(absl::StrCat(
      "values are still sent: ", found, "; it must be below ",
      config_.gate_error(), " and below ", gain,
      "; the next decision comes in ", config_.retry_every(), " iterations"));
}

void LgcPhases::TrainAgain(const std::string& why) {
  training_ = true;
  num_trained_ = 0;
  since_check_ = 0;
  decides_at_ = config_.retry_every();
  latest_.clear();
  plans_[1] = false;
  news_.push_back(absl::StrCat(
      "values are to be sent, and train the autoencoder again: ", why));
}

void LgcPhases::WorkersChanged() {
  news_.clear();
  TrainAgain("the number of workers has changed");
  plans_[0] = false;
}

void LgcPhases::Save(StateWriter* writer) const {
  writer->PutInt(static_cast<int64_t>(seen_));
  writer->PutInt(training_);
  writer->PutInt(version_);
  writer->PutInt(num_trained_);
  writer->PutInt(decides_at_);
  writer->PutInt(since_check_);
  writer->PutInt(static_cast<int64_t>(latest_.size()));
  for (const ReconstructionError& error : latest_) {
    writer->PutDouble(error.error);
    writer->PutDouble(error.innovation);
    writer->PutDouble(error.signs);
  }
  for (const bool plan : plans_) writer->PutInt(plan);
}

absl::Status LgcPhases::Load(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const int64_t seen, reader->GetInt());
  seen_ = static_cast<Seen>(seen);
  PS_ASSIGN_OR_RETURN(training_, reader->GetInt());
  PS_ASSIGN_OR_RETURN(version_, reader->GetInt());
  PS_ASSIGN_OR_RETURN(num_trained_, reader->GetInt());
  PS_ASSIGN_OR_RETURN(decides_at_, reader->GetInt());
  PS_ASSIGN_OR_RETURN(since_check_, reader->GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t num_latest, reader->GetInt());
  if (num_latest < 0 || num_latest > static_cast<int64_t>(kWindow)) {
    return absl::DataLossError(absl::StrCat(num_latest, " errors"));
  }
  latest_.assign(num_latest, ReconstructionError());
  for (ReconstructionError& error : latest_) {
    PS_ASSIGN_OR_RETURN(error.error, reader->GetDouble());
    PS_ASSIGN_OR_RETURN(error.innovation, reader->GetDouble());
    PS_ASSIGN_OR_RETURN(error.signs, reader->GetDouble());
  }
  for (bool& plan : plans_) {
    PS_ASSIGN_OR_RETURN(plan, reader->GetInt());
  }
  return absl::OkStatus();
}

}  // namespace ps
