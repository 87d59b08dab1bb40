#include "server/slices/weight_slice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "glog/logging.h"
#include "transport/push_samples.h"

namespace ps {
namespace {

constexpr char kLost[] = "the worker was lost";
constexpr char kPulledAgain[] = "superseded by a newer pull of this worker";

}  // namespace

WeightSlice::WeightSlice(const SliceOptions& options, SquaresExchange* exchange,
                         Timer* timer, const Clock* clock, UpdateLog* log)
    : options_(options),
      exchange_(exchange),
      timer_(timer),
      clock_(clock),
      log_(log),
      drift_(WorkersDrift(*options.config)),
      workers_(options.config->cluster().num_workers()),
      positions_(options,
                 [this](WorkerPush push, PushDone done) {
                   HandlePush(std::move(push), std::move(done));
                 }),
      admission_(NewAdmission(options)) {}

WeightSlice::~WeightSlice() {
  // gRPC has ended every call. The lock makes this visible to ThreadSanitizer,
  // which does not see gRPC's own locks.
  MutexLock lock(&mu_);
}

void WeightSlice::Initialize(ReceivedPayload payload,
                             std::function<void(const absl::Status&)> done) {
  executor_.Post(
      [this, payload = std::move(payload), done = std::move(done)]() mutable {
        const absl::Status set = SetInitialWeights(payload.pieces);
        // Release the credit first: an answered worker may push at once.
        payload.owner = nullptr;
        done(set);
      });
}

absl::Status WeightSlice::SetInitialWeights(const PayloadPieces& payload) {
  PS_RETURN_IF_ERROR(failure_);
  if (state_ != nullptr) {
    if (options_.rule == UpdateRule::kExchange ||
        DigestOf(payload, options_.num_elements) == state_->first_digest()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "this slice already has other weights");
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<SliceState> state,
                      SliceState::Create(options_, payload));
  if (log_ != nullptr) {
    PS_RETURN_IF_ERROR(log_->AppendInitialWeights(options_.name, payload));
  }
  state_ = std::move(state);
  Begin();
  return absl::OkStatus();
}

void WeightSlice::Begin() {
  MutexLock lock(&mu_);
  version_ = state_->progress().version;
  admission_->Applied(state_->progress());
}

void WeightSlice::Save(
    std::function<void(const absl::StatusOr<std::string>&)> done) {
  executor_.Post([this, done = std::move(done)] { done(SaveNow()); });
}

absl::StatusOr<std::string> WeightSlice::SaveNow() const {
  PS_RETURN_IF_ERROR(CheckReady(absl::StatusCode::kFailedPrecondition));
  if (record_.has_value()) {
    return absl::FailedPreconditionError("an update is under way");
  }
  return state_->Save();
}

void WeightSlice::Load(std::string saved,
                       std::shared_ptr<const SliceHistory> history,
                       std::function<void(const absl::Status&)> done) {
  executor_.Post([this, saved = std::move(saved), history = std::move(history),
                  done = std::move(done)] { done(LoadNow(saved, *history)); });
}

absl::Status WeightSlice::LoadNow(const std::string& saved,
                                  const SliceHistory& history) {
  PS_RETURN_IF_ERROR(failure_);
  if (state_ != nullptr) {
    return absl::FailedPreconditionError("this slice already has weights");
  }
  PS_ASSIGN_OR_RETURN(state_, StateAfter(options_, saved, history));
  PS_RETURN_IF_ERROR(positions_.KeepLastOf(history));
  // Without updates, the state was saved with a different number of workers.
  if (history.updates.empty()) LogNews();
  Begin();
  return absl::OkStatus();
}

void WeightSlice::Rewind(int rank, std::string saved,
                         std::shared_ptr<const SliceHistory> history,
                         std::function<void(const absl::Status&)> done) {
  executor_.Post([this, rank, saved = std::move(saved),
                  history = std::move(history),
                  done = std::move(done)]() mutable {
    done(RewindNow(rank, saved, std::move(history)));
  });
}

absl::Status WeightSlice::RewindNow(
    int rank, const std::string& saved,
    std::shared_ptr<const SliceHistory> history) {
  PS_RETURN_IF_ERROR(CheckReady(absl::StatusCode::kFailedPrecondition));
  PS_ASSIGN_OR_RETURN(workers_[rank].past,
                      WorkerPast::Create(options_, saved, std::move(history)));
  ReleasePast(rank);
  return absl::OkStatus();
}

void WeightSlice::ReleasePast(int rank) {
  std::unique_ptr<WorkerPast>& past = workers_[rank].past;
  // During an update, the answer to the last push is gone.
  if (record_.has_value() ||
      past->state().progress().version < state_->progress().version) {
    return;
  }
  past.reset();
}

void WeightSlice::Pull(int rank, int64_t iterations, PushDone done) {
  executor_.Post([this, rank, iterations, done = std::move(done)]() mutable {
    HandlePull({rank, iterations, /*dropped=*/false, std::move(done)});
  });
}

void WeightSlice::HandlePull(Waiting pull) {
  absl::Status refused;
  if (pull.iterations < 0 || pull.iterations > options_.total_updates) {
    refused = absl::InvalidArgumentError(
        absl::StrCat("weights after ", pull.iterations,
                     " iterations; the job has ", options_.total_updates));
  } else {
    refused = CheckReady(absl::StatusCode::kUnavailable);
  }
  const WorkerPast* const past = workers_[pull.rank].past.get();
  if (refused.ok() && !drift_) {
    const int64_t version =
        (past != nullptr ? past->state() : *state_).progress().version;
    if (version != pull.iterations) {
      refused = absl::FailedPreconditionError(absl::StrCat(
          "worker ", pull.rank, " needs the weights after ", pull.iterations,
          " updates; ", options_.name, " is at version ", version));
    }
  }
  if (!refused.ok()) {
    pull.done(refused);
    return;
  }
  if (past != nullptr) {
    pull.done(past->state().AnswerWithAll());
    return;
  }
  {
    MutexLock lock(&mu_);
    admission_->Pulls(pull.rank, pull.iterations);
  }
  Replace(&pulls_, std::move(pull), kPulledAgain);
  AnswerWithAll();
  Advance();
}

absl::Status WeightSlice::CheckReady(absl::StatusCode not_yet) const {
  PS_RETURN_IF_ERROR(failure_);
  if (state_ != nullptr) return absl::OkStatus();
  return absl::Status(
      not_yet,
      "the weights have not been initialised; worker 0 does that when it "
      "starts");
}

void WeightSlice::Push(WorkerPush push, PushDone done) {
  executor_.Post(
      [this, push = std::move(push), done = std::move(done)]() mutable {
        HandlePush(std::move(push), std::move(done));
      });
}

void WeightSlice::HandlePush(WorkerPush push, PushDone done) {
  const int rank = push.rank;
  const int64_t base_version = push.base_version;
  const int64_t iteration = push.iteration;
  if (push.lacks_positions) {
    const absl::Status ready =
        CheckReady(absl::StatusCode::kFailedPrecondition);
    if (ready.ok() && positions_.Forgot(push, *state_)) {
      LeaveOut(std::move(push), std::move(done));
      return;
    }
    const absl::StatusOr<bool> complete =
        ready.ok()
            ? positions_.Complete(*state_, workers_[rank].past.get(), &push)
            : absl::StatusOr<bool>(ready);
    if (!complete.ok()) {
      push.payload = ReceivedPayload();
      done(complete.status());
      return;
    }
    if (!*complete) {
      positions_.Hold(std::move(push), std::move(done));
      return;
    }
  }
  if (failure_.ok() && workers_[rank].past != nullptr) {
    absl::StatusOr<std::optional<WeightAnswer>> then =
        workers_[rank].past->Answer(push);
    if (!then.ok() || then->has_value()) {
      // The payload is released before the answer, as after an update.
      push.payload = ReceivedPayload();
      if (then.ok()) {
        (*then)->complete = clock_->Now();
        ReleasePast(rank);
      }
      done(then.ok() ? absl::StatusOr<WeightAnswer>(**then) : then.status());
      return;
    }
    workers_[rank].past.reset();
  }
  if (CodedByCompressor(push.payload.pieces)) {
    absl::Status coded = CheckReady(absl::StatusCode::kFailedPrecondition);
    if (coded.ok()) {
      coded = positions_.CheckCoded(*state_, workers_[rank].past.get(), &push);
    }
    if (!coded.ok()) {
      push.payload = ReceivedPayload();
      done(Annotate(
          coded, absl::StrCat("values of worker ", rank, " for ", options_.name,
                              ", iteration ", iteration)));
      return;
    }
  }
  absl::StatusOr<std::optional<PayloadBuffer>> positions =
      positions_.SelectedBy(push);
  const absl::StatusOr<Admission::Arrival> arrival =
      positions.ok() ? Admit(std::move(push))
                     : absl::StatusOr<Admission::Arrival>(positions.status());
  if (!arrival.ok()) {
    done(arrival.status());
    return;
  }
  switch (*arrival) {
    case Admission::Arrival::kKept:
    case Admission::Arrival::kRepeat: {
      Worker& worker = workers_[rank];
      worker.base_version = base_version;
      worker.done.swap(done);
      if (done != nullptr) done(absl::CancelledError(kRepeatedPush));
      if (*arrival == Admission::Arrival::kRepeat) {
        AnswerPushes();
      } else if (positions->has_value() &&
                 iteration == state_->progress().version) {
        // If this leader is ahead of the slice, another takes its place.
        positions_.Keep(iteration, **std::move(positions), *state_);
      }
      break;
    }
    case Admission::Arrival::kStored:
      done(AnswerTo(rank, base_version));
      return;
    case Admission::Arrival::kLate:
    case Admission::Arrival::kDropped:
      Replace(
          &late_,
          {rank, 0, *arrival == Admission::Arrival::kDropped, std::move(done)},
          kRepeatedPush);
      AnswerWithAll();
      break;
  }
  Advance();
}

absl::StatusOr<Admission::Arrival> WeightSlice::Admit(WorkerPush push) {
  PS_RETURN_IF_ERROR(CheckReady(absl::StatusCode::kFailedPrecondition));
  if (options_.rule == UpdateRule::kMean && !push.dense) {
    return absl::InvalidArgumentError(
        "a push of statistics must hold all of them");
  }
  if (options_.rule == UpdateRule::kMean && push.samples != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a push of statistics is from ", push.samples,
        " samples; must tell none, because their mean is not weighed"));
  }
  PS_RETURN_IF_ERROR(CheckPushSamples(*options_.config, push.samples));
  MutexLock lock(&mu_);
  if (push.base_version > version_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", push.rank, " says that it holds version ", push.base_version,
        "; this slice is at version ", version_));
  }
  return admission_->Take(std::move(push));
}

