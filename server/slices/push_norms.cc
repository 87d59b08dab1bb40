#include "server/slices/push_norms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "server/slices/scaled_payload.h"

namespace ps {
namespace {

double SumOfSquares(absl::Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return sum;
}

}  // namespace

PushNorms::PushNorms(const PushNormsConfig& config, int num_workers,
                     int64_t num_elements)
    : config_(config),
      max_norms_(64 + 4 * static_cast<size_t>(num_workers)),
      num_elements_(num_elements) {}

double PushNorms::NormOf(const PayloadPieces& push) {
  double sum = 0;
  if (IsDense(push, num_elements_)) {
    dense_.resize(num_elements_);
    DecodeDensePayload(push, absl::MakeSpan(dense_));
    sum = SumOfSquares(dense_);
  } else {
    for (SparsePayloadReader reader(push); reader.Next();) {
      sum += SumOfSquares(reader.values());
    }
  }
  return std::sqrt(sum);
}

std::vector<PushNorms::Finding> PushNorms::Judge(
    const std::vector<const PayloadPieces*>& pushes) {
  const size_t before = norms_.size();
  for (const PayloadPieces* push : pushes) norms_.push_back(NormOf(*push));
  std::vector<Finding> findings;
  if (norms_.size() >= kFewest) {
    std::vector<double> sorted(norms_.begin(), norms_.end());
    const auto middle =
        sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    for (size_t i = 0; i < pushes.size(); ++i) {
      const double norm = norms_[before + i];
      if (*middle > 0 && norm > config_.factor() * *middle) {
        findings.push_back({i, norm, *middle});
      }
    }
  }
  while (norms_.size() > max_norms_) norms_.pop_front();
  return findings;
}

PayloadBuffer PushNorms::Capped(const PayloadPieces& push,
                                const Finding& finding) const {
  return ScaledPayload(push, config_.factor() * finding.median / finding.norm,
                       num_elements_);
}

void PushNorms::Save(StateWriter* writer) const {
  writer->PutInt(static_cast<int64_t>(norms_.size()));
  for (const double norm : norms_) writer->PutDouble(norm);
}

absl::Status PushNorms::Load(StateReader* reader) {
  PS_ASSIGN_OR_RETURN(const int64_t size, reader->GetInt());
  if (size < 0) return absl::DataLossError(absl::StrCat(size, " norms"));
  norms_.clear();
  for (int64_t i = 0; i < size; ++i) {
    PS_ASSIGN_OR_RETURN(const double norm, reader->GetDouble());
    norms_.push_back(norm);
  }
  // An earlier job may have had more workers.
  while (norms_.size() > max_norms_) norms_.pop_front();
  return absl::OkStatus();
}

}  // namespace ps
