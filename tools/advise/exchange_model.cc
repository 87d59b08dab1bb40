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
// Less than this counts as nothing, so that rounding causes no events.
constexpr double kNoBytes = 1e-3;
constexpr double kNoSeconds = 1e-12;
// Iterations that are simulated, and how many of them settle.
constexpr int kIterations = 7;
constexpr int kSettling = 3;

// One direction of one host's link, in bytes, or processors, in seconds of one
// processor.
struct Link {
  double per_second = 0;
  double burst_bytes = 0;
  double tokens = 0;  // Bytes that may still pass at once.
  double used = 0;    // Current rate.
  // Of the flows whose rate is not known yet.
  double weight = 0;
  int num_open = 0;

  double capacity() const {
    return per_second * (tokens > kNoBytes ? kBurstSpeed : 1);
  }
};

// A message, in bytes, or work, in seconds.
struct Piece {
  size_t slice = 0;
  double left = 0;
};

enum class FlowKind { kPush, kAnswer, kWork, kServerWork };

// One direction of one connection, a worker's work, or a thread of a server.
// The first piece is on its way.
struct Flow {
  // What a unit of the flow takes of a link.
  struct Use {
    Link* link = nullptr;
    double amount = 1;
  };

  // Nothing for a link without a limit.
  void AddUse(Link* link, double amount) {
    if (!std::isinf(link->per_second)) uses[num_uses++] = {link, amount};
  }
  bool uses_link(const Link* link) const {
    return std::any_of(uses, uses + num_uses,
                       [link](const Use& use) { return use.link == link; });
  }
  double nothing() const {
    return kind == FlowKind::kPush || kind == FlowKind::kAnswer ? kNoBytes
                                                                : kNoSeconds;
  }

  FlowKind kind = FlowKind::kWork;
  int worker = 0;
  double weight = 1;
  Use uses[4];
  int num_uses = 0;
  std::deque<Piece> pieces;
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
    int iterations = 0;           // Done.
    bool works = false;           // Before it has its first slice.
    double start = 0;             // When it has it.
    size_t unanswered = 0;        // Slices of this iteration.
    std::vector<Window> windows;  // By server.
  };

  int num_workers() const { return static_cast<int>(workers_.size()); }
  int num_servers() const { return static_cast<int>(slices_.size()); }
  Flow* FlowOf(FlowKind kind, int worker, const ExchangeSlice& slice) {
    const int hosts = worker * num_servers() + slice.server;
    return &flows_[(hosts * connections_ + slice.connection) * 2 +
                   (kind == FlowKind::kPush ? 1 : 0)];
  }
  Link* UpLink(int host) { return &links_[2 * host]; }
  Link* DownLink(int host) { return &links_[2 * host + 1]; }
  Link* Processors(int host) {
    return &processors_[exchange_.one_machine ? 0 : host];
  }
  void MakeLinks();
  void MakeMessageFlows(const ExchangeModelOptions& options, int draw);
  void MakeWorkFlows();
  void StartIteration(int rank, double work_seconds);
  void StartPushes();
  void ShareLinks();
  // The time until something changes; infinite if nothing will.
  double UntilNextEvent() const;
  void Advance(double seconds);
  void Done(const Flow& flow, size_t slice);
  void PushArrived(size_t slice);
  void SendAnswers(size_t slice);
  void AnswerArrived(int rank, size_t slice);

  const Exchange& exchange_;
  int connections_ = 1;
  std::vector<Link> links_;  // Up and down of each worker, then of each server.
  std::vector<Link> processors_;  // Of each worker, then of each server.
  Link places_;                   // Exchange::work_places.
  std::vector<Link> threads_;     // One for each worker and server thread.
  std::vector<Link*> all_links_;  // All of these.
  // Messages, then a flow for each worker's work, then the servers' threads.
  std::vector<Flow> flows_;
  size_t first_work_ = 0;
  size_t first_thread_ = 0;
  std::vector<Flow*> active_;  // Those with pieces.
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
  workers_.resize(exchange.workers.size());
  slices_.resize(exchange.servers.size());
  for (size_t i = 0; i < exchange.slices.size(); ++i) {
    const ExchangeSlice& slice = exchange.slices[i];
    connections_ = std::max(connections_, slice.connection + 1);
    slices_[slice.server].push_back(i);
  }
  missing_.assign(exchange.slices.size(), exchange.workers.size());
  MakeLinks();
  MakeMessageFlows(options, draw);
  MakeWorkFlows();
  for (int rank = 0; rank < num_workers(); ++rank) {
    StartIteration(rank, /*work_seconds=*/0);
  }
}

void Simulation::MakeLinks() {
  for (const auto* hosts : {&exchange_.workers, &exchange_.servers}) {
    for (const HostLink& host : *hosts) {
      for (const double rate :
           {host.up_bytes_per_second, host.down_bytes_per_second}) {
        Link link;
        link.per_second = rate;
        link.burst_bytes = link.tokens = host.burst_bytes;
        links_.push_back(link);
      }
    }
  }
  Link processors;
  processors.per_second = exchange_.processors;
  processors_.assign(links_.size() / 2, processors);
  places_.per_second = exchange_.work_places;
  Link thread;
  thread.per_second = 1;
  threads_.assign(
      workers_.size() +
          slices_.size() * static_cast<size_t>(exchange_.server_threads),
      thread);
  for (auto* links : {&links_, &processors_, &threads_}) {
    for (Link& link : *links) all_links_.push_back(&link);
  }
  all_links_.push_back(&places_);
}