void WeightSlice::LeaveOut(WorkerPush push, PushDone done) {
  {
    MutexLock lock(&mu_);
    admission_->Pulls(push.rank, push.iteration + 1);
  }
  const int rank = push.rank;
  push.payload = ReceivedPayload();
  Replace(&late_, {rank, 0, /*dropped=*/true, std::move(done)}, kRepeatedPush);
  AnswerWithAll();
  Advance();
}

void WeightSlice::Replace(std::vector<Waiting>* calls, Waiting call,
                          const char* superseded) {
  const auto same = std::find_if(
      calls->begin(), calls->end(),
      [&](const Waiting& other) { return other.rank == call.rank; });
  if (same == calls->end()) {
    calls->push_back(std::move(call));
    return;
  }
  std::swap(*same, call);
  call.done(absl::CancelledError(superseded));
}

void WeightSlice::WorkerGone(int rank) {
  executor_.Post([this, rank] {
    {
      MutexLock lock(&mu_);
      admission_->WorkerGone(rank);
    }
    positions_.AnswerQuestion(rank, absl::CancelledError(kLost));
    if (state_ == nullptr || !failure_.ok()) return;
    state_->WorkerGone(rank);
    AnswerPushes();
    AnswerWithAll();
    Advance();
  });
}

int64_t WeightSlice::JoinsAt(int rank) const {
  MutexLock lock(&mu_);
  return admission_ == nullptr ? 0 : admission_->JoinsAt(rank);
}

