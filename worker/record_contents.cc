#include "worker/record_contents.h"

#include <limits>

#include "common/data_description.h"
#include "compressors/compressor.h"

namespace ps {

RunHeader HeaderOf(const JobConfig& config, const TrainingParts& parts) {
  RunHeader header;
  header.job = config.name();
  header.model = config.model().name();
  header.compressor = config.compressor().name();
  header.value_code = config.compressor().value_code();
  header.target_ratio = FindCompressor(header.compressor).has_target_ratio
                            ? config.compressor().ratio()
                            : std::numeric_limits<double>::quiet_NaN();
  header.num_workers = config.cluster().num_workers();
  header.num_servers = config.cluster().num_servers();
  header.num_parameters = parts.model->num_parameters();
  header.total_iterations = parts.plan->total_iterations;
  header.iterations_per_epoch = parts.plan->sampler.iterations_per_epoch();
  header.class_names = parts.data.train->class_names();
  header.data = MeaningOfNumbers(parts.data.description.text());
  return header;
}

IterationRecord RecordOf(const MadePush& outcome, int64_t elements,
                         const RunTotals& totals) {
  const ExchangeStats& stats = outcome.stats;
  IterationRecord record;
  record.training_loss = stats.mean_loss;
  record.achieved_ratio =
      static_cast<double>(stats.sent_elements) / static_cast<double>(elements);
  for (const CompressionStats& bucket : stats.compression) {
    record.count += bucket.count;
    record.raw_count += bucket.raw_count;
    record.target_count += bucket.target_count;
  }
  record.buckets = stats.compression;
  record.compressed_share = stats.compressed_share;
  record.threshold = stats.compression.front().threshold;
  record.stages = stats.compression.front().stages;
  record.fallback = stats.compression.front().fallback;
  record.mean_staleness = stats.mean_staleness;
  record.max_staleness = stats.max_staleness;
  record.seconds = outcome.seconds;
  record.timings = stats.timings;
  record.timings.compute = outcome.seconds - record.timings.iteration();
  record.retries = stats.retries;
  record.totals = totals;
  return record;
}

}  // namespace ps
