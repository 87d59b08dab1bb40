#include "tools/advise/exchange_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>

#include "common/random.h"

namespace ps {
namespace {

// A burst passes at this many times the rate of its link.
constexpr double kBurstSpeed = 100;
// Fewer bytes than this count as none, so that rounding causes no events.
constexpr double kNoBytes = 1e-3;
constexpr double kNoSeconds = 1e-12;
// Iterations that are simulated, and how many of them settle.
constexpr int kIterations = 7;
constexpr int kSettling = 3;

// One direction of one host's link.
struct Link {
  double bytes_per_second = 0;
  double burst_bytes = 0;
  double tokens = 0;  // Bytes that may still pass at once.
  double used = 0;    // Current rate.
  double weight = 0;  // Of the flows whose rate is not known yet.

  double capacity() const {
    return bytes_per_second * (tokens > kNoBytes ? kBurstSpeed : 1);
  }
};

struct Message {
  size_t slice = 0;
  double left_bytes = 0;
};

// One direction of one connection. The first message is on its way.
struct Flow {
  int worker = 0;
  bool up = false;
  double weight = 1;
  Link* links[2] = {};
  std::deque<Message> messages;
  double rate = 0;
};

class Simulation {
 public:
  Simulation(const Exchange& exchange, const ExchangeModelOptions& options,
             int draw);

  double Run();

 private:
  // The pushes of one worker to one server in this iteration.
  struct Window {
    size_t next = 0;  // Of the server's slices.
    int under_way = 0;
    double under_way_bytes = 0;
  };
  struct Worker {
    bool works() const { return iterations < kIterations && work_left > 0; }

    int iterations = 0;           // Done.
    double work_left = 0;         // Seconds at full speed, before it pushes.
    double start = 0;             // When it has its first slice.
    size_t unanswered = 0;        // Slices of this iteration.
    std::vector<Window> windows;  // By server.
  };

  Flow* FlowOf(bool up, int worker, const ExchangeSlice& slice) {
    const size_t hosts =
        static_cast<size_t>(worker) * exchange_.servers.size() + slice.server;
    return &flows_[(hosts * connections_ + slice.connection) * 2 +
                   (up ? 1 : 0)];
  }
  void StartIteration(Worker* worker, double work_seconds);
  // The speed of each worker at work; at most 1.
  double WorkSpeed() const;
  void Work(double seconds);
  void StartPushes();
  void ShareLinks();
  // The time until something changes; infinite if nothing will.
  double UntilNextEvent() const;
  void Advance(double seconds);
  void PushArrived(size_t slice);
  void AnswerArrived(int worker, size_t slice);

