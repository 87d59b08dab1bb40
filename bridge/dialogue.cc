#include "bridge/dialogue.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "bridge/messages.h"
#include "bridge/session.h"
#include "bridge/shared_block.h"
#include "common/consistency.h"
#include "common/external_model.h"
#include "common/metric.h"
#include "common/status_macros.h"
#include "common/thread.h"
#include "common/unique_fd.h"
#include "glog/logging.h"
#include "transport/interruption.h"

namespace ps {
namespace {

// Interrupts the session when the training process hangs up or ends.
class ProcessWatch {
 public:
  ProcessWatch(int socket, int process, Interruption* interruption)
      : socket_(socket),
        process_(process),
        interruption_(interruption),
        end_(eventfd(0, EFD_CLOEXEC)),
        thread_("watch", [this] { Watch(); }) {}

  ~ProcessWatch() {
    eventfd_write(end_.get(), 1);
    thread_.Join();
  }
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

 private:
  void Watch() {
    pollfd watched[] = {{end_.get(), POLLIN, 0},
                        {process_, POLLIN, 0},
                        // Not when there is something to read.
                        {socket_, POLLRDHUP, 0}};
    int count;
    do {
      count = poll(watched, std::size(watched), /*timeout=*/-1);
    } while (count < 0 && errno == EINTR);
    if (watched[0].revents != 0) return;
    interruption_->Interrupt(
        absl::CancelledError("the training process has hung up"));
    // Its children may hold the socket open.
    if (watched[1].revents != 0) shutdown(socket_, SHUT_RDWR);
  }

  const int socket_;
  const int process_;
  Interruption* const interruption_;
  const UniqueFd end_;
  Thread thread_;
};

class Dialogue {
 public:
  explicit Dialogue(const DialogueOptions& options)
      : options_(options),
        failure_(options.config.status()),
        watch_(options.socket, options.process, &interruption_) {}

  absl::Status Run();

 private:
  // Does what the message asks for, and fills in the answer.
  absl::Status Do(BridgeMessage* message, BridgeMessage* answer);
  absl::Status Open(BridgeMessage* message, BridgeMessage* answer);
  // Keeps the first error, and tells the servers of it.
  void Fail(const absl::Status& failure);
  // Tells the servers that do not know that the job has failed, once.
  void GiveUp(const std::string& why);

