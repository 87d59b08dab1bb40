#include "tests/simulation/job.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/program.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "proto/server_log.pb.h"
#include "server/server.h"
#include "storage/process_snapshots.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/network.h"
#include "tests/simulation/scheduler.h"
#include "transport/keep_common.h"
#include "worker/trainer.h"

namespace ps::sim {
namespace {

// When nothing disturbs the job any more, it must end within this time.
constexpr absl::Duration kLiveness = absl::Minutes(30);
constexpr absl::Duration kLongest = absl::Hours(12);

constexpr char kJob[] = R"(
  name: "simulated"
  model { name: "mlp" mlp { hidden_units: 8 } }
  data { name: "digits" digits { train_examples: 48 test_examples: 4 } }
  training { batch_size: 2 epochs: 1000 evaluate_every_iterations: 1000 }
  cluster { max_slice_elements: 2048 }
  machine { worker_threads: 1 server_threads: 2 loader_threads: 0 device: "cpu" }
  security { mode: INSECURE }
)";

JobConfig BaseJob() {
  JobConfig config;
  CHECK(google::protobuf::TextFormat::ParseFromString(kJob, &config));
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

}  // namespace

const std::vector<std::string>& JobKinds() {
  static const auto* const kinds = new std::vector<std::string>{
      "momentum", "delta", "clip_norm", "scalecom", "asynchronous"};
  return *kinds;
}

Job JobOf(const std::string& kind) {
  Job job;
  job.name = kind;
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

namespace {

// What a place in the job, "server-1", does and has done.
struct Place {
  std::string name;
  bool is_server = false;
  int number = 0;
  Process* process = nullptr;
  std::optional<int> ended_with;  // For good.
  std::string status;             // Of the last process that ended by itself.
  std::string bits;               // Of a worker's result.
  int starts = 0;
  int64_t operations = 0;
};

class Run {
 public:
  Run(const Job& job, const RunOptions& options, std::string expected_bits)
      : job_(job),
        options_(options),
        expected_bits_(std::move(expected_bits)) {}

  RunResult Go();

 private:
  struct Fault {
    int64_t at = 0;  // The number of the operation.
    std::string kind;
  };

  int num_servers() const { return job_.config.cluster().num_servers(); }
  std::string FolderOf(const Place& place) const {
    return absl::StrCat(DiskOf(place.number), "/",
                        place.is_server
                            ? ServerProcess(place.number, num_servers())
                            : WorkerProcess(place.number));
  }
  JobConfig ConfigOf(const Place& place) const {
    JobConfig config = job_.config;
    config.mutable_checkpoint()->set_directory(DiskOf(place.number));
    return config;
  }

  void Start(Place* place);
  void StartAt(absl::Time time, Place* place);
  int RunServer(Place* place);
  int RunWorker(Place* place);
  void Ended(Process* process);
  void DrawFaults();
  void Disturb(const std::string& kind);
  void KillPlace(Place* place);
  void LoseHostOf(const Place& victim, absl::Duration gone);
  Place* AnyPlace() { return &places_[Below(places_.size())]; }
  void Tell(const std::string& what) {
    Trace(absl::StrCat("FAULT: ", what));
    absl::StrAppend(&story_, story_.empty() ? "" : "; ", "operation ", NumOps(),
                    ": ", what);
  }
  // What is wrong now, or at the end.
  void Fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
  }
  void CheckDone(bool at_end);
  void CheckSnapshots();
  void CheckLogged(const std::string& path, const std::string& bytes);
  void CheckHeld(const ServerCalls& calls, int64_t largest);
  bool AllDone();
  std::string BitsOfRun() const;

  const Job& job_;
  const RunOptions& options_;
  const std::string expected_bits_;
  std::vector<Place> places_;
  std::multimap<absl::Time, std::function<void()>> due_;
  SimThread* world_ = nullptr;
  std::vector<Fault> faults_;
  size_t next_fault_ = 0;
  absl::Time healed_;
  absl::Duration liveness_ = kLiveness;
  absl::Duration restart_ = absl::Seconds(1);
  bool power_was_lost_ = false;
  bool disk_may_fail_ = false;
  bool only_breaks_ = true;  // Of what disturbs.
  bool only_stops_ = true;   // Processes were asked to end, and did.
  bool had_common_ = false;
  std::set<std::tuple<std::string, std::string, int, int64_t>> counted_;
  std::string failure_;
  std::string story_;
};

void Run::Start(Place* place) {
  ++place->starts;
  const int index = static_cast<int>(place - places_.data());
  place->process = StartProcess(place->name, place->number, [this, place] {
    return place->is_server ? RunServer(place) : RunWorker(place);
  });
  if (place->starts > 1) return;
  const auto kill = options_.kill_at.find(index);
  if (kill != options_.kill_at.end()) place->process->kill_at = kill->second;
}

// Or when its host has power again.
void Run::StartAt(absl::Time time, Place* place) {
  due_.emplace(time, [this, place] {
    const absl::Time back = LostUntil(place->number);
    if (back > Now()) {
      StartAt(back, place);
    } else {
      Start(place);
    }
  });
}

int Run::RunServer(Place* place) {
  Process* const process = Current();
  ServerOptions options;
  options.config = ConfigOf(*place);
  options.index = place->number;
  options.listen = job_.config.cluster().servers(place->number);
  if (StopsTogether(options.config)) {
    options.asked_to_stop = &process->asked;
    options.has_weights = [process] { process->handles_sigterm = true; };
  }
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
  absl::Status status = server.status();
  if (status.ok()) status = (*server)->Wait();
  place->status = std::string(status.ToString());
  Trace(place->status);
  if (only_stops_ && options_.kill_at.empty() &&
      absl::StrContains(place->status, "was lost")) {
    Fail(absl::StrCat(place->name,
                      " takes a worker for lost that was asked to ",
                      "end: ", place->status));
  }
  if (server.ok()) *server = nullptr;
  return ExitCodeFor(status);
}

int Run::RunWorker(Place* place) {
  Process* const process = Current();
  TrainerOptions options;
  options.config = ConfigOf(*place);
  options.worker_rank = place->number;
  options.incarnation = Draws().Next() | 1;
  options.name = absl::StrCat("sim:", process->number);
  if (place->number == 0) options.run_directory = options_.run_directory;
  options.overlap_compression = false;
  if (StopsTogether(options.config)) {
    options.asked_to_stop = [process] {
      process->handles_sigterm = true;
      return process->asked.load();
    };
  }
  const absl::StatusOr<TrainingResult> result = Train(options);
  place->status = std::string(result.status().ToString());
  Trace(place->status);
  if (absl::IsCancelled(result.status())) return kExitDone;
  if (result.ok()) {
    place->bits.assign(reinterpret_cast<const char*>(result->weights.data()),
                       result->weights.size() * sizeof(float));
  }
  return ExitCodeFor(result.status());
}

void Run::Ended(Process* process) {
  const auto found = std::find_if(
      places_.begin(), places_.end(),
      [&](const Place& place) { return place.process == process; });
  Place* const place = &*found;
  place->operations += process->ops;
  place->process = nullptr;
  CheckDone(/*at_end=*/false);
  // docs/operations.md; killed processes have none.
  static const std::set<int> again = {-1, kExitUnreachable, 130, 137, 143};
  if (again.count(process->exit_code) == 0) {
    place->ended_with = process->exit_code;
  } else {
    // The last answer of all may be lost.
    if (only_breaks_ && options_.kill_at.empty() &&
        !Exists(FolderOf(*place) + "/done")) {
      Fail(absl::StrCat(place->name,
                        " starts again, though only connections broke"));
    }
    StartAt(Now() + restart_, place);
  }
  if (options_.also >= 0 && process->exit_code < 0 && process->kill_at >= 0) {
    Place* const other = &places_[options_.also];
    if (other->process != nullptr) Kill(other->process);
  }
  Wake(world_);
}

void Run::KillPlace(Place* place) {
  if (place->process != nullptr) Kill(place->process);
}

void Run::LoseHostOf(const Place& victim, absl::Duration gone) {
  const int host = victim.number;
  const absl::Time back = Now() + gone;
  power_was_lost_ = true;
  LoseHost(host, back);
  for (Place& place : places_) {
    if (place.number == host) KillPlace(&place);
  }
  LosePower(host);
  Boot(host);
}

void Run::Disturb(const std::string& kind) {
  Place* const victim = AnyPlace();
  Place* const other = AnyPlace();
  // A worker that is done, and finds no server for longer than that, ends.
  const double longest = 0.8 * job_.config.cluster().startup_timeout_seconds();
  const absl::Duration gone =
      absl::Seconds(Chance(0.5) ? Uniform(0.1, 5) : Uniform(5, longest));
  const bool takes_long = kind == "cut" || kind == "power";
  if (takes_long && Now() < healed_) return;
  if (kind == "cut" && victim->number == other->number) return;
  only_breaks_ = only_breaks_ && kind == "break";
  only_stops_ = only_stops_ && kind == "sigterm";
  if (kind == "kill") {
    Tell(absl::StrCat("kill -9 ", victim->name));
    KillPlace(victim);
  } else if (kind == "kill two") {
    Tell(absl::StrCat("kill -9 ", victim->name, " and ", other->name));
    KillPlace(victim);
    KillPlace(other);
  } else if (kind == "kill host") {
    Tell(absl::StrCat("kill -9 all of host ", victim->number));
    for (Place& place : places_) {
      if (place.number == victim->number) KillPlace(&place);
    }
  } else if (kind == "power") {
    Tell(absl::StrCat("host ", victim->number, " loses its power"));
    LoseHostOf(*victim, gone);
  } else if (kind == "break") {
    Tell(absl::StrCat("connections of ", victim->name, " to ", other->name,
                      " break"));
    BreakLink(victim->process, other->process);
  } else if (kind == "cut") {
    Tell(absl::StrCat("hosts ", victim->number, " and ", other->number,
                      " are cut for ", absl::FormatDuration(gone)));
    CutHosts(victim->number, other->number, Now() + gone);
  } else if (kind == "sigterm") {
    const bool all = Chance(0.5);
    Tell(absl::StrCat("SIGTERM to ", all ? "all" : victim->name));
    for (Place& place : places_) {
      if (place.process == nullptr || !(all || &place == victim)) continue;
      if (place.process->handles_sigterm) {
        place.process->asked = true;
      } else {
        only_stops_ = false;
        Kill(place.process);
      }
    }
  } else if (kind == "disk") {
    Tell("the next operation of a file fails");
    disk_may_fail_ = true;
    FailOnce(0);
  }
  healed_ = std::max(healed_, takes_long ? Now() + gone : Now());
}

void Run::DrawFaults() {
  const int64_t all = options_.operations;
  // Swarm: a seed uses few kinds of faults, and those often.
  std::vector<std::string> kinds;
  for (const char* kind :
       {"kill", "kill two", "kill host", "power", "break", "cut", "sigterm"}) {
    if (Chance(0.35)) kinds.push_back(kind);
  }
  if (Chance(0.04)) kinds.push_back("disk");
  if (Chance(0.08)) kinds = {"break"};
  if (kinds.empty()) kinds.push_back("kill two");
  NetworkFaults network;
  if (Chance(0.3)) network.slow_rate = Uniform(0, 0.05);
  if (Chance(0.3)) network.half_rate = Uniform(0, 0.02);
  only_stops_ = network.half_rate == 0;
  SetFaults(network);
  if (Chance(0.15)) {
    SetLogSpeed(std::pow(10, Uniform(3, 5)));
    // A log is read three times: where it ends, what it says, and once more for
    // the workers that come back.
    liveness_ = 2 * kLiveness;
  }
  if (Chance(0.3)) restart_ = absl::Seconds(Uniform(0.1, 5));
  const int64_t count = 1 + Below(4);
  for (int64_t i = 0; i < count; ++i) {
    Fault fault;
    // Some come soon after another, and some while the job ends.
    fault.at = i > 0 && Chance(0.4) ? faults_.back().at + Below(2000)
               : Chance(0.3)        ? all - Below(all / 8)
                                    : Below(all + all / 4);
    fault.kind = kinds[Below(kinds.size())];
    faults_.push_back(fault);
  }
  std::sort(faults_.begin(), faults_.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

// What is on disk before worker 0, or at the end anybody, marks the job done.
void Run::CheckDone(bool at_end) {
  for (const Place& place : places_) {
    if (!at_end && (place.is_server || place.number > 0)) continue;
    if (!Exists(FolderOf(place) + "/done")) continue;
    for (const char* file : {"weights.safetensors", "summary.json"}) {
      if (ReadFile(absl::StrCat(options_.run_directory, "/", file)).ok()) {
        continue;
      }
      Fail(absl::StrCat(place.name,
                        " has marked the job done, and there is no ", file));
    }
  }
}

void Run::CheckSnapshots() {
  std::set<int64_t> common;
  for (size_t i = 0; i < places_.size(); ++i) {
    const std::set<int64_t> has = WholeSnapshots(FolderOf(places_[i]));
    if (i == 0) {
      common = has;
    } else {
      KeepCommon(has, &common);
    }
  }
  if (had_common_ && common.empty()) {
    Fail("there was a snapshot that all processes have, and now there is none");
  }
  had_common_ = had_common_ || !common.empty();
}

// Each push is counted once, as long as a server's epoch lasts.
void Run::CheckLogged(const std::string& path, const std::string& bytes) {
  constexpr size_t kFrame = 12;  // storage/record_log.h
  const size_t name = path.rfind("/log-");
  if (name == std::string::npos || bytes.size() < kFrame + 4) return;
  uint32_t head = 0;
  for (size_t i = 4; i-- > 0;) {
    head = head << 8 | static_cast<uint8_t>(bytes[kFrame + i]);
  }
  LogEntry entry;
  if (head > bytes.size() - kFrame - 4 ||
      !entry.ParseFromArray(bytes.data() + kFrame + 4,
                            static_cast<int>(head)) ||
      !entry.has_update() || power_was_lost_) {
    return;
  }
  const std::string epoch =
      path.substr(0, name) + path.substr(path.rfind('-'), 17);
  for (const LoggedPush& push : entry.update().pushes()) {
    if (counted_
            .emplace(epoch, entry.update().slice(), push.rank(),
                     push.iteration())
            .second) {
      continue;
    }
    Fail(absl::StrCat("push ", push.iteration(), " of worker ", push.rank(),
                      " to ", entry.update().slice(), " is counted twice in ",
                      path));
  }
}

// A server holds as much as it promises, or one message.
void Run::CheckHeld(const ServerCalls& calls, int64_t largest) {
  const int64_t most = std::max(calls.credit_bytes(), largest);
  for (int rank = 0; rank < job_.config.cluster().num_workers(); ++rank) {
    if (calls.held_bytes(rank) <= most) continue;
    Fail(absl::StrCat("a server holds ", calls.held_bytes(rank),
                      " bytes of worker ", rank, ", and may hold ", most));
  }
}

std::string Run::BitsOfRun() const {
  const absl::StatusOr<std::string> file =
      ReadFile(options_.run_directory + "/weights.safetensors");
  return file.ok() ? *file : std::string();
}

// A server that found the job done only tells so.
bool Run::AllDone() {
  return std::all_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.ended_with == kExitDone ||
           (place.is_server && Exists(FolderOf(place) + "/done"));
  });
}

RunResult Run::Go() {
  Settings settings;
  settings.seed = options_.seed;
  settings.trace = options_.trace;
  Begin(settings);
  StartDisk();
  StartNetwork();
  OnEnd([this](Process* process) { Ended(process); });
  OnChange([this](const std::string& path) {
    if (absl::StrContains(path, "/snapshot-")) CheckSnapshots();
  });
  OnAppend([this](const std::string& path, const std::string& bytes) {
    CheckLogged(path, bytes);
  });
  OnMessage([this](const ServerCalls& calls, int64_t largest) {
    CheckHeld(calls, largest);
  });
  world_ = Self();
  const ClusterConfig& cluster = job_.config.cluster();
  places_.reserve(cluster.num_servers() + cluster.num_workers());
  for (const bool is_server : {true, false}) {
    const int count = is_server ? cluster.num_servers() : cluster.num_workers();
    for (int i = 0; i < count; ++i) {
      Place& place = places_.emplace_back();
      place.name = absl::StrCat(is_server ? "server-" : "worker-", i);
      place.is_server = is_server;
      place.number = i;
    }
  }
  healed_ = Now();
  if (options_.faults) DrawFaults();
  OnOperation([this](Process*) {
    while (next_fault_ < faults_.size() &&
           NumOps() >= faults_[next_fault_].at) {
      Disturb(faults_[next_fault_++].kind);
      if (next_fault_ == faults_.size()) SetFaults(NetworkFaults());
    }
  });
  const absl::Time begin = Now();
  for (Place& place : places_) Start(&place);
  for (;;) {
    const absl::Time next =
        due_.empty() ? Now() + absl::Seconds(10) : due_.begin()->first;
    if (next > Now()) Block("the job", next);
    while (!due_.empty() && due_.begin()->first <= Now()) {
      const auto work = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      work();
    }
    if (!failure_.empty() || AllDone()) break;
    for (const Place& place : places_) {
      if (place.ended_with.value_or(0) == 0) continue;
      // What a disk does may end a job for good, clearly.
      if (!HasFailed()) {
        Fail(absl::StrCat(place.name, " ended for good with ",
                          *place.ended_with, ": ", place.status));
      }
    }
    if (!failure_.empty()) break;
    const bool disturbed = next_fault_ < faults_.size();
    if (Now() > (disturbed ? begin + kLongest : healed_ + liveness_)) {
      if (HasFailed()) break;
      Fail(absl::StrCat("no end within ", absl::FormatDuration(liveness_),
                        " after the last disturbance:\n", Waiters()));
      break;
    }
    if (HasFailed() &&
        std::any_of(places_.begin(), places_.end(), [](const Place& place) {
          return place.ended_with.value_or(0) != 0;
        })) {
      break;
    }
  }
  if (AllDone()) CheckDone(/*at_end=*/true);
  RunResult result;
  result.bits = BitsOfRun();
  if (failure_.empty() && AllDone() && job_.same_bits &&
      !expected_bits_.empty()) {
    if (result.bits != expected_bits_) {
      Fail("the weights are not those of the undisturbed job");
    }
    for (const Place& place : places_) {
      if (!place.bits.empty() && place.bits != places_.back().bits &&
          !places_.back().bits.empty()) {
        Fail("workers hold different weights");
      }
    }
  }
  result.failure = failure_;
  if (!failure_.empty()) {
    for (const Place& place : places_) {
      absl::StrAppend(&result.failure, "\n    ", place.name, ": ", place.starts,
                      " starts; ", place.status);
    }
  }
  result.story = story_;
  result.digest = Digest();
  result.virtual_seconds = absl::ToDoubleSeconds(Now() - begin);
  result.operations = NumOps();
  for (const Place& place : places_) {
    result.by_process.push_back(
        place.operations + (place.process == nullptr ? 0 : place.process->ops));
  }
  return result;
}

}  // namespace

RunResult RunJob(const Job& job, const RunOptions& options,
                 const std::string& expected_bits) {
  return Run(job, options, expected_bits).Go();
}

}  // namespace ps::sim