  const Exchange& exchange_;
  size_t connections_ = 1;
  std::vector<Link> links_;  // Up and down of each worker, then of each server.
  std::vector<Flow> flows_;
  std::vector<Worker> workers_;
  std::vector<std::vector<size_t>> slices_;  // By server, in order.
  std::vector<size_t> missing_;  // By slice: pushes that have not arrived.
  double now_ = 0;
  double next_ready_ = 0;     // When a worker has a further slice; or infinite.
  std::vector<double> ends_;  // By iteration: of the last worker.
};

Simulation::Simulation(const Exchange& exchange,
                       const ExchangeModelOptions& options, int draw)
    : exchange_(exchange) {
  for (const auto* hosts : {&exchange.workers, &exchange.servers}) {
    for (const HostLink& host : *hosts) {
      for (const double rate :
           {host.up_bytes_per_second, host.down_bytes_per_second}) {
        Link link;
        link.bytes_per_second = rate;
        link.burst_bytes = link.tokens = host.burst_bytes;
        links_.push_back(link);
      }
    }
  }
  slices_.resize(exchange.servers.size());
  for (size_t i = 0; i < exchange.slices.size(); ++i) {
    const ExchangeSlice& slice = exchange.slices[i];
    connections_ =
        std::max(connections_, static_cast<size_t>(slice.connection) + 1);
    slices_[slice.server].push_back(i);
  }
  workers_.resize(exchange.workers.size());
  for (Worker& worker : workers_) StartIteration(&worker, /*work_seconds=*/0);
  missing_.assign(exchange.slices.size(), exchange.workers.size());
  const size_t workers = exchange.workers.size();
  const size_t servers = exchange.servers.size();
  flows_.resize(workers * servers * connections_ * 2);
  RandomStream random(RandomKey(/*purpose=*/0x657863, draw));
  for (size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = flows_[i];
    const size_t worker = i / (2 * connections_ * servers);
    const size_t server = i / (2 * connections_) % servers;
    flow.worker = static_cast<int>(worker);
    flow.up = i % 2 == 1;
    flow.weight = std::exp(options.unevenness * random.Normal());
    flow.links[0] = &links_[2 * worker + (flow.up ? 0 : 1)];
    flow.links[1] = &links_[2 * (workers + server) + (flow.up ? 1 : 0)];
  }
}

void Simulation::StartIteration(Worker* worker, double work_seconds) {
  worker->work_left = work_seconds;
  worker->start = now_;
  worker->unanswered = exchange_.slices.size();
  worker->windows.assign(slices_.size(), Window());
}

double Simulation::WorkSpeed() const {
  const auto working =
      std::count_if(workers_.begin(), workers_.end(),
                    [](const Worker& worker) { return worker.works(); });
  return std::min(
      1.0, exchange_.processors / std::max(1.0, static_cast<double>(working)));
}

void Simulation::Work(double seconds) {
  const double done = seconds * WorkSpeed();
  for (Worker& worker : workers_) {
    if (!worker.works()) continue;
    worker.work_left -= done;
    if (worker.work_left > kNoSeconds) continue;
    worker.work_left = 0;
    worker.start = now_;
  }
}

void Simulation::StartPushes() {
  next_ready_ = std::numeric_limits<double>::infinity();
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.iterations == kIterations || worker.works()) continue;
    for (size_t server = 0; server < slices_.size(); ++server) {
      Window& window = worker.windows[server];
      for (; window.next < slices_[server].size(); ++window.next) {
        const size_t number = slices_[server][window.next];
        const ExchangeSlice& slice = exchange_.slices[number];
        const double ready = worker.start + slice.ready_seconds;
        if (ready > now_) {
          next_ready_ = std::min(next_ready_, ready);
          break;
        }
        const double bytes = window.under_way_bytes + slice.up_bytes;
        if (window.under_way > 0 && bytes > exchange_.credit_bytes) break;
        ++window.under_way;
        window.under_way_bytes = bytes;
        FlowOf(/*up=*/true, static_cast<int>(rank), slice)
            ->messages.push_back({number, slice.up_bytes});
      }
    }
  }
}

// Max-min fair shares: the link that offers least to each unit of weight sets
// the rates of its flows, and the others share what is left.
void Simulation::ShareLinks() {
  std::vector<Flow*> open;
  for (Link& link : links_) link.used = link.weight = 0;
  for (Flow& flow : flows_) {
    if (flow.messages.empty()) continue;
    open.push_back(&flow);
    for (Link* link : flow.links) link->weight += flow.weight;
  }
  while (!open.empty()) {
    double share = std::numeric_limits<double>::infinity();
    const Link* tightest = nullptr;
    for (const Flow* flow : open) {
      for (const Link* link : flow->links) {
        const double offered =
            std::max(0.0, link->capacity() - link->used) / link->weight;
        if (tightest != nullptr && offered >= share) continue;
        share = offered;
        tightest = link;
      }
    }
    std::vector<Flow*> rest;
    for (Flow* flow : open) {
      if (flow->links[0] != tightest && flow->links[1] != tightest) {
        rest.push_back(flow);
        continue;
      }
      flow->rate = share * flow->weight;
      for (Link* link : flow->links) {
        link->used += flow->rate;
        if (link != tightest) link->weight -= flow->weight;
      }
    }
    open = std::move(rest);
  }
}

double Simulation::UntilNextEvent() const {
  double seconds = next_ready_ - now_;
  const double speed = WorkSpeed();
  for (const Worker& worker : workers_) {
    if (worker.works()) seconds = std::min(seconds, worker.work_left / speed);
  }
  for (const Flow& flow : flows_) {
    if (flow.messages.empty()) continue;
    seconds = std::min(seconds, flow.messages.front().left_bytes / flow.rate);
  }
  for (const Link& link : links_) {
    const double emptying = link.used - link.bytes_per_second;
    if (link.tokens > kNoBytes && emptying > 0) {
      seconds = std::min(seconds, link.tokens / emptying);
    }
  }
  return seconds;
}