void WeightSlice::Join(int rank, int64_t pushes) {
  executor_.Post([this, rank, pushes] {
    {
      MutexLock lock(&mu_);
      admission_->Join(rank, pushes);
    }
    // These calls were left by the worker's previous process.
    positions_.AnswerAllOf(rank, absl::CancelledError(kLost));
    if (PushDone done = std::exchange(workers_[rank].done, nullptr)) {
      done(absl::CancelledError(kLost));
    }
    if (state_ == nullptr || !failure_.ok()) return;
    // Others may have waited for the worker's previous process.
    AnswerPushes();
    AnswerWithAll();
    Advance();
  });
}

void WeightSlice::GetPositions(int rank, int64_t iteration,
                               PositionsDone done) {
  executor_.Post([this, rank, iteration, done = std::move(done)]() mutable {
    const absl::Status ready = CheckReady(absl::StatusCode::kUnavailable);
    if (!ready.ok()) {
      done(ready);
      return;
    }
    if (!positions_.Ask(rank, iteration, *state_, workers_[rank].past.get(),
                        std::move(done))) {
      return;
    }
    {
      MutexLock lock(&mu_);
      // The worker was dropped elsewhere, and will not push for earlier
      // updates.
      admission_->Pulls(rank, iteration);
    }
    Advance();
  });
}

