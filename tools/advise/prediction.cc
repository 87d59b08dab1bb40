#include "tools/advise/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "common/slice_elements.h"
#include "common/status_macros.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

// A full Ethernet frame has 1514 bytes, of which IPv4, and TCP with time
// stamps, leave 1448.
constexpr double kPayloadShare = 1448.0 / 1514.0;
// The backward pass computes two products for each of the forward pass.
constexpr double kBackwardShare = 2.0 / 3.0;
// A connection hands its link about this much before another one has its turn:
// a packet of the kernel's segmentation offload, or what passes in a moment.
constexpr double kBytesAtOnce = 65536;
constexpr double kSecondsAtOnce = 0.002;
// More workers than these change the shares of links hardly, and the time of a
// simulation much: it grows with their square, the slices and the servers.
constexpr int kLeastSimulated = 2;
constexpr int kMostSimulated = 16;
constexpr double kMostSimulatedWork = 20'000;

int SimulatedWorkers(const ClusterConfig& cluster, size_t slices) {
  const double most =
      std::sqrt(kMostSimulatedWork /
                (static_cast<double>(slices) * cluster.num_servers()));
  return std::min(cluster.num_workers(),
                  static_cast<int>(std::clamp<double>(most, kLeastSimulated,
                                                      kMostSimulated)));
}

// The mean over many messages needs no further draws, which would take minutes.
ExchangeModelOptions ModelOptions(const Exchange& exchange) {
  constexpr size_t kMessages = 4000;
  const size_t messages = exchange.workers.size() * exchange.slices.size();
  ExchangeModelOptions options;
  options.draws = static_cast<int>(std::clamp<size_t>(
      kMessages / messages, 1, static_cast<size_t>(options.draws)));
  return options;
}

}  // namespace