void Simulation::Advance(double seconds) {
  // Exactly, so that rounding does not leave a slice that is almost ready.
  now_ = seconds == next_ready_ - now_ ? next_ready_ : now_ + seconds;
  Work(seconds);
  for (Link& link : links_) {
    link.tokens += (link.bytes_per_second - link.used) * seconds;
    link.tokens = std::clamp(link.tokens, 0.0, link.burst_bytes);
  }
  std::vector<Flow*> arrived;
  for (Flow& flow : flows_) {
    if (flow.messages.empty()) continue;
    double* const left = &flow.messages.front().left_bytes;
    *left -= flow.rate * seconds;
    if (*left < kNoBytes) arrived.push_back(&flow);
  }
  for (Flow* flow : arrived) {
    const size_t slice = flow->messages.front().slice;
    flow->messages.pop_front();
    if (flow->up) {
      PushArrived(slice);
    } else {
      AnswerArrived(flow->worker, slice);
    }
  }
}

void Simulation::PushArrived(size_t slice) {
  if (--missing_[slice] > 0) return;
  missing_[slice] = workers_.size();  // Of the next iteration.
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    const ExchangeSlice& answered = exchange_.slices[slice];
    FlowOf(/*up=*/false, static_cast<int>(rank), answered)
        ->messages.push_back({slice, answered.down_bytes});
  }
}

void Simulation::AnswerArrived(int rank, size_t slice) {
  Worker& worker = workers_[rank];
  const ExchangeSlice& answered = exchange_.slices[slice];
  Window& window = worker.windows[answered.server];
  --window.under_way;
  window.under_way_bytes -= answered.up_bytes;
  if (--worker.unanswered > 0) return;
  ends_.resize(kIterations);
  ends_[worker.iterations++] = now_;
  StartIteration(&worker, exchange_.work_seconds);
}

double Simulation::Run() {
  if (exchange_.slices.empty()) return 0;
  for (;;) {
    StartPushes();
    ShareLinks();
    const double seconds = UntilNextEvent();
    if (std::isinf(seconds)) break;
    Advance(seconds);
  }
  return (ends_[kIterations - 1] - ends_[kSettling - 1]) /
         (kIterations - kSettling);
}

// `up`: pushes, otherwise answers.
double BusiestSeconds(const Exchange& exchange, bool up) {
  double busiest = 0;
  std::vector<double> server_bytes(exchange.servers.size());
  double worker_bytes = 0;  // The same for every worker.
  for (const ExchangeSlice& slice : exchange.slices) {
    const double bytes = up ? slice.up_bytes : slice.down_bytes;
    worker_bytes += bytes;
    server_bytes[slice.server] +=
        bytes * static_cast<double>(exchange.workers.size());
  }
  for (const HostLink& worker : exchange.workers) {
    busiest =
        std::max(busiest, worker_bytes / (up ? worker.up_bytes_per_second
                                             : worker.down_bytes_per_second));
  }
  for (size_t i = 0; i < server_bytes.size(); ++i) {
    const HostLink& server = exchange.servers[i];
    busiest =
        std::max(busiest, server_bytes[i] / (up ? server.down_bytes_per_second
                                                : server.up_bytes_per_second));
  }
  return busiest;
}

}  // namespace

double PredictIterationSeconds(const Exchange& exchange,
                               const ExchangeModelOptions& options) {
  double sum = 0;
  for (int draw = 0; draw < options.draws; ++draw) {
    sum += Simulation(exchange, options, draw).Run();
  }
  // A few iterations may live on bursts, but not all.
  return std::max({sum / options.draws, BusiestUpSeconds(exchange),
                   BusiestDownSeconds(exchange)});
}

double BusiestUpSeconds(const Exchange& exchange) {
  return BusiestSeconds(exchange, /*up=*/true);
}

double BusiestDownSeconds(const Exchange& exchange) {
  return BusiestSeconds(exchange, /*up=*/false);
}

}  // namespace ps
