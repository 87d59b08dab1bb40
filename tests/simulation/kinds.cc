#include "tests/simulation/kinds.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/random.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "tests/simulation/network.h"

namespace ps::sim {
namespace {

constexpr char kJob[] = R"(
  name: "simulated"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 48 test_examples: 4 } }
  training { batch_size: 2 epochs: 1000 evaluate_every_iterations: 1000 }
  cluster { max_slice_elements: 2048 }
  machine { worker_threads: 1 server_threads: 2 loader_threads: 0 device: "cpu" }
  security { mode: INSECURE }
)";

constexpr char kSessionJob[] = R"(
  name: "simulated"
  model { name: "external" }
  cluster { max_slice_elements: 1024 }
  machine { worker_threads: 1 server_threads: 2 device: "cpu" }
  security { mode: INSECURE }
)";

JobConfig BaseJob(const char* text = kJob) {
  JobConfig config;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

// With the addresses of its servers.
Job Complete(Job job) {
  ClusterConfig* const cluster = job.config.mutable_cluster();
  for (int i = 0; i < cluster->num_servers(); ++i) {
    cluster->add_servers(absl::StrCat("127.0.0.1:", kFirstPort + i));
  }
  job.same_bits =
      job.config.consistency().mode() == ConsistencyConfig::SYNCHRONOUS &&
      job.config.consistency().step_timeout_seconds() == 0;
  return job;
}

void Set(JobConfig* config, const std::string& text) {
  for (const absl::string_view each : absl::StrSplit(text, ' ')) {
    const absl::Status status = ApplyOverride(std::string(each), config);
    CHECK(status.ok()) << status;
  }
}

// With 2 ranks, and with min_workers 3.
const std::map<std::string, std::string>& SessionKinds() {
  static const auto* const kinds = new std::map<std::string, std::string>{
      {"session_topk",
       "worker_optimizer.name=external compressor.name=topk "
       "training.bucket_megabytes=0.004"},
      {"session_local_steps",
       "worker_optimizer.name=external compressor.name=sidco_e "
       "consistency.local_steps=3"},
      {"session_scalecom",
       "worker_optimizer.name=external compressor.name=scalecom"},
      {"session_mean", "downlink.mode=MEAN training.bucket_megabytes=0.004"},
      {"session_mean_coded",
       "downlink.mode=MEAN compressor.name=topk "
       "compressor.value_code=int8_block downlink.compressor.name=topk "
       "downlink.compressor.value_code=int8_block"},
      // Worker 1 leads when it has finished.
      {"session_early",
       "worker_optimizer.name=external compressor.name=scalecom"},
      {"session_stale",
       "worker_optimizer.name=external consistency.mode=STALE_SYNCHRONOUS "
       "consistency.staleness=1 consistency.min_workers=2 "
       "cluster.num_workers=3"},
      {"session_asynchronous",
       "worker_optimizer.name=external consistency.mode=ASYNCHRONOUS "
       "compressor.name=topk consistency.min_workers=2 "
       "cluster.num_workers=3"}};
  return *kinds;
}

}  // namespace

const std::vector<std::string>& JobKinds() {
  static const auto* const kinds = new std::vector<std::string>{
      "momentum", "delta", "clip_norm", "scalecom", "asynchronous"};
  static const auto* const all = [] {
    auto* const names = new std::vector<std::string>(*kinds);
    for (const auto& each : SessionKinds()) names->push_back(each.first);
    return names;
  }();
  return *all;
}

