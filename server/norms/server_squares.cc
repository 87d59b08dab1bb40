#include "server/norms/server_squares.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

using Contributions = SquaresGatherer::Contributions;
using Sums = SquaresGatherer::Sums;

void FillSquares(const Sums& sums, SquaresMessage* message) {
  for (const Squares& sum : sums) {
    message->add_weights(sum.weights);
    message->add_gradient(sum.gradient);
    message->add_step(sum.step);
  }
}

absl::StatusOr<std::vector<Squares>> ReadSquares(
    const SquaresMessage& message) {
  const int size = message.weights_size();
  if (message.gradient_size() != size || message.step_size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("squares of ", size, " weights, ", message.gradient_size(),
                     " gradients and ", message.step_size(), " steps"));
  }
  std::vector<Squares> squares(size);
  for (int i = 0; i < size; ++i) {
    squares[i] = {message.weights(i), message.gradient(i), message.step(i)};
  }
  return squares;
}

std::vector<int> ServersOf(const std::vector<SquaresSlice>& slices) {
  std::set<int> servers;
  for (const SquaresSlice& slice : slices) servers.insert(slice.server);
  return {servers.begin(), servers.end()};
}

std::vector<int> SlicesOf(const std::vector<SquaresSlice>& slices, int server) {
  std::vector<int> numbers;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].server == server) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

int64_t IndexIn(const std::vector<int>& ascending, int value) {
  const auto it = std::lower_bound(ascending.begin(), ascending.end(), value);
  return it != ascending.end() && *it == value ? it - ascending.begin() : -1;
}

SquaresGathererOptions SliceGatherer(const ServerSquaresOptions& options) {
  SquaresGathererOptions gatherer;
  gatherer.contributor = "slice";
  for (const int number : SlicesOf(options.slices, options.server_index)) {
    gatherer.sizes.push_back(options.slices[number].tensors.size());
  }
  return gatherer;
}

SquaresGathererOptions ServerGatherer(const ServerSquaresOptions& options) {
  SquaresGathererOptions gatherer;
  gatherer.contributor = "server";
  for (const int server : ServersOf(options.slices)) {
    int64_t& size = gatherer.sizes.emplace_back(0);
    for (const int number : SlicesOf(options.slices, server)) {
      size += options.slices[number].tensors.size();
    }
  }
  return gatherer;
}

}  // namespace