void Simulation::MakeMessageFlows(const ExchangeModelOptions& options,
                                  int draw) {
  const double cost = exchange_.seconds_per_byte;
  RandomStream random(RandomKey(/*purpose=*/0x657863, draw));
  for (int worker = 0; worker < num_workers(); ++worker) {
    for (int server = 0; server < num_servers(); ++server) {
      for (int i = 0; i < 2 * connections_; ++i) {
        Flow flow;
        flow.worker = worker;
        flow.kind = i % 2 == 1 ? FlowKind::kPush : FlowKind::kAnswer;
        flow.weight = std::exp(options.unevenness * random.Normal());
        const int server_host = num_workers() + server;
        const double all = exchange_.workers_each;
        if (flow.kind == FlowKind::kPush) {
          flow.AddUse(UpLink(worker), 1);
          flow.AddUse(DownLink(server_host), all);
        } else {
          flow.AddUse(DownLink(worker), 1);
          flow.AddUse(UpLink(server_host), all);
        }
        if (cost > 0) {
          // Processors are shared by the second: a connection gets as much of
          // them as a thread.
          flow.weight /= cost;
          if (exchange_.one_machine) {
            flow.AddUse(Processors(server_host), 2 * all * cost);
          } else {
            flow.AddUse(Processors(worker), cost);
            flow.AddUse(Processors(server_host), all * cost);
          }
        }
        flows_.push_back(std::move(flow));
      }
    }
  }
}

void Simulation::MakeWorkFlows() {
  Link* thread = threads_.data();
  first_work_ = flows_.size();
  for (int worker = 0; worker < num_workers(); ++worker) {
    Flow flow;
    flow.worker = worker;
    flow.kind = FlowKind::kWork;
    flow.AddUse(thread++, 1);
    flow.AddUse(&places_, exchange_.workers_each);
    flow.AddUse(Processors(worker),
                exchange_.one_machine ? exchange_.workers_each : 1);
    flows_.push_back(std::move(flow));
  }
  first_thread_ = flows_.size();
  for (int server = 0; server < num_servers(); ++server) {
    for (int i = 0; i < exchange_.server_threads; ++i) {
      Flow flow;
      flow.kind = FlowKind::kServerWork;
      flow.AddUse(thread++, 1);
      flow.AddUse(Processors(num_workers() + server), 1);
      flows_.push_back(std::move(flow));
    }
  }
}

void Simulation::StartIteration(int rank, double work_seconds) {
  Worker& worker = workers_[rank];
  worker.start = now_;
  worker.unanswered = exchange_.slices.size();
  worker.windows.assign(slices_.size(), Window());
  worker.works = work_seconds > kNoSeconds && worker.iterations < kIterations;
  if (!worker.works) return;
  flows_[first_work_ + static_cast<size_t>(rank)].pieces.push_back(
      {/*slice=*/0, work_seconds});
}

void Simulation::StartPushes() {
  next_ready_ = std::numeric_limits<double>::infinity();
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    Worker& worker = workers_[rank];
    if (worker.iterations == kIterations || worker.works) continue;
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
        FlowOf(FlowKind::kPush, static_cast<int>(rank), slice)
            ->pieces.push_back({number, slice.up_bytes});
      }
    }
  }
}

// Max-min fair shares: the link that offers least to each unit of weight sets
// the rates of its flows, and the others share what is left.
void Simulation::ShareLinks() {
  for (Link* link : all_links_) {
    link->used = link->weight = 0;
    link->num_open = 0;
  }
  active_.clear();
  for (Flow& flow : flows_) {
    if (flow.pieces.empty()) continue;
    active_.push_back(&flow);
    for (int i = 0; i < flow.num_uses; ++i) {
      flow.uses[i].link->weight += flow.weight * flow.uses[i].amount;
      ++flow.uses[i].link->num_open;
    }
  }
  std::vector<Flow*> open = active_;
  while (!open.empty()) {
    double share = std::numeric_limits<double>::infinity();
    const Link* tightest = nullptr;
    for (const Link* link : all_links_) {
      if (link->num_open == 0) continue;
      const double offered =
          std::max(0.0, link->capacity() - link->used) / link->weight;
      if (tightest != nullptr && offered >= share) continue;
      share = offered;
      tightest = link;
    }
    std::vector<Flow*> rest;
    for (Flow* flow : open) {
      if (!flow->uses_link(tightest)) {
        rest.push_back(flow);
        continue;
      }
      flow->rate = share * flow->weight;
      for (int i = 0; i < flow->num_uses; ++i) {
        const Flow::Use& use = flow->uses[i];
        use.link->used += flow->rate * use.amount;
        --use.link->num_open;
        if (use.link != tightest) use.link->weight -= flow->weight * use.amount;
      }
    }
    open = std::move(rest);
  }
}