Job JobOf(const std::string& kind) {
  Job job;
  job.name = kind;
  if (const auto session = SessionKinds().find(kind);
      session != SessionKinds().end()) {
    job.config = BaseJob(kSessionJob);
    Set(&job.config,
        "cluster.num_workers=2 cluster.num_servers=2 "
        "cluster.startup_timeout_seconds=30");
    Set(&job.config, session->second);
    const absl::Status valid = ValidateConfig(job.config);
    CHECK(valid.ok()) << valid;
    job.session_pushes = 10;
    if (kind == "session_early") job.early_rank = 1;
    return Complete(std::move(job));
  }
  job.config = BaseJob();
  Set(&job.config,
      "training.max_iterations=60 checkpoint.every=20 cluster.num_workers=2 "
      "cluster.num_servers=2 optimizer.learning_rate=0.05");
  if (kind == "momentum") {
    Set(&job.config, "optimizer.name=momentum compressor.name=sidco_e");
  } else if (kind == "delta") {
    job.config.clear_optimizer();
    Set(&job.config,
        "worker_optimizer.name=momentum worker_optimizer.learning_rate=0.05 "
        "compressor.name=topk");
  } else if (kind == "clip_norm") {
    Set(&job.config, "optimizer.name=momentum optimizer.clip_norm=1");
  } else if (kind == "scalecom") {
    Set(&job.config, "optimizer.name=momentum compressor.name=scalecom");
  } else if (kind == "asynchronous") {
    Set(&job.config,
        "consistency.mode=ASYNCHRONOUS compressor.name=topk "
        "optimizer.name=sgd");
  } else {
    LOG(FATAL) << "no such kind of job: " << kind;
  }
  const absl::Status valid = ValidateConfig(job.config);
  CHECK(valid.ok()) << valid;
  return Complete(std::move(job));
}

Job DrawJob(uint64_t seed) {
  RandomStream draws(RandomKey(seed, 0x70b));
  const auto one_of = [&](const std::vector<std::string>& texts) {
    return texts[draws.Below(texts.size())];
  };
  for (;;) {
    std::vector<std::string> all = {
        absl::StrCat("cluster.num_workers=", 1 + draws.Below(3)),
        absl::StrCat("cluster.num_servers=", 1 + draws.Below(3)),
        absl::StrCat("training.max_iterations=", 8 + draws.Below(20)),
        one_of({"checkpoint.every=2", "checkpoint.every=5",
                "checkpoint.every=9", "checkpoint.every=1000"}),
        one_of({"checkpoint.log_megabytes=1", "checkpoint.log_megabytes=64",
                "checkpoint.log_megabytes=64"}),
        one_of({"checkpoint.fsync=true", "checkpoint.fsync=false"}),
        one_of({"cluster.startup_timeout_seconds=60",
                "cluster.startup_timeout_seconds=10"}),
        one_of({"consistency.mode=SYNCHRONOUS", "consistency.mode=SYNCHRONOUS",
                "consistency.mode=SYNCHRONOUS",
                "consistency.mode=STALE_SYNCHRONOUS",
                "consistency.mode=ASYNCHRONOUS"}),
        one_of({"compressor.name=none", "compressor.name=topk",
                "compressor.name=sidco_e", "compressor.name=scalecom"}),
        one_of({"downlink.mode=AUTO", "downlink.mode=WEIGHTS",
                "downlink.mode=UPDATE", "downlink.mode=COMPRESSED"}),
        one_of({"optimizer.name=sgd", "optimizer.name=momentum",
                "optimizer.name=adam", "optimizer.name=lamb",
                "optimizer.name=momentum optimizer.clip_norm=1",
                "worker_optimizer.name=momentum "
                "worker_optimizer.learning_rate=0.05"}),
        one_of({"training.evaluate_every_iterations=1000",
                "training.evaluate_every_iterations=6"}),
        one_of({"consistency.digest_every=0", "consistency.digest_every=4"})};
    Job job;
    job.name = absl::StrJoin(all, " ");
    job.number = seed;
    job.config = BaseJob();
    Set(&job.config, job.name);
    if (!job.config.has_worker_optimizer()) {
      Set(&job.config, "optimizer.learning_rate=0.01");
    }
    if (!ValidateConfig(job.config).ok()) continue;
    // Less than a config may ask for: about one push of these weights.
    if (draws.Below(3) == 0) {
      job.config.mutable_cluster()->set_credit_megabytes(0.003);
      absl::StrAppend(&job.name, " (credit of 3 kB)");
    }
    return Complete(std::move(job));
  }
}