uint64_t ConfigFingerprint(const std::string& shared_config_text) {
  // The hash is FNV-1a.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : shared_config_text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

ServerSquares::ServerSquares(
    const ServerSquaresOptions& options, std::unique_ptr<SquaresCaller> caller,
    std::function<void(std::function<void()>)> schedule)
    : options_(options),
      contributors_(ServersOf(options.slices)),
      mine_(SlicesOf(options.slices, options.server_index)),
      schedule_(std::move(schedule)),
      slices_(SliceGatherer(options),
              [this](const SquaresRound& round, const Contributions& slices,
                     SquaresGatherer::Done done) {
                Combine(round, slices, std::move(done));
              }),
      servers_(ServerGatherer(options),
               [this](const SquaresRound& round, const Contributions& servers,
                      const SquaresGatherer::Done& done) {
                 done(Logged(round, AddUp(servers)));
               }),
      caller_(std::move(caller)) {}

void ServerSquares::Add(const SquaresRound& round, int slice,
                        std::vector<Squares> squares, Done done) {
  slices_.Add(round, static_cast<int>(IndexIn(mine_, slice)),
              std::move(squares),
              [this, done = std::move(done)](const absl::StatusOr<Sums>& sums) {
                const auto totals =
                    sums.ok() ? absl::StatusOr<SquaresTotals>(TotalsOf(*sums))
                              : sums.status();
                if (schedule_ == nullptr) {
                  done(totals);
                } else {
                  // The slices take their steps in parallel.
                  schedule_([done, totals] { done(totals); });
                }
              });
}

Sums ServerSquares::AddUp(const Contributions& servers) const {
  Sums sums(options_.num_tensors);
  std::vector<size_t> next(servers.size());
  for (const SquaresSlice& slice : options_.slices) {
    const int64_t server = IndexIn(contributors_, slice.server);
    for (const int tensor : slice.tensors) {
      const Squares& part = servers[server][next[server]++];
      Squares& sum = sums[tensor];
      sum.weights += part.weights;
      sum.gradient += part.gradient;
      sum.step += part.step;
    }
  }
  return sums;
}

absl::StatusOr<Sums> ServerSquares::Logged(const SquaresRound& round,
                                           Sums sums) const {
  if (options_.log != nullptr) {
    PS_RETURN_IF_ERROR(options_.log(round, sums));
  }
  return sums;
}

void ServerSquares::Combine(const SquaresRound& round,
                            const Contributions& slices,
                            SquaresGatherer::Done done) {
  SquaresMessage message;
  message.set_server_index(options_.server_index);
  message.set_config_fingerprint(options_.config_fingerprint);
  message.set_update(round.update);
  message.set_stage(round.stage);
  for (const std::vector<Squares>& slice : slices) {
    FillSquares(slice, &message);
  }
  const auto answered = [this, round, done = std::move(done)](
                            const absl::StatusOr<SquaresMessage>& totals) {
    if (!totals.ok()) {
      done(totals.status());
      return;
    }
    absl::StatusOr<Sums> read = ReadSquares(*totals);
    if (read.ok() &&
        static_cast<int64_t>(read->size()) != options_.num_tensors) {
      read = absl::InternalError(
          absl::StrCat("server 0 answers with the squares of ", read->size(),
                       " tensors; there are ", options_.num_tensors));
    }
    // Server 0 has logged them for all servers.
    if (read.ok() && options_.server_index > 0) {
      read = Logged(round, *std::move(read));
    }
    done(read);
  };
  if (options_.server_index == 0) {
    AddFromServer(message, answered);
  } else if (caller_ != nullptr) {
    caller_->Call(message, answered);
  } else {
    answered(absl::InternalError(
        "no connection to server 0 for the exchange of norms"));
  }
}

void ServerSquares::AddFromServer(const SquaresMessage& request,
                                  const Answer& answer) {
  if (request.config_fingerprint() != options_.config_fingerprint) {
    answer(absl::InvalidArgumentError(absl::StrCat(
        "server ", request.server_index(),
        " has another config than server 0; start all processes of a job with "
        "the same one")));
    return;
  }
  absl::StatusOr<std::vector<Squares>> squares = ReadSquares(request);
  if (!squares.ok()) {
    answer(squares.status());
    return;
  }
  const int64_t contributor = IndexIn(contributors_, request.server_index());
  if (contributor < 0) {
    answer(absl::InvalidArgumentError(
        absl::StrCat("squares of server ", request.server_index(),
                     ", which holds no weights")));
    return;
  }
  servers_.Add({request.update(), request.stage()},
               static_cast<int>(contributor), *std::move(squares),
               [answer](const absl::StatusOr<Sums>& totals) {
                 if (!totals.ok()) {
                   answer(totals.status());
                   return;
                 }
                 SquaresMessage message;
                 FillSquares(*totals, &message);
                 answer(message);
               });
}

absl::Status ServerSquares::Keep(const SquaresRound& round,
                                 const Sums& totals) {
  if (static_cast<int64_t>(totals.size()) != options_.num_tensors) {
    return absl::DataLossError(absl::StrCat("norms of ", totals.size(),
                                            " tensors; there are ",
                                            options_.num_tensors));
  }
  slices_.Keep(round, totals);
  servers_.Keep(round, totals);
  return absl::OkStatus();
}

void ServerSquares::Fail(const absl::Status& failure) {
  slices_.Fail(failure);
  servers_.Fail(failure);
}

}  // namespace ps