void WeightSlice::Advance() {
  while (failure_.ok() && state_ != nullptr && !record_.has_value()) {
    const absl::Time now = clock_->Now();
    absl::Time deadline = positions_.Appoint(
        now, [this] { return AwaitedRanks(); }, *state_);
    std::optional<std::vector<WorkerPush>> pushes;
    absl::Status hopeless;
    {
      MutexLock lock(&mu_);
      pushes = admission_->Next(now);
      if (!pushes.has_value())
        hopeless = admission_->Hopeless(positions_.Waiting());
      if (admission_->Deadline() > now) {
        deadline = std::min(deadline, admission_->Deadline());
      }
    }
    if (!hopeless.ok()) {
      FailNow(hopeless);
      return;
    }
    if (!pushes.has_value()) {
      // All deadlines have the same distance from their events. So a timer that
      // is set comes before this one.
      if (deadline == absl::InfiniteFuture() || has_timer_) return;
      has_timer_ = true;
      timer_->At(deadline, [this] {
        executor_.Post([this] {
          // The timer may have been set for an update that is over, long before
          // this one's deadline.
          has_timer_ = false;
          Advance();
        });
      });
      return;
    }
    record_.emplace();
    record_->pushes = *std::move(pushes);
    record_->stop = options_.stop != nullptr && options_.stop->load();
    start_ = now;
    Step();
  }
}

void WeightSlice::LogNews() const {
  if (state_->coder() == nullptr) return;
  for (const std::string& line : state_->coder()->news()) {
    LOG(INFO) << options_.name << ", iteration "
              << state_->progress().version - 1 << ": " << line;
  }
}

void WeightSlice::Step() {
  absl::StatusOr<std::vector<Squares>> squares = state_->Apply(*record_);
  if (!squares.ok()) {
    FailNow(Annotate(
        squares.status(),
        absl::StrCat(options_.name, ", update ", state_->progress().version)));
    return;
  }
  if (!squares->empty()) {
    const SquaresRound round = {state_->progress().version,
                                static_cast<int>(record_->totals.size())};
    exchange_->Add(round, options_.number, *std::move(squares),
                   [this](const absl::StatusOr<SquaresTotals>& totals) {
                     executor_.Post([this, totals] { HandleTotals(totals); });
                   });
    return;
  }
  if (log_ != nullptr) {
    const absl::Status logged = log_->AppendUpdate(
        options_.name, state_->progress().version - 1, *record_);
    if (!logged.ok()) {
      FailNow(logged);
      return;
    }
  }
  for (const std::string& line : state_->unusual()) {
    if (options_.about_pushes == nullptr) break;
    options_.about_pushes->Log(
        line, [](const std::string& text) { LOG(WARNING) << text; });
  }
  LogNews();
  const absl::Time end = clock_->Now();
  for (WorkerPush& push : record_->pushes) {
    // The payloads are released before the answers, so that workers have their
    // credit back when they receive them.
    push.payload = ReceivedPayload();
    workers_[push.rank].start = start_;
    workers_[push.rank].end = end;
  }
  record_.reset();
  {
    MutexLock lock(&mu_);
    version_ = state_->progress().version;
    admission_->Applied(state_->progress());
  }
  // A restarted worker may need the positions of the last update while the next
  // leader has already pushed.
  positions_.ForgetBefore(state_->progress().version - 1);
  AnswerPushes();
  AnswerWithAll();
}

