#include "models/layers/stretch_recorder.h"

#include "absl/status/statusor.h"
#include "glog/logging.h"

namespace ps {

void StretchRecorder::Begin(LayerTimes::Direction direction,
                            const std::vector<const void*>& addresses) {
  if (memory_version_ != backend_->memory_version()) {
    memory_version_ = backend_->memory_version();
    recordings_.clear();
  }
  std::vector<const void*>& before = addresses_[direction];
  if (before == addresses) return;
  before = addresses;
  for (auto it = recordings_.begin(); it != recordings_.end();) {
    it = it->first.direction == direction ? recordings_.erase(it) : ++it;
  }
}

absl::Status StretchRecorder::Run(const Stretch& stretch, const Work& work) {
  if (!works_) return work();
  const auto [entry, first_time] = recordings_.try_emplace(stretch);
  if (first_time) {
    const absl::Status status = work();
    if (!status.ok()) recordings_.erase(entry);
    return status;
  }
  if (entry->second != nullptr) return Replay(stretch, entry->second.get());
  absl::StatusOr<std::unique_ptr<Recording>> recording = backend_->Record(work);
  if (!recording.ok()) {
    LOG(WARNING) << "layers " << stretch.first << " to " << stretch.end
                 << " could not be recorded, and no others will be: "
                 << recording.status();
    ++counts_->failed;
    works_ = false;
    recordings_.clear();
    return work();
  }
  ++counts_->recorded;
  entry->second = *std::move(recording);
  return Replay(stretch, entry->second.get());
}

absl::Status StretchRecorder::Replay(const Stretch& stretch,
                                     Recording* recording) {
  const LayerTimer timer(times_, times_->Kind("recorded"), stretch.direction);
  return recording->Replay();
}

}  // namespace ps