Job DrawSessionJob(uint64_t seed) {
  RandomStream draws(RandomKey(seed, 0x5e55));
  const auto one_of = [&](const std::vector<std::string>& texts) {
    return texts[draws.Below(texts.size())];
  };
  for (;;) {
    std::vector<std::string> all = {
        absl::StrCat("cluster.num_workers=", 1 + draws.Below(4)),
        absl::StrCat("cluster.num_servers=", 1 + draws.Below(3)),
        one_of({"cluster.startup_timeout_seconds=60",
                "cluster.startup_timeout_seconds=20"}),
        one_of({"cluster.lost_worker_timeout_seconds=10",
                "cluster.lost_worker_timeout_seconds=3"}),
        one_of({"cluster.lost_server_timeout_seconds=20",
                "cluster.lost_server_timeout_seconds=12"}),
        one_of(
            {"training.bucket_megabytes=0", "training.bucket_megabytes=0.004"}),
        one_of({"compressor.name=none", "compressor.name=none",
                "compressor.name=topk",
                "compressor.name=topk "
                "compressor.ratio=1",
                "compressor.name=sidco_e", "compressor.name=scalecom"}),
        one_of({"compressor.value_code=fp32", "compressor.value_code=fp32",
                "compressor.value_code=fp16",
                "compressor.value_code=int8_block"})};
    const uint64_t mode = draws.Below(4);
    if (mode == 0) {
      all.push_back("downlink.mode=MEAN");
      all.push_back(one_of({"downlink.compressor.name=none",
                            "downlink.compressor.name=none",
                            "downlink.compressor.name=topk"}));
      all.push_back(one_of({"downlink.compressor.value_code=fp32",
                            "downlink.compressor.value_code=fp16",
                            "downlink.compressor.value_code=int8_block"}));
    } else {
      all.push_back("worker_optimizer.name=external");
      all.push_back(one_of({"worker_optimizer.step_ahead=1",
                            "worker_optimizer.step_ahead=0.5"}));
      all.push_back(
          one_of({"consistency.local_steps=1", "consistency.local_steps=1",
                  "consistency.local_steps=3"}));
      all.push_back(
          one_of({"downlink.mode=AUTO", "downlink.mode=WEIGHTS",
                  "downlink.mode=UPDATE", "downlink.mode=COMPRESSED"}));
    }
    if (mode == 3) {
      all.push_back(one_of({"consistency.mode=STALE_SYNCHRONOUS",
                            "consistency.mode=STALE_SYNCHRONOUS "
                            "consistency.staleness=2",
                            "consistency.mode=ASYNCHRONOUS"}));
      all.push_back(
          one_of({"consistency.min_workers=0", "consistency.min_workers=1",
                  "consistency.min_workers=2"}));
    } else if (mode != 0) {
      all.push_back(
          one_of({"consistency.digest_every=0", "consistency.digest_every=0",
                  "consistency.digest_every=4"}));
    }
    Job job;
    job.name = absl::StrJoin(all, " ");
    job.number = seed;
    job.config = BaseJob(kSessionJob);
    Set(&job.config, job.name);
    job.session_pushes = 4 + static_cast<int64_t>(draws.Below(12));
    const uint64_t num_workers = job.config.cluster().num_workers();
    if (mode != 3 && num_workers > 1 && draws.Below(10) == 0) {
      job.early_rank = static_cast<int>(draws.Below(num_workers));
    }
    const bool little_credit = draws.Below(3) == 0;
    if (!ValidateConfig(job.config).ok()) continue;
    absl::StrAppend(&job.name, " (", job.session_pushes, " pushes");
    if (job.early_rank >= 0) {
      absl::StrAppend(&job.name, ", worker ", job.early_rank, " ends early");
    }
    // Less than a config may ask for: about one push of these weights.
    if (little_credit) {
      job.config.mutable_cluster()->set_credit_megabytes(0.003);
      absl::StrAppend(&job.name, ", credit of 3 kB");
    }
    absl::StrAppend(&job.name, ")");
    return Complete(std::move(job));
  }
}

}  // namespace ps::sim
