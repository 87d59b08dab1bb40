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
#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/program.h"
#include "glog/logging.h"
#include "proto/server_log.pb.h"
#include "server/server.h"
#include "storage/process_snapshots.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/network.h"
#include "tests/simulation/rank.h"
#include "tests/simulation/scheduler.h"
#include "transport/interruption.h"
#include "transport/keep_common.h"
#include "worker/trainer.h"

namespace ps::sim {
namespace {

// When nothing disturbs the job any more, it must end within this time.
constexpr absl::Duration kLiveness = absl::Minutes(30);
constexpr absl::Duration kLongest = absl::Hours(12);
constexpr int kKilled = 137;  // As a shell says it.
// A cut that no time-out and no keepalive notices.
constexpr absl::Duration kShortCut = absl::Seconds(6);
// Within this time all connections are heard again.
constexpr absl::Duration kHeard = absl::Seconds(2);
// What a process that ends takes beyond the time-outs of the config: gRPC's
// keepalive, its last calls, and what is still under way.
constexpr absl::Duration kFarewell = absl::Seconds(40);

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
  // Of a session (rank.h): a process has registered with all servers, and has
  // made all pushes.
  bool joined = false;
  bool trained = false;
  Interruption* interruption = nullptr;
};

// "worker 1", as errors name it.
std::string NameInErrors(const Place& place) {
  return absl::StrCat(place.is_server ? "server " : "worker ", place.number);
}

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

  bool has_sessions() const { return job_.session_pushes > 0; }
  int num_servers() const { return job_.config.cluster().num_servers(); }
  std::string FolderOf(const Place& place) const {
    return absl::StrCat(DiskOf(place.number), "/",
                        place.is_server
                            ? ServerProcess(place.number, num_servers())
                            : WorkerProcess(place.number));
  }
  JobConfig ConfigOf(const Place& place) const {
    JobConfig config = job_.config;
    if (has_sessions()) return config;
    config.mutable_checkpoint()->set_directory(DiskOf(place.number));
    return config;
  }

  void Start(Place* place);
  void StartAt(absl::Time time, Place* place);
  int RunServer(Place* place);
  int RunWorker(Place* place);
  int RunSession(Place* place);
  void Ended(Process* process);
  // In a job of sessions. -1: the process was killed.
  void SessionsGoOnWithout(Place* place, int exit_code);
  void DrawFaults();
  std::vector<std::string> DrawKindsOfFaults();
  std::vector<std::string> DrawKindsForSessions();
  void Disturb(const std::string& kind);
  void KillPlace(Place* place);
  // Of a job of sessions: whether it need not go on after what happened, how
  // long its processes may take to end then, and what holds when all have.
  bool MayFail() const;
  absl::Duration LongestEnd() const;
  void Harm(const Place* place);
  bool AllJoined() const;
  bool NamesWhoWasHarmed(const std::string& error) const;
  void CheckSessions();
  void CheckWeights();
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
  // Of sessions: all processes have ended for good.
  bool AllEnded();
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
  // Of jobs of sessions: who was lost, or cut off for long.
  std::set<const Place*> harmed_;
  // Whether all learn why the job fails: connections hold, all ranks have
  // joined before, and nobody comes again.
  bool all_hear_why_ = true;
  bool starts_again_ = false;   // Processes that were killed.
  bool lost_for_long_ = false;  // Or for good, or gave up.
  std::string failure_;
  std::string story_;
};

