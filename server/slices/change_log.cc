#include "server/slices/change_log.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/slices/touched_set.h"

namespace ps {

void ChangeLog::AddAll() {
  ++version_;
  changes_.clear();
  size_ = 0;
}

void ChangeLog::Add(absl::Span<const uint32_t> changed) {
  ++version_;
  changes_.emplace_back(changed.begin(), changed.end());
  size_ += static_cast<int64_t>(changed.size());
  // The number of lists counts as well, because even an empty one takes memory.
  while (!changes_.empty() &&
         size_ + static_cast<int64_t>(changes_.size()) > num_elements_ / 2) {
    size_ -= static_cast<int64_t>(changes_.front().size());
    changes_.pop_front();
  }
}

bool ChangeLog::Since(int64_t version, std::vector<uint32_t>* indices) const {
  const int64_t updates = version_ - version;
  if (updates > static_cast<int64_t>(changes_.size())) return false;
  indices->clear();
  if (updates == 0) return true;
  if (updates == 1) {
    *indices = changes_.back();
    return true;
  }
  // Each thread has one, reused for all slices.
  thread_local TouchedSet touched;
  touched.Reset(num_elements_);
  for (auto changes = changes_.end() - updates; changes != changes_.end();
       ++changes) {
    for (const uint32_t index : *changes) touched.Add(index);
  }
  touched.Take([indices](uint32_t index) { indices->push_back(index); });
  return true;
}

void ChangeLog::Save(StateWriter* writer) const {
  writer->PutInt(version_);
  writer->PutInt(static_cast<int64_t>(changes_.size()));
  for (const std::vector<uint32_t>& changed : changes_) {
    writer->PutBytes({reinterpret_cast<const char*>(changed.data()),
                      changed.size() * sizeof(uint32_t)});
  }
}

absl::Status ChangeLog::Load(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const int64_t version, reader->GetInt());
  PS_ASSIGN_OR_RETURN(const int64_t num_updates, reader->GetInt());
  *this = ChangeLog(num_elements_);
  for (int64_t i = 0; i < num_updates; ++i) {
    PS_ASSIGN_OR_RETURN(const absl::string_view bytes, reader->GetBytes());
    std::vector<uint32_t> changed(bytes.size() / sizeof(uint32_t));
    if (!changed.empty()) {
      std::memcpy(changed.data(), bytes.data(),
                  changed.size() * sizeof(uint32_t));
    }
    for (const uint32_t index : changed) {
      if (index < num_elements_) continue;
      return absl::DataLossError(
          absl::StrCat("the saved list of changes has element ", index,
                       " of a slice of ", num_elements_));
    }
    Add(changed);
  }
  version_ = version;
  return absl::OkStatus();
}

}  // namespace ps