  const DialogueOptions options_;
  absl::Status failure_;
  bool told_ = false;
  bool finished_ = false;
  Interruption interruption_;
  std::vector<std::string> same_;  // Of SAME.
  std::unique_ptr<SharedBlock> block_;
  std::unique_ptr<BridgeSession> session_;
  ProcessWatch watch_;
};

// No session's state is larger: compressors keep a few floats for each element.
constexpr int64_t kStateBytesOfElement = 64;
constexpr int64_t kStateBytes = 64 << 20;

bool IsAnswered(BridgeOp op) {
  return op != BridgeOp::kSame && op != BridgeOp::kBegin &&
         op != BridgeOp::kReady && op != BridgeOp::kMetrics;
}

std::string JobText(const JobConfig& job) {
  const ClusterConfig& cluster = job.cluster();
  return absl::StrCat(
      "mode ", AnswersMeans(job) ? "exchange" : "delta", "\nlocal_steps ",
      job.consistency().local_steps(), "\nanswer_delay ",
      job.consistency().answer_delay(), "\nanswer_weight ",
      job.consistency().answer_weight(), "\nsynchronous ",
      WorkersDrift(job) ? 0 : 1, "\nnum_servers ",
      cluster.has_num_servers() ? cluster.num_servers() : 0,
      "\nstartup_timeout_seconds ", cluster.startup_timeout_seconds(),
      "\nname ", job.name(), "\n");
}

std::string StatsText(const PushRecords& records, int num_workers,
                      double residual_norm) {
  const RunTotals& totals = records.totals();
  const Timings& timings = records.timings();
  return absl::StrCat(
      "steps ", records.num_pushes(), "\nbytes_up ", totals.bytes_up,
      "\nbytes_down ", totals.bytes_down / num_workers, "\ncompress_seconds ",
      timings.compress, "\nawait_seconds ", timings.await, "\napply_seconds ",
      timings.apply, "\nresidual_norm ", residual_norm, "\n");
}

// Reads the text of METRICS.
absl::StatusOr<std::vector<Metric>> ParseMetrics(absl::string_view text) {
  std::vector<Metric> metrics;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    Metric metric;
    metric.name = std::string(parts.first);
    if (metric.name.empty() || !absl::c_all_of(metric.name, [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
        })) {
      return absl::InvalidArgumentError(
          absl::StrCat("a metric is called \"", metric.name,
                       "\"; must be letters, digits and underscores"));
    }
    if (!absl::SimpleAtod(parts.second, &metric.value)) {
      return absl::InvalidArgumentError(absl::StrCat("the metric ", metric.name,
                                                     " is \"", parts.second,
                                                     "\"; must be a number"));
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

absl::Status Dialogue::Open(BridgeMessage* message, BridgeMessage* answer) {
  if (session_ != nullptr) {
    return absl::FailedPreconditionError("OPEN came twice");
  }
  if (message->fd.get() < 0) {
    return absl::InvalidArgumentError("OPEN came without the shared block");
  }
  PS_ASSIGN_OR_RETURN(block_, SharedBlock::Map(std::move(message->fd)));
  BridgeSessionOptions session;
  session.config = &*options_.config;
  session.worker_rank = options_.worker_rank;
  session.incarnation = options_.incarnation;
  session.name = options_.name;
  session.parameters = block_->tensors();
  session.same = same_;
  session.staggered = message->a != 0;
  session.run_directory = options_.run_directory;
  session.observers = options_.observers;
  session.in = block_->in();
  session.out = block_->out();
  session.interruption = &interruption_;
  PS_ASSIGN_OR_RETURN(session_, BridgeSession::Open(session));
  const std::vector<Bucket>& buckets = session_->buckets();
  size_t bucket = 0;
  for (size_t t = session.parameters.size(); t-- > 0;) {
    if (session.parameters[t].offset < buckets[bucket].begin) ++bucket;
    block_->SetBucket(t, static_cast<int>(bucket));
  }
  answer->b = static_cast<int64_t>(buckets.size());
  return absl::OkStatus();
}

absl::Status Dialogue::Do(BridgeMessage* message, BridgeMessage* answer) {
  if (message->op == BridgeOp::kJob) {
    if (!HasExternalModel(*options_.config)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "model.name is \"", options_.config->model().name(),
          "\"; the job of a program of yours needs model { name: \"external\" "
          "}"));
    }
    answer->b = options_.config->cluster().num_workers();
    answer->c = options_.config->cluster().servers_size();
    answer->text = JobText(*options_.config);
    return absl::OkStatus();
  }
  if (message->op == BridgeOp::kSame) {
    same_.push_back(message->text);
    return absl::OkStatus();
  }
  if (message->op == BridgeOp::kOpen) return Open(message, answer);
  if (session_ == nullptr) {
    // Nobody knows of this worker yet.
    if (message->op == BridgeOp::kFinish) return absl::OkStatus();
    return absl::FailedPreconditionError("OPEN must come first");
  }
  switch (message->op) {
    case BridgeOp::kJob:
    case BridgeOp::kSame:
    case BridgeOp::kOpen:
    case BridgeOp::kAbort:
      break;
    case BridgeOp::kFirst:
      return session_->SetFirstWeights();
    case BridgeOp::kPull:
      return session_->Pull();
    case BridgeOp::kBegin:
      return session_->BeginPush(
          message->a == 0 ? std::nullopt : std::optional<double>(message->c),
          message->b);
    case BridgeOp::kReady:
      return session_->Ready(message->a);
    case BridgeOp::kWait:
      PS_RETURN_IF_ERROR(session_->AwaitPush());
      answer->b = session_->records().num_pushes();
      return absl::OkStatus();
    case BridgeOp::kServers:
      return session_->ReadServersWeights();
    case BridgeOp::kAverage: {
      if (message->text.size() % sizeof(float) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("AVERAGE has ", message->text.size(),
                         " bytes; must be whole numbers of 4 bytes each"));
      }
      std::vector<float> values(message->text.size() / sizeof(float));
      // There may be none, for which memcpy would not do.
      std::copy(message->text.begin(), message->text.end(),
                reinterpret_cast<char*>(values.data()));
      PS_RETURN_IF_ERROR(session_->Average(&values));
      answer->text.assign(reinterpret_cast<const char*>(values.data()),
                          values.size() * sizeof(float));
      return absl::OkStatus();
    }
    case BridgeOp::kStats: {
      PS_ASSIGN_OR_RETURN(const double norm, session_->ResidualNorm());
      answer->text = StatsText(session_->records(),
                               options_.config->cluster().num_workers(), norm);
      return absl::OkStatus();
    }
    case BridgeOp::kSave: {
      PS_ASSIGN_OR_RETURN(const std::string state, session_->SaveState());
      answer->b = static_cast<int64_t>(state.size());
      return WriteMemfd(state, message->fd);
    }
    case BridgeOp::kLoad: {
      PS_ASSIGN_OR_RETURN(
          const std::string state,
          ReadMemfd(message->fd, kStateBytes + kStateBytesOfElement *
                                                   block_->num_elements()));
      return session_->LoadState(state);
    }
    case BridgeOp::kMetrics: {
      PS_ASSIGN_OR_RETURN(const std::vector<Metric> metrics,
                          ParseMetrics(message->text));
      session_->Evaluated(metrics);
      return absl::OkStatus();
    }
    case BridgeOp::kFinish:
      return session_->Finish();
  }
  return absl::InternalError("an op that is handled elsewhere");
}

void Dialogue::GiveUp(const std::string& why) {
  if (session_ == nullptr || told_) return;
  session_->GiveUp(absl::UnavailableError(why));
  told_ = true;
}

void Dialogue::Fail(const absl::Status& failure) {
  if (!failure_.ok()) return;
  failure_ = failure;
  // The reason is in the next message, or the process has ended.
  if (!interruption_.why().ok()) return;
  LOG(ERROR) << "worker " << options_.worker_rank << ": " << failure.message();
  GiveUp(std::string(failure.message()));
}

absl::Status Dialogue::Run() {
  for (;;) {
    absl::StatusOr<std::optional<BridgeMessage>> received =
        ReceiveBridgeMessage(options_.socket);
    if (absl::IsUnavailable(received.status()) ||
        (received.ok() && !received->has_value())) {
      constexpr char kEnded[] = "its training process has ended";
      LOG_IF(WARNING, failure_.ok())
          << "worker " << options_.worker_rank << ": " << kEnded;
      GiveUp(kEnded);
      if (!failure_.ok() && interruption_.why().ok()) return failure_;
      return absl::UnavailableError(kEnded);
    }
    BridgeMessage answer;
    bool ends = false;
    if (!received.ok()) {
      Fail(received.status());
    } else {
      BridgeMessage& message = **received;
      answer.op = message.op;
      if (message.op == BridgeOp::kAbort) {
        LOG_IF(ERROR, failure_.ok() || !interruption_.why().ok())
            << "worker " << options_.worker_rank << ": " << message.text;
        GiveUp(message.text);
        failure_ = absl::UnavailableError(message.text);
        ends = true;
      } else if (failure_.ok()) {
        const absl::Status done = Do(&message, &answer);
        if (!done.ok()) Fail(done);
        finished_ = done.ok() && message.op == BridgeOp::kFinish;
      }
      if (!IsAnswered(message.op)) continue;
    }
    if (!failure_.ok() && !ends) {
      answer.a = static_cast<int>(failure_.code());
      answer.b = 0;
      answer.text = std::string(failure_.message());
    }
    const absl::Status sent = SendBridgeMessage(options_.socket, answer);
    if (finished_) return absl::OkStatus();
    if (ends) return failure_;
    // The next message says that the process has ended.
    LOG_IF(WARNING, !sent.ok()) << sent;
  }
}

}  // namespace

absl::Status Converse(const DialogueOptions& options) {
  return Dialogue(options).Run();
}

}  // namespace ps
