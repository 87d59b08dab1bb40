#include "tests/simulation/network.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "server/listener.h"
#include "server/server_calls.h"
#include "transport/grpc_server_channel.h"
#include "transport/server_channel.h"

namespace ps {
namespace sim {
namespace {

// gRPC's keepalive: 10 s without a sign of life, 5 s for one.
constexpr absl::Duration kKeepalive = absl::Seconds(15);
constexpr absl::Duration kFarewell = absl::Seconds(5);
constexpr int kAttending = -1;

class SimChannel;
class SimListener;

// One call, shared by both ends and by what is under way.
struct WireCall {
  int64_t number = 0;
  Rpc rpc = Rpc::kGetStatus;
  Process* client = nullptr;
  SimChannel* channel = nullptr;
  int connection = 0;
  std::string address;
  // The client's end: whether it still waits, and what it is told, in order.
  bool open = true;
  std::deque<std::function<void()>> told;
  bool telling = false;
  ServerChannel::Done done;
  AttendHandler attend;
  bool is_attend = false;
  bool answered = false;  // The answer is on its way.
  // The server's end.
  Process* server = nullptr;
  SimListener* listener = nullptr;
  std::shared_ptr<HeldCall> held;
  std::shared_ptr<AttendCall> attending;
  bool over = false;  // The server has answered, or its client has left.
};
using CallPtr = std::shared_ptr<WireCall>;

struct Network {
  NetworkFaults faults;
  SimThread* wire = nullptr;
  std::multimap<absl::Time, std::function<void()>> events;
  std::map<std::string, SimListener*> listeners;
  std::map<int64_t, CallPtr> calls;  // That are not over at both ends.
  std::map<std::pair<int, int>, absl::Time> cuts;
  std::map<int, absl::Time> lost;
  int64_t num_calls = 0;
  std::function<void(const ServerCalls&, int64_t)> message_comes;
};

Network* network = nullptr;

// For the story; null for calls that a job makes all the time.
const char* NameOf(Rpc rpc) {
  switch (rpc) {
    case Rpc::kRegister:
      return "Register";
    case Rpc::kFindSnapshots:
      return "FindSnapshots";
    case Rpc::kRestore:
      return "Restore";
    case Rpc::kSaveSnapshot:
      return "SaveSnapshot";
    case Rpc::kStop:
      return "Stop";
    case Rpc::kFinish:
      return "Finish";
    default:
      return nullptr;
  }
}

int HostOf(const std::string& address) {
  int port = 0;
  CHECK(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port - kFirstPort;
}

void At(absl::Time time, std::function<void()> event) {
  network->events.emplace(time, std::move(event));
  Wake(network->wire);
}

void RunWire() {
  for (;;) {
    if (network->events.empty() || network->events.begin()->first > Now()) {
      Block("messages", network->events.empty()
                            ? Now() + absl::Hours(1)
                            : network->events.begin()->first);
      continue;
    }
    const auto event = std::move(network->events.begin()->second);
    network->events.erase(network->events.begin());
    event();
  }
}

// gRPC's threads of a process.
void RunNetThread(Process* process) {
  for (;;) {
    if (process->inbox.empty()) {
      Block("calls");
      continue;
    }
    const auto work = std::move(process->inbox.front());
    process->inbox.pop_front();
    ++process->net_busy;
    Operate(Op::kMessage);
    work();
    --process->net_busy;
  }
}

void Post(Process* process, std::function<void()> work) {
  if (process == nullptr || process->dead) return;
  if (process->net_threads.empty()) {
    for (int i = 0; i < 2; ++i) {
      process->net_threads.push_back(
          StartThread(process, "grpc", [process] { RunNetThread(process); }));
    }
  }
  process->inbox.push_back(std::move(work));
  for (SimThread* const thread : process->net_threads) Wake(thread);
}

absl::Duration Delay() {
  if (Chance(network->faults.slow_rate)) {
    return absl::Milliseconds(500) * Uniform(0.01, 1);
  }
  return absl::Microseconds(Uniform(50, 1500));
}

// When what is sent now from one host to another begins its way.
absl::Time Departure(int from, int to) {
  absl::Time time = Now();
  const auto cut = network->cuts.find({std::min(from, to), std::max(from, to)});
  if (cut != network->cuts.end()) time = std::max(time, cut->second);
  return time;
}

class SimChannel final : public ServerChannel {
 public:
  explicit SimChannel(const ServerChannelOptions& options)
      : address_(options.address), process_(sim::Current()) {}

  void Open(int connection) override {
    Break(connection, absl::CancelledError("the connection was replaced"));
  }

  void Start(const RpcRequest& request, Done done) override;
  void Attend(const AttendRequest& request, absl::Duration timeout,
              AttendHandler handler) override;
  void Close(absl::Duration timeout) override;

  void Break(int connection, const absl::Status& why);

  bool closed() const { return closed_; }
  void CallEnded() {
    --num_open_;
    if (closer_ != nullptr) sim::Wake(closer_);
  }

 private:
  CallPtr NewCall(Rpc rpc, int connection, absl::Duration timeout);
  // Calls at(listener) on a thread of the server.
  void Deliver(const CallPtr& call,
               std::function<void(SimListener* listener)> at);

  const std::string address_;
  Process* const process_;
  int num_open_ = 0;
  bool closing_ = false;
  bool closed_ = false;
  SimThread* closer_ = nullptr;
};

class SimListener final : public Listener {
 public:
  explicit SimListener(const ListenerOptions& options)
      : options_(options), process_(sim::Current()) {}
  ~SimListener() override { Shutdown(); }

  absl::Status Listen(ServerCalls* calls) override {
    SimListener*& there = network->listeners[options_.address];
    if (there != nullptr) {
      return absl::UnavailableError("the address is in use");
    }
    there = this;
    calls_ = calls;
    return absl::OkStatus();
  }
  std::string address() const override { return options_.address; }
  void Know(const std::string&) override {}
  void SetQuota(int64_t) override {}
  void Shutdown() override;

  ServerCalls* calls() const { return calls_; }
  Process* process() const { return process_; }

  void Comes(const grpc::ByteBuffer& message) {
    if (network->message_comes) network->message_comes(*calls_, largest_);
    largest_ = std::max(largest_, static_cast<int64_t>(message.Length()));
  }

 private:
  const ListenerOptions options_;
  Process* const process_;
  ServerCalls* calls_ = nullptr;
  int64_t largest_ = 0;  // Bytes of a message.
};

// What the client is told, on one of its threads, one after the other.
void Tell(const CallPtr& call, std::function<void()> what) {
  call->told.push_back(std::move(what));
  Post(call->client, [call] {
    if (call->telling) return;
    call->telling = true;
    while (!call->told.empty()) {
      const auto next = std::move(call->told.front());
      call->told.pop_front();
      if (!call->channel->closed()) next();
    }
    call->telling = false;
  });
}

// Its last word to the client.
void EndAtClient(const CallPtr& call, absl::StatusOr<grpc::ByteBuffer> result) {
  if (!call->open) return;
  call->open = false;
  Tell(call, [call, result = std::move(result)] {
    if (Tracing() && !call->is_attend && NameOf(call->rpc) != nullptr) {
      Trace(absl::StrCat(NameOf(call->rpc), " at ", call->address, ": ",
                         result.status().ToString()));
    }
    if (call->is_attend) {
      call->attend.closed(result.status());
    } else {
      call->done(result);
    }
    call->channel->CallEnded();
  });
  if (call->over) network->calls.erase(call->number);
}

// The server learns that the client has left.
void EndAtServer(const CallPtr& call) {
  if (call->over) return;
  call->over = true;
  if (!call->open) network->calls.erase(call->number);
  if (call->server == nullptr) return;
  Post(call->server, [call] {
    if (call->attending != nullptr && call->listener->calls() != nullptr) {
      call->attending->Cancel();
    }
    if (call->held != nullptr) {
      call->held->Cancel();
      call->held->Done();
    }
  });
}

void BreakCall(const CallPtr& call, const absl::Status& why) {
  EndAtServer(call);
  EndAtClient(call, why);
}

std::vector<CallPtr> CallsWhere(
    const std::function<bool(const WireCall&)>& is) {
  std::vector<CallPtr> calls;
  for (const auto& [number, call] : network->calls) {
    if (is(*call)) calls.push_back(call);
  }
  return calls;
}

CallPtr SimChannel::NewCall(Rpc rpc, int connection, absl::Duration timeout) {
  auto call = std::make_shared<WireCall>();
  call->number = network->num_calls++;
  call->rpc = rpc;
  call->client = process_;
  call->channel = this;
  call->connection = connection;
  call->address = address_;
  network->calls[call->number] = call;
  ++num_open_;
  At(Now() + timeout, [weak = std::weak_ptr<WireCall>(call)] {
    const CallPtr late = weak.lock();
    if (late == nullptr || !late->open) return;
    BreakCall(late, absl::DeadlineExceededError("Deadline Exceeded"));
  });
  return call;
}

void SimChannel::Deliver(const CallPtr& call,
                         std::function<void(SimListener*)> at) {
  const auto arrive = [call, at = std::move(at)] {
    if (!call->open) return;
    const auto found = network->listeners.find(call->address);
    if (found == network->listeners.end()) {
      BreakCall(call, absl::UnavailableError("failed to connect"));
      return;
    }
    SimListener* const listener = found->second;
    call->server = listener->process();
    call->listener = listener;
    Post(call->server, [call, at, listener] {
      if (call->over) return;
      if (listener->calls() == nullptr) {
        BreakCall(call, absl::UnavailableError("the server is shutting down"));
        return;
      }
      at(listener);
    });
  };
  const int host = HostOf(address_);
  const absl::Time departure = Departure(process_->host, host);
  if (LostUntil(host) > Now() || departure > Now() + kKeepalive) {
    At(Now() + kKeepalive, [call] {
      if (call->open) {
        BreakCall(call, absl::UnavailableError("connect timed out"));
      }
    });
    return;
  }
  At(departure + Delay(), arrive);
}

void SimChannel::Start(const RpcRequest& request, Done done) {
  Operate(Op::kMessage);
  if (closing_) return;
  const CallPtr call =
      NewCall(request.rpc, request.connection, request.timeout);
  call->done = std::move(done);
  Deliver(call, [call, message = request.message](SimListener* listener) {
    Caller caller;
    caller.peer = "sim:" + call->client->name;
    listener->Comes(message);
    auto held = listener->calls()->Call(
        call->rpc, caller, message,
        [call](const absl::StatusOr<grpc::ByteBuffer>& answer) {
          if (call->over) return;
          Operate(Op::kMessage);
          if (call->over) return;
          call->over = true;
          call->answered = true;
          if (call->held != nullptr) {
            Post(call->server, [call] { call->held->Done(); });
          }
          const bool half = Chance(network->faults.half_rate);
          At(Departure(call->server->host, call->client->host) + Delay(),
             [call, half, answer] {
               if (half) {
                 call->channel->Break(call->connection,
                                      absl::UnavailableError("broken"));
               }
               EndAtClient(call,
                           half ? absl::UnavailableError("broken") : answer);
             });
        });
    call->held = std::move(held);
    if (call->answered) call->held->Done();
    // Its client may have left while the call was handled.
    if (call->over && !call->answered) {
      call->held->Cancel();
      call->held->Done();
    }
  });
}

void SimChannel::Attend(const AttendRequest& request, absl::Duration timeout,
                        AttendHandler handler) {
  Operate(Op::kMessage);
  Break(kAttending, absl::CancelledError("attends again"));
  if (closing_) return;
  const CallPtr call = NewCall(Rpc::kGetStatus, kAttending, timeout);
  call->is_attend = true;
  call->attend = std::move(handler);
  Deliver(call, [call, request](SimListener* listener) {
    Caller caller;
    caller.peer = "sim:" + call->client->name;
    AttendAnswer answer;
    // Both arrive in order.
    const auto arrival = std::make_shared<absl::Time>();
    const auto send = [call, arrival](std::function<void()> what) {
      *arrival =
          std::max(*arrival + absl::Nanoseconds(1),
                   Departure(call->server->host, call->client->host) + Delay());
      At(*arrival, std::move(what));
    };
    answer.accept = [call, send] {
      send([call] {
        if (call->open) Tell(call, call->attend.accepted);
      });
    };
    answer.close = [call, send](const AttendEvent* event,
                                const absl::Status& status) {
      if (call->over) return;
      call->over = true;
      call->answered = true;
      std::optional<AttendEvent> sent;
      if (event != nullptr) sent = *event;
      send([call, sent, status] {
        if (!call->open) return;
        if (sent.has_value()) {
          Tell(call, [call, sent] { call->attend.event(*sent); });
        }
        if (status.ok()) {
          EndAtClient(call, grpc::ByteBuffer());
        } else {
          EndAtClient(call, status);
        }
      });
    };
    call->attending = listener->calls()->Attend(caller, request, answer);
    if (call->over && !call->answered) call->attending->Cancel();
  });
}

void SimChannel::Break(int connection, const absl::Status& why) {
  for (const CallPtr& call : CallsWhere([&](const WireCall& each) {
         return each.channel == this &&
                (each.connection == connection ||
                 (connection == 0 && each.connection == kAttending));
       })) {
    BreakCall(call, why);
  }
}

void SimChannel::Close(absl::Duration timeout) {
  Operate(Op::kMessage);
  closing_ = true;
  for (const CallPtr& call :
       CallsWhere([&](const WireCall& each) { return each.channel == this; })) {
    BreakCall(call, absl::CancelledError("the channel closes"));
  }
  closer_ = Self();
  const absl::Time deadline = Now() + timeout;
  while (num_open_ > 0 && Now() < deadline) Block("calls to end", deadline);
  closer_ = nullptr;
  closed_ = true;
}

void SimListener::Shutdown() {
  if (calls_ == nullptr) return;
  network->listeners.erase(options_.address);
  const absl::Time deadline = Now() + kFarewell;
  const auto mine = [this](const WireCall& call) {
    return call.listener == this && !call.over;
  };
  while (!CallsWhere(mine).empty() && Now() < deadline) {
    Block("calls to end", Now() + absl::Milliseconds(1));
  }
  for (const CallPtr& call : CallsWhere(mine)) {
    BreakCall(call, absl::UnavailableError("the server has shut down"));
  }
  // Those that were cancelled.
  while (!process_->inbox.empty() || process_->net_busy > 0) {
    Block("the last calls", Now() + absl::Milliseconds(1));
  }
  calls_ = nullptr;
}

void ProcessEnded(Process* process) {
  for (auto it = network->listeners.begin(); it != network->listeners.end();) {
    it = it->second->process() == process ? network->listeners.erase(it)
                                          : std::next(it);
  }
  const bool host_lost = LostUntil(process->host) > Now();
  for (const CallPtr& call : CallsWhere([&](const WireCall& each) {
         return each.client == process || each.server == process;
       })) {
    if (call->client == process) call->open = false;
    if (call->server == process) call->over = true;
    // What the kernel has taken may still arrive, and does if the process has
    // ended by itself.
    if (call->answered && (process->exit_code >= 0 || Chance(0.5))) continue;
    At(Now() + (host_lost ? kKeepalive : Delay()), [call] {
      EndAtServer(call);
      EndAtClient(call, absl::UnavailableError("Socket closed"));
    });
  }
}

}  // namespace

void StartNetwork() {
  network = new Network;
  network->wire = StartThread(nullptr, "wire", RunWire);
  OnEnd(ProcessEnded);
}

void SetFaults(const NetworkFaults& faults) { network->faults = faults; }

void OnMessage(std::function<void(const ServerCalls&, int64_t)> comes) {
  network->message_comes = std::move(comes);
}

void BreakLink(const Process* a, const Process* b) {
  for (const CallPtr& call : CallsWhere([&](const WireCall& each) {
         return (each.client == a && each.server == b) ||
                (each.client == b && each.server == a);
       })) {
    BreakCall(call, absl::UnavailableError("Connection reset by peer"));
  }
}

void CutHosts(int a, int b, absl::Time until) {
  absl::Time& cut = network->cuts[{std::min(a, b), std::max(a, b)}];
  cut = std::max(cut, until);
  At(Now() + kKeepalive, [a, b, until] {
    if (Now() >= until) return;
    for (const CallPtr& call : CallsWhere([&](const WireCall& each) {
           return each.server != nullptr &&
                  ((each.client->host == a && each.server->host == b) ||
                   (each.client->host == b && each.server->host == a));
         })) {
      BreakCall(call, absl::UnavailableError("keepalive watchdog timeout"));
    }
  });
}

void LoseHost(int host, absl::Time until) { network->lost[host] = until; }

absl::Time LostUntil(int host) {
  const auto lost = network->lost.find(host);
  return lost == network->lost.end() ? absl::InfinitePast() : lost->second;
}

}  // namespace sim

std::unique_ptr<Listener> Listener::New(const ListenerOptions& options) {
  return std::make_unique<sim::SimListener>(options);
}

std::unique_ptr<ServerChannel> NewGrpcServerChannel(
    const ServerChannelOptions& options) {
  return std::make_unique<sim::SimChannel>(options);
}

}  // namespace ps