const char* SettingPrediction::Bottleneck() const {
  const std::pair<double, const char*> parts[] = {{compute, "compute"},
                                                  {codec, "codec"},
                                                  {up, "up"},
                                                  {down, "down"},
                                                  {server, "server"}};
  return std::max_element(
             std::begin(parts), std::end(parts),
             [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

double PayloadRate(double bits_per_second) {
  return kPayloadShare * bits_per_second / 8;
}

absl::StatusOr<Exchange> ExchangeOf(const JobConfig& config,
                                    const LocalMeasures& measures,
                                    const HostLink& link) {
  const ClusterConfig& cluster = config.cluster();
  const double bucket_elements =
      config.training().bucket_megabytes() * (1 << 20) / sizeof(float);
  const int64_t n = measures.num_parameters;
  const int64_t buckets =
      bucket_elements == 0
          ? 1
          : std::max<int64_t>(
                1, std::llround(static_cast<double>(n) / bucket_elements));
  ShardMapOptions options;
  for (int64_t i = 0; i < buckets; ++i) {
    options.bucket_sizes.push_back(n * (i + 1) / buckets - n * i / buckets);
  }
  options.num_servers = cluster.num_servers();
  options.max_slice_elements = MaxSliceElements(config);
  PS_ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(options));

  Exchange exchange;
  exchange.servers.assign(cluster.num_servers(), link);
  exchange.credit_bytes = cluster.credit_megabytes() * (1 << 20);
  exchange.server_threads = config.machine().server_threads();
  exchange.processors = measures.processors;
  const double bytes = measures.bytes_up + measures.bytes_down;
  if (bytes > 0) exchange.seconds_per_byte = measures.messages / bytes;
  const double steps = config.consistency().local_steps();
  const double pushes = steps / static_cast<double>(cluster.num_workers());
  const double backward = kBackwardShare * measures.compute;
  const double at_once = std::max(
      kBytesAtOnce, kSecondsAtOnce * std::min(link.up_bytes_per_second,
                                              link.down_bytes_per_second));
  for (int bucket = 0; bucket < map.num_buckets(); ++bucket) {
    for (const Slice& slice : map.slices(bucket)) {
      const double share =
          static_cast<double>(slice.size()) / static_cast<double>(n);
      ExchangeSlice message;
      message.server = slice.server;
      message.up_bytes = share * pushes * measures.bytes_up;
      message.down_bytes = share * pushes * measures.bytes_down;
      // Short messages follow one another on whatever connections they go.
      if (std::max(message.up_bytes, message.down_bytes) > at_once) {
        message.connection = slice.place % cluster.connections();
      }
      message.ready_seconds =
          measures.latency + backward * bucket / static_cast<double>(buckets);
      message.server_seconds =
          share * steps * measures.server * cluster.num_servers();
      exchange.slices.push_back(message);
    }
  }
  const int simulated = SimulatedWorkers(cluster, exchange.slices.size());
  exchange.workers.assign(simulated, link);
  exchange.workers_each =
      cluster.num_workers() / static_cast<double>(simulated);
  return exchange;
}

absl::StatusOr<SettingPrediction> PredictSetting(
    const JobConfig& config, const LocalMeasures& shared,
    const std::optional<LocalMeasures>& own, const JobNetwork& network) {
  SettingPrediction prediction;
  prediction.config = config;
  const LocalMeasures& worker = own.value_or(shared);
  prediction.compute = worker.compute;
  prediction.codec = worker.codec;
  prediction.await = own.has_value() ? shared.server : shared.await;
  prediction.server = shared.server;
  prediction.bytes_up = shared.bytes_up;
  prediction.bytes_down = shared.bytes_down;
  prediction.achieved_ratio = shared.achieved_ratio;
  // What the loopback run waited for, workers and servers that share this
  // machine's processors, is part of its iteration.
  prediction.iteration = own.has_value()
                             ? own->compute + own->codec + shared.server
                             : shared.iteration;
  if (!network.bits_per_second.has_value()) return prediction;

  HostLink link;
  link.up_bytes_per_second = link.down_bytes_per_second =
      PayloadRate(*network.bits_per_second);
  link.burst_bytes = network.burst_bytes;
  LocalMeasures measures = shared;
  measures.compute = worker.compute;
  PS_ASSIGN_OR_RETURN(Exchange exchange, ExchangeOf(config, measures, link));
  const double steps = config.consistency().local_steps();
  prediction.busiest_up = BusiestUp(exchange);
  prediction.busiest_down = BusiestDown(exchange);
  prediction.up = prediction.busiest_up.seconds / steps;
  prediction.down = prediction.busiest_down.seconds / steps;
  prediction.server = BusiestServerSeconds(exchange) / steps;
  // The backward pass goes on while the first buckets are under way.
  exchange.work_seconds =
      steps * (worker.compute + worker.codec) -
      (exchange.slices.back().ready_seconds - measures.latency);
  if (!own.has_value()) {
    exchange.one_machine = true;
    exchange.work_seconds /= shared.contention;
    exchange.work_places = config.cluster().num_workers() / shared.contention;
  }
  // Workers wait for each other and for servers also without a network.
  // Meanwhile the messages of others use the links.
  prediction.iteration = std::max(
      prediction.iteration,
      PredictIterationSeconds(exchange, ModelOptions(exchange)) / steps);
  return prediction;
}

void TakeLeastCompute(std::vector<SettingMeasures>* settings) {
  std::map<std::string, double> least;  // By the rest of the job.
  const auto rest = [](JobConfig config) {
    config.clear_compressor();
    config.clear_downlink();
    return config.SerializeAsString();
  };
  for (const SettingMeasures& setting : *settings) {
    if (!setting.own.has_value()) continue;
    const double compute = setting.own->compute;
    double& smallest =
        least.emplace(rest(setting.config), compute).first->second;
    smallest = std::min(smallest, compute);
  }
  for (SettingMeasures& setting : *settings) {
    if (setting.own.has_value()) {
      setting.own->compute = least.at(rest(setting.config));
    }
  }
}

SettingPrediction MiddleTurn(std::vector<SettingPrediction> turns) {
  std::vector<double> iterations;
  double least = turns.front().compute;
  double most = least;
  for (const SettingPrediction& turn : turns) {
    iterations.push_back(turn.iteration);
    least = std::min(least, turn.compute);
    most = std::max(most, turn.compute);
  }
  const auto middle = turns.begin() + static_cast<int64_t>(turns.size() / 2);
  std::nth_element(turns.begin(), middle, turns.end(),
                   [](const SettingPrediction& a, const SettingPrediction& b) {
                     return a.iteration < b.iteration;
                   });
  SettingPrediction prediction = std::move(*middle);
  prediction.iterations = std::move(iterations);
  if (least > 0) prediction.compute_spread = most / least;
  return prediction;
}

size_t Recommended(const std::vector<SettingPrediction>& settings) {
  const auto fastest = std::min_element(
      settings.begin(), settings.end(),
      [](const SettingPrediction& a, const SettingPrediction& b) {
        return a.iteration < b.iteration;
      });
  // Turns of one number were measured at nearly the same time.
  const auto is_near = [&fastest](const SettingPrediction& setting) {
    bool near = setting.iteration <= kWorthwhile * fastest->iteration;
    for (size_t t = 0; t < setting.iterations.size(); ++t) {
      near =
          near || setting.iterations[t] <= kWorthwhile * fastest->iterations[t];
    }
    return near;
  };
  return static_cast<size_t>(
      std::find_if(settings.begin(), settings.end(), is_near) -
      settings.begin());
}

}  // namespace ps
