#include "worker/records/run_totals.h"

#include "common/status_macros.h"

namespace ps {

void RunTotalsCounter::AddPush(const MadePush& outcome) {
  const ExchangeStats& stats = outcome.stats;
  const int64_t elements = num_parameters_ * num_workers_;
  ++num_pushes_;
  num_elements_ += elements;
  num_samples_ += outcome.num_samples * num_workers_;
  sent_elements_ += stats.sent_elements;
  totals_.iterations = outcome.iterations_done;
  totals_.seconds += outcome.seconds;
  totals_.samples_per_second =
      static_cast<double>(num_samples_) / totals_.seconds;
  totals_.achieved_ratio =
      static_cast<double>(sent_elements_) / static_cast<double>(num_elements_);
  if (stats.compressed_share.has_value()) {
    const double before = totals_.compressed_share.value_or(0);
    totals_.compressed_share = before + (*stats.compressed_share - before) /
                                            static_cast<double>(num_pushes_);
  }
  totals_.bytes_up += stats.bytes_up;
  // Every worker gets the same answers or, in asynchronous modes, similar ones.
  totals_.bytes_down += stats.bytes_down * num_workers_;
  const int64_t dense_bytes =
      outcome.num_iterations * elements * static_cast<int64_t>(sizeof(float));
  totals_.dense_bytes_up += dense_bytes;
  totals_.dense_bytes_down += dense_bytes;
  totals_.dropped += stats.dropped;
}

void RunTotalsCounter::AddAveraging(const AveragingStats& stats) {
  totals_.bytes_up += stats.bytes_up;
  totals_.bytes_down += stats.bytes_down * num_workers_;
}

void RunTotalsCounter::Save(StateWriter* writer) const {
  for (const int64_t number :
       {num_pushes_, num_elements_, num_samples_, sent_elements_,
        totals_.iterations, totals_.bytes_up, totals_.bytes_down,
        totals_.dense_bytes_up, totals_.dense_bytes_down, totals_.dropped,
        int64_t{totals_.compressed_share.has_value()}}) {
    writer->PutInt(number);
  }
  for (const double number :
       {totals_.seconds, totals_.samples_per_second, totals_.achieved_ratio,
        totals_.compressed_share.value_or(0)}) {
    writer->PutDouble(number);
  }
}

absl::Status RunTotalsCounter::Load(StateReader* reader) {
  int64_t has_share = 0;
  for (int64_t* const number :
       {&num_pushes_, &num_elements_, &num_samples_, &sent_elements_,
        &totals_.iterations, &totals_.bytes_up, &totals_.bytes_down,
        &totals_.dense_bytes_up, &totals_.dense_bytes_down, &totals_.dropped,
        &has_share}) {
    PS_ASSIGN_OR_RETURN(*number, reader->GetInt());
  }
  double share = 0;
  for (double* const number : {&totals_.seconds, &totals_.samples_per_second,
                               &totals_.achieved_ratio, &share}) {
    PS_ASSIGN_OR_RETURN(*number, reader->GetDouble());
  }
  totals_.compressed_share =
      has_share != 0 ? std::optional<double>(share) : std::nullopt;
  return absl::OkStatus();
}

}  // namespace ps