void WeightSlice::HandleTotals(const absl::StatusOr<SquaresTotals>& totals) {
  if (!failure_.ok()) return;
  if (!totals.ok()) {
    FailNow(totals.status());
    return;
  }
  record_->totals.push_back(*totals);
  Step();
  Advance();
}

absl::StatusOr<WeightAnswer> WeightSlice::AnswerTo(int rank,
                                                   int64_t base_version) {
  absl::StatusOr<WeightAnswer> answer = state_->Answer(rank, base_version);
  if (answer.ok()) {
    const Worker& worker = workers_[rank];
    // The time of the worker's own update does not count as waiting.
    answer->complete = worker.start + (clock_->Now() - worker.end);
  }
  return answer;
}

void WeightSlice::AnswerPushes() {
  std::vector<int> ranks;
  {
    MutexLock lock(&mu_);
    for (size_t i = 0; i < workers_.size(); ++i) {
      const int rank = static_cast<int>(i);
      if (workers_[rank].done == nullptr) continue;
      if (admission_->MayAnswer(rank)) ranks.push_back(rank);
    }
  }
  for (const int rank : ranks) {
    PushDone done;
    done.swap(workers_[rank].done);
    done(AnswerTo(rank, workers_[rank].base_version));
  }
}

void WeightSlice::AnswerWithAll() {
  std::vector<Waiting> with_all;
  {
    MutexLock lock(&mu_);
    const auto wait = std::stable_partition(
        pulls_.begin(), pulls_.end(),
        [this](const Waiting& pull) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
          return !admission_->MayPull(pull.iterations);
        });
    with_all.assign(std::make_move_iterator(wait),
                    std::make_move_iterator(pulls_.end()));
    pulls_.erase(wait, pulls_.end());
  }
  // Late pushes wait for the newer weights of the current update.
  if (!record_.has_value()) {
    std::move(late_.begin(), late_.end(), std::back_inserter(with_all));
    late_.clear();
  }
  if (with_all.empty()) return;
  absl::StatusOr<WeightAnswer> answer = state_->AnswerWithAll();
  answer->complete = start_;
  for (const Waiting& call : with_all) {
    answer->dropped = call.dropped;
    call.done(answer);
  }
}

void WeightSlice::Fail(const absl::Status& failure) {
  executor_.Post([this, failure] { FailNow(failure); });
}

void WeightSlice::FailNow(const absl::Status& failure) {
  failure_ = failure;
  record_.reset();
  std::vector<PushDone> calls;
  for (Worker& worker : workers_) {
    if (worker.done != nullptr) calls.push_back(std::move(worker.done));
    worker.done = nullptr;
  }
  positions_.Fail(failure);
  for (std::vector<Waiting>* waiting : {&late_, &pulls_}) {
    for (Waiting& call : *waiting) calls.push_back(std::move(call.done));
    waiting->clear();
  }
  for (const PushDone& call : calls) call(failure);
}

int64_t WeightSlice::version() const {
  MutexLock lock(&mu_);
  return version_;
}

std::set<int> WeightSlice::AwaitedRanks() const {
  MutexLock lock(&mu_);
  if (version_ >= 0) return admission_->AwaitedRanks();
  std::set<int> all;
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    all.insert(static_cast<int>(rank));
  }
  return all;
}

}  // namespace ps
