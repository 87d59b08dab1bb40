// Measures how many examples per second one thread reads from the data set of a
// job.
//
//   loading_bench JOB.textproto [FIELD=VALUE ...]
//
// First, batches that threads read ahead are compared with the same batches
// read directly. Prints the median of several rounds.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/status_macros.h"
#include "data/batch_loader.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace ps {
namespace {

constexpr int kRounds = 7;
constexpr double kSecondsPerRound = 0.5;
constexpr int64_t kComparedBatches = 8;

BatchLoaderOptions LoaderOptions(const Dataset& dataset,
                                 const Sampler& sampler) {
  BatchLoaderOptions options;
  options.dataset = &dataset;
  options.sampler = &sampler;
  options.end_iteration = int64_t{1} << 40;
  return options;
}

absl::Status Verify(const Dataset& dataset, const Sampler& sampler) {
  BatchLoaderOptions direct_options = LoaderOptions(dataset, sampler);
  direct_options.num_threads = 0;
  BatchLoader direct(direct_options);
  BatchLoaderOptions ahead_options = LoaderOptions(dataset, sampler);
  ahead_options.num_threads = 3;
  BatchLoader ahead(ahead_options);
  for (int64_t i = 0; i < kComparedBatches; ++i) {
    PS_ASSIGN_OR_RETURN(const Batch* a, direct.Next());
    PS_ASSIGN_OR_RETURN(const Batch* b, ahead.Next());
    if (a->inputs != b->inputs || a->labels != b->labels) {
      return absl::InternalError(
          absl::StrCat("batch ", i, " depends on the number of threads"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> BatchesPerSecond(BatchLoader* loader) {
  const absl::Time start = SteadyClock()->Now();
  double seconds = 0;
  int64_t batches = 0;
  for (; seconds < kSecondsPerRound; ++batches) {
    PS_RETURN_IF_ERROR(loader->Next().status());
    seconds = absl::ToDoubleSeconds(SteadyClock()->Now() - start);
  }
  return static_cast<double>(batches) / seconds;
}

absl::Status Run(const std::string& path,
                 const std::vector<std::string>& overrides) {
  PS_ASSIGN_OR_RETURN(const JobConfig job, LoadJob(path, overrides));
  DatasetOptions data;
  data.config = job.data();
  data.seed = job.seed();
  const absl::Time start = SteadyClock()->Now();
  PS_ASSIGN_OR_RETURN(const DatasetPair pair, NewDataset(data));
  const double open_seconds =
      absl::ToDoubleSeconds(SteadyClock()->Now() - start);
  SamplerOptions sampler_options;
  sampler_options.order = pair.train->order();
  sampler_options.seed = job.seed();
  sampler_options.num_examples = pair.train->size();
  sampler_options.batch_size = job.training().batch_size();
  sampler_options.num_workers = 1;
  PS_ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(sampler_options));
  PS_RETURN_IF_ERROR(Verify(*pair.train, sampler));

  BatchLoaderOptions options = LoaderOptions(*pair.train, sampler);
  options.num_threads = 0;
  BatchLoader loader(options);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    PS_ASSIGN_OR_RETURN(const double rate, BatchesPerSecond(&loader));
    rounds.push_back(rate);
  }
  std::sort(rounds.begin(), rounds.end());
  const double rate = rounds[kRounds / 2];
  std::printf(
      "%s: %lld examples, opened in %.2f s; batches of %d in %.3f ms, "
      "%.0f examples a second\n",
      job.data().name().c_str(), static_cast<long long>(pair.train->size()),
      open_seconds, job.training().batch_size(), 1e3 / rate,
      rate * job.training().batch_size());
  return absl::OkStatus();
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s JOB.textproto [FIELD=VALUE ...]\n",
                 argv[0]);
    return 2;
  }
  const absl::Status status =
      ps::Run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "loading_bench: %s\n", status.ToString().c_str());
  return 1;
}