void Run::Start(Place* place) {
  ++place->starts;
  const int index = static_cast<int>(place - places_.data());
  place->process = StartProcess(place->name, place->number, [this, place] {
    if (place->is_server) return RunServer(place);
    return has_sessions() ? RunSession(place) : RunWorker(place);
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
  if (only_stops_ && options_.kill_at.empty() && !has_sessions() &&
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

int Run::RunSession(Place* place) {
  RankOptions options;
  options.config = &job_.config;
  options.rank = place->number;
  options.incarnation = Draws().Next() | 1;
  options.name = absl::StrCat("sim:", Current()->number);
  options.pushes = job_.early_rank == place->number ? job_.session_pushes / 2
                                                    : job_.session_pushes;
  options.interruption = place->interruption = new Interruption;
  options.joined = [place] { place->joined = true; };
  options.trained = [place] { place->trained = true; };
  const RankResult result = RunRank(options);
  place->status = std::string(result.status.ToString());
  Trace(place->status);
  if (result.status.ok()) {
    place->bits.assign(reinterpret_cast<const char*>(result.weights.data()),
                       result.weights.size() * sizeof(float));
  }
  return ExitCodeFor(result.status);
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
  if (has_sessions()) {
    SessionsGoOnWithout(place, process->exit_code);
  } else if (again.count(process->exit_code) == 0) {
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

void Run::SessionsGoOnWithout(Place* place, int exit_code) {
  place->interruption = nullptr;
  if (exit_code >= 0) {
    place->ended_with = exit_code;
    return;
  }
  Harm(place);
  healed_ = std::max(healed_, Now());
  // It may have finished at some servers.
  lost_for_long_ = lost_for_long_ || place->trained;
  if (starts_again_) {
    StartAt(Now() + restart_, place);
  } else {
    place->ended_with = kKilled;
    lost_for_long_ = true;
  }
}

void Run::KillPlace(Place* place) {
  if (place->process != nullptr) Kill(place->process);
}

void Run::LoseHostOf(const Place& victim, absl::Duration gone) {
  const int host = victim.number;
  const absl::Time back = Now() + gone;
  power_was_lost_ = true;
  lost_for_long_ = true;
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
  absl::Duration gone =
      absl::Seconds(Chance(0.5) ? Uniform(0.1, 5) : Uniform(5, longest));
  const bool short_cut = kind == "short cut";
  const bool takes_long = kind == "cut" || kind == "power" || short_cut;
  if (takes_long && Now() < healed_ + (short_cut ? kHeard : absl::Duration())) {
    return;
  }
  if ((kind == "cut" || short_cut) && victim->number == other->number) return;
  only_breaks_ = only_breaks_ && kind == "break";
  if (kind == "break" || takes_long) all_hear_why_ = false;
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
  } else if (kind == "cut" || short_cut) {
    if (short_cut) gone = kShortCut * Uniform(0.1, 1);
    Tell(absl::StrCat("hosts ", victim->number, " and ", other->number,
                      " are cut for ", absl::FormatDuration(gone)));
    CutHosts(victim->number, other->number, Now() + gone);
    for (const Place& place : places_) {
      if (short_cut || place.process == nullptr) continue;
      if (place.number == victim->number || place.number == other->number) {
        Harm(&place);
      }
    }
    lost_for_long_ = lost_for_long_ || !short_cut;
  } else if (kind == "hang up") {
    if (victim->interruption == nullptr) return;
    Tell(absl::StrCat("the program of ", victim->name, " ends"));
    Harm(victim);
    lost_for_long_ = true;
    StartThread(victim->process, "watch", [hears = victim->interruption] {
      hears->Interrupt(absl::CancelledError("the program has hung up"));
    });
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

std::vector<std::string> Run::DrawKindsForSessions() {
  starts_again_ = Chance(WorkersDrift(job_.config) ? 0.8 : 0.3);
  restart_ = absl::Seconds(Chance(0.7) ? Uniform(0.1, 2) : Uniform(2, 20));
  if (Chance(0.4)) return {"break", "short cut"};
  std::vector<std::string> kinds;
  for (const char* kind : {"kill", "kill two", "kill host", "power", "break",
                           "cut", "short cut", "hang up"}) {
    if (Chance(0.3)) kinds.push_back(kind);
  }
  if (kinds.empty()) kinds.push_back("kill");
  return kinds;
}

std::vector<std::string> Run::DrawKindsOfFaults() {
  // Swarm: a seed uses few kinds of faults, and those often.
  std::vector<std::string> kinds;
  for (const char* kind :
       {"kill", "kill two", "kill host", "power", "break", "cut", "sigterm"}) {
    if (Chance(0.35)) kinds.push_back(kind);
  }
  if (Chance(0.04)) kinds.push_back("disk");
  if (Chance(0.08)) kinds = {"break"};
  if (kinds.empty()) kinds.push_back("kill two");
  return kinds;
}

void Run::DrawFaults() {
  const int64_t all = options_.operations;
  const std::vector<std::string> kinds =
      has_sessions() ? DrawKindsForSessions() : DrawKindsOfFaults();
  NetworkFaults network;
  if (Chance(0.3)) network.slow_rate = Uniform(0, 0.05);
  if (Chance(0.3)) network.half_rate = Uniform(0, 0.02);
  only_stops_ = network.half_rate == 0;
  all_hear_why_ = network.half_rate == 0;
  SetFaults(network);
  if (!has_sessions() && Chance(0.15)) {
    SetLogSpeed(std::pow(10, Uniform(3, 5)));
    // A log is read three times: where it ends, what it says, and once more for
    // the workers that come back.
    liveness_ = 2 * kLiveness;
  }
  if (!has_sessions() && Chance(0.3)) restart_ = absl::Seconds(Uniform(0.1, 5));
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

void Run::Harm(const Place* place) {
  all_hear_why_ = all_hear_why_ && !starts_again_ && AllJoined();
  harmed_.insert(place);
}

bool Run::AllJoined() const {
  return std::all_of(places_.begin(), places_.end(), [](const Place& each) {
    return each.is_server || each.joined;
  });
}

bool Run::MayFail() const {
  if (job_.early_rank >= 0) return true;
  if (harmed_.empty()) return false;
  if (!WorkersDrift(job_.config)) return true;
  const ClusterConfig& cluster = job_.config.cluster();
  int left = cluster.num_workers();
  for (const Place* const place : harmed_) {
    // Long cuts harm servers, too.
    if (place->is_server) return true;
    left -= 1;
  }
  const bool in_time = restart_ + absl::Seconds(0.5) <
                       absl::Seconds(cluster.lost_worker_timeout_seconds());
  if (starts_again_ && in_time && !lost_for_long_) return false;
  return harmed_.count(&places_[num_servers()]) > 0 ||
         left < MinWorkers(job_.config);
}

absl::Duration Run::LongestEnd() const {
  const ClusterConfig& cluster = job_.config.cluster();
  double seconds = cluster.lost_worker_timeout_seconds() +
                   cluster.lost_server_timeout_seconds();
  if (!AllJoined() || starts_again_)
    seconds += cluster.startup_timeout_seconds();
  return absl::Seconds(seconds) + kFarewell;
}

bool Run::NamesWhoWasHarmed(const std::string& error) const {
  if (job_.early_rank >= 0 &&
      absl::StrContains(error, absl::StrCat("worker ", job_.early_rank,
                                            " has finished after push "))) {
    return true;
  }
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    // Who does not learn why another one has ended names that one.
    const bool counts = harmed_.count(&place) > 0 ||
                        (!all_hear_why_ && place.ended_with.value_or(0) != 0);
    return counts && absl::StrContains(error, NameInErrors(place));
  });
}

void Run::CheckSessions() {
  const bool drift = WorkersDrift(job_.config);
  const bool a_server_is_done =
      std::any_of(places_.begin(), places_.end(), [](const Place& place) {
        return place.is_server && place.ended_with == kExitDone;
      });
  for (const Place& place : places_) {
    if (a_server_is_done && !place.is_server && !place.trained && !drift) {
      Fail(absl::StrCat("a server has ended with 0, and ", place.name,
                        " has not made all of its pushes"));
    }
    if (place.ended_with == kExitDone) {
      if (job_.early_rank < 0) continue;
      Fail(absl::StrCat(place.name, " has ended with 0 after a job in which ",
                        "not all make equally many pushes"));
    }
    if (harmed_.count(&place) > 0) continue;
    // The last answer of all may be lost.
    if (options_.faults && a_server_is_done && place.trained) continue;
    if (!MayFail()) {
      Fail(absl::StrCat(place.name, " has ended with ", *place.ended_with, ": ",
                        place.status));
    } else if (!NamesWhoWasHarmed(place.status)) {
      Fail(absl::StrCat(place.name,
                        " does not name who was lost: ", place.status));
    }
  }
  CheckWeights();
}

// Those of ranks that have finished.
void Run::CheckWeights() {
  const bool drift = WorkersDrift(job_.config);
  if (drift && !harmed_.empty()) return;
  const auto loops = WeightsByLoops(job_.config, job_.session_pushes);
  for (const Place& place : places_) {
    if (place.is_server || place.ended_with != kExitDone) continue;
    if (place.bits != BitsOfRun()) Fail("ranks hold different weights");
    if (loops.has_value() &&
        place.bits !=
            absl::string_view(reinterpret_cast<const char*>(loops->data()),
                              loops->size() * sizeof(float))) {
      Fail(absl::StrCat("the weights of ", place.name,
                        " are not those of plain loops"));
    }
    if (!drift && !expected_bits_.empty() && place.bits != expected_bits_) {
      Fail("the weights are not those of the undisturbed job");
    }
  }
}

std::string Run::BitsOfRun() const {
  if (has_sessions()) {
    for (const Place& place : places_) {
      if (!place.is_server && place.ended_with == kExitDone) return place.bits;
    }
    return std::string();
  }
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

bool Run::AllEnded() {
  return std::all_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.ended_with.has_value();
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
  starts_again_ = options_.starts_again;
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
    if (!failure_.empty() || (has_sessions() ? AllEnded() : AllDone())) break;
    for (const Place& place : places_) {
      if (has_sessions()) break;
      if (place.ended_with.value_or(0) == 0) continue;
      // What a disk does may end a job for good, clearly.
      if (!HasFailed()) {
        Fail(absl::StrCat(place.name, " ended for good with ",
                          *place.ended_with, ": ", place.status));
      }
    }
    if (!failure_.empty()) break;
    const bool disturbed = !has_sessions() && next_fault_ < faults_.size();
    if (has_sessions()) liveness_ = LongestEnd();
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
  if (has_sessions()) {
    if (failure_.empty()) CheckSessions();
  } else if (AllDone()) {
    CheckDone(/*at_end=*/true);
  }
  RunResult result;
  result.bits = BitsOfRun();
  if (failure_.empty() && !has_sessions() && AllDone() && job_.same_bits &&
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