double Simulation::UntilNextEvent() const {
  double seconds = next_ready_ - now_;
  for (const Flow* flow : active_) {
    seconds = std::min(seconds, flow->pieces.front().left / flow->rate);
  }
  for (const Link& link : links_) {
    const double emptying = link.used - link.per_second;
    if (link.tokens > kNoBytes && emptying > 0) {
      seconds = std::min(seconds, link.tokens / emptying);
    }
  }
  return seconds;
}

void Simulation::Advance(double seconds) {
  // Exactly, so that rounding does not leave a slice that is almost ready.
  now_ = seconds == next_ready_ - now_ ? next_ready_ : now_ + seconds;
  for (Link& link : links_) {
    link.tokens += (link.per_second - link.used) * seconds;
    link.tokens = std::clamp(link.tokens, 0.0, link.burst_bytes);
  }
  std::vector<Flow*> done;
  for (Flow* flow : active_) {
    double* const left = &flow->pieces.front().left;
    *left -= flow->rate * seconds;
    if (*left < flow->nothing()) done.push_back(flow);
  }
  for (Flow* flow : done) {
    const size_t slice = flow->pieces.front().slice;
    flow->pieces.pop_front();
    Done(*flow, slice);
  }
}

void Simulation::Done(const Flow& flow, size_t slice) {
  switch (flow.kind) {
    case FlowKind::kPush:
      PushArrived(slice);
      break;
    case FlowKind::kAnswer:
      AnswerArrived(flow.worker, slice);
      break;
    case FlowKind::kWork:
      workers_[flow.worker].works = false;
      workers_[flow.worker].start = now_;
      break;
    case FlowKind::kServerWork:
      SendAnswers(slice);
      break;
  }
}

void Simulation::PushArrived(size_t slice) {
  if (--missing_[slice] > 0) return;
  missing_[slice] = workers_.size();  // Of the next iteration.
  const ExchangeSlice& pushed = exchange_.slices[slice];
  if (pushed.server_seconds <= kNoSeconds) {
    SendAnswers(slice);
    return;
  }
  // The thread that has the least to do takes it.
  const auto threads = flows_.begin() + static_cast<int64_t>(first_thread_) +
                       int64_t{pushed.server} * exchange_.server_threads;
  std::min_element(threads, threads + exchange_.server_threads,
                   [](const Flow& a, const Flow& b) {
                     return a.pieces.size() < b.pieces.size();
                   })
      ->pieces.push_back({slice, pushed.server_seconds});
}

void Simulation::SendAnswers(size_t slice) {
  const ExchangeSlice& answered = exchange_.slices[slice];
  for (int rank = 0; rank < num_workers(); ++rank) {
    FlowOf(FlowKind::kAnswer, rank, answered)
        ->pieces.push_back({slice, answered.down_bytes});
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
  StartIteration(rank, exchange_.work_seconds);
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
LinkLoad Busiest(const Exchange& exchange, bool up) {
  std::vector<double> server_bytes(exchange.servers.size());
  double worker_bytes = 0;  // The same for every worker.
  const double workers =
      exchange.workers_each * static_cast<double>(exchange.workers.size());
  for (const ExchangeSlice& slice : exchange.slices) {
    const double bytes = up ? slice.up_bytes : slice.down_bytes;
    worker_bytes += bytes;
    server_bytes[slice.server] += bytes * workers;
  }
  LinkLoad busiest;
  const auto consider = [&busiest](double bytes, double rate, bool of_server) {
    if (bytes / rate <= busiest.seconds) return;
    busiest = {bytes / rate, bytes, of_server};
  };
  for (size_t i = 0; i < server_bytes.size(); ++i) {
    const HostLink& server = exchange.servers[i];
    consider(server_bytes[i],
             up ? server.down_bytes_per_second : server.up_bytes_per_second,
             /*of_server=*/true);
  }
  for (const HostLink& worker : exchange.workers) {
    consider(worker_bytes,
             up ? worker.up_bytes_per_second : worker.down_bytes_per_second,
             /*of_server=*/false);
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
  return std::max({sum / options.draws, BusiestUp(exchange).seconds,
                   BusiestDown(exchange).seconds});
}

LinkLoad BusiestUp(const Exchange& exchange) {
  return Busiest(exchange, /*up=*/true);
}

LinkLoad BusiestDown(const Exchange& exchange) {
  return Busiest(exchange, /*up=*/false);
}

double BusiestServerSeconds(const Exchange& exchange) {
  std::vector<double> work(exchange.servers.size());
  std::vector<double> messages(exchange.servers.size());
  const double cost = exchange.seconds_per_byte * exchange.workers_each *
                      static_cast<double>(exchange.workers.size());
  for (const ExchangeSlice& slice : exchange.slices) {
    work[slice.server] += slice.server_seconds;
    messages[slice.server] += cost * (slice.up_bytes + slice.down_bytes);
  }
  double busiest = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    busiest = std::max({busiest, work[i] / exchange.server_threads,
                        (work[i] + messages[i]) / exchange.processors});
  }
  return busiest;
}

}  // namespace ps
