#include "server/norms/server_squares.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

using Sums = SquaresGatherer::Sums;

void FillSquares(const Sums& sums, SquaresMessage* message) {
  for (const Squares& sum : sums) {
    message->add_weights(sum.weights);
    message->add_gradient(sum.gradient);
    message->add_step(sum.step);
  }
}

absl::StatusOr<Sums> ReadSquares(const SquaresMessage& message,
                                 int64_t num_tensors) {
  for (const int size :
       {message.weights_size(), message.gradient_size(), message.step_size()}) {
    if (size != num_tensors) {
      return absl::InvalidArgumentError(absl::StrCat(
          "squares of ", size, " tensors; there are ", num_tensors));
    }
  }
  Sums sums(num_tensors);
  for (int t = 0; t < message.weights_size(); ++t) {
    sums[t] = {message.weights(t), message.gradient(t), message.step(t)};
  }
  return sums;
}

SquaresGathererOptions GathererOptions(int num_contributors,
                                       int64_t num_tensors,
                                       const std::string& contributor) {
  SquaresGathererOptions options;
  options.num_contributors = num_contributors;
  options.num_tensors = num_tensors;
  options.contributor = contributor;
  return options;
}

}  // namespace

uint64_t ConfigFingerprint(const std::string& shared_config_text) {
  // FNV-1a.
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
      schedule_(std::move(schedule)),
      slices_(GathererOptions(options.num_slices, options.num_tensors, "slice"),
              [this](const SquaresRound& round, Sums sums,
                     SquaresGatherer::Done done) {
                Combine(round, std::move(sums), std::move(done));
              }),
      servers_(GathererOptions(static_cast<int>(options.contributors.size()),
                               options.num_tensors, "server"),
               [this](const SquaresRound& round, Sums sums,
                      SquaresGatherer::Done done) {
                 done(Logged(round, std::move(sums)));
               }),
      caller_(std::move(caller)) {}

void ServerSquares::Add(const SquaresRound& round, int slice,
                        const std::vector<TensorStretch>& stretches,
                        const std::vector<Squares>& squares, Done done) {
  std::vector<TensorSquares> parts;
  for (size_t i = 0; i < stretches.size(); ++i) {
    parts.push_back({stretches[i].tensor, squares[i]});
  }
  slices_.Add(round, slice, std::move(parts),
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

absl::StatusOr<Sums> ServerSquares::Logged(const SquaresRound& round,
                                           Sums sums) const {
  if (options_.log != nullptr) {
    PS_RETURN_IF_ERROR(options_.log(round, sums));
  }
  return sums;
}

void ServerSquares::Combine(const SquaresRound& round, Sums sums,
                            SquaresGatherer::Done done) {
  SquaresMessage message;
  message.set_server_index(options_.server_index);
  message.set_config_fingerprint(options_.config_fingerprint);
  message.set_update(round.update);
  message.set_stage(round.stage);
  FillSquares(sums, &message);
  const auto answered = [this, round, done = std::move(done)](
                            const absl::StatusOr<SquaresMessage>& totals) {
    if (!totals.ok()) {
      done(totals.status());
      return;
    }
    absl::StatusOr<Sums> read = ReadSquares(*totals, options_.num_tensors);
    // Server 0 has written them down for everybody.
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
    answer(absl::FailedPreconditionError(absl::StrCat(
        "server ", request.server_index(),
        " has another config than server 0; start all processes of a job with "
        "the same one")));
    return;
  }
  const absl::StatusOr<Sums> sums = ReadSquares(request, options_.num_tensors);
  if (!sums.ok()) {
    answer(sums.status());
    return;
  }
  const auto contributor =
      std::find(options_.contributors.begin(), options_.contributors.end(),
                request.server_index());
  if (contributor == options_.contributors.end()) {
    answer(absl::InvalidArgumentError(
        absl::StrCat("squares of server ", request.server_index(),
                     ", which holds no weights")));
    return;
  }
  std::vector<TensorSquares> parts;
  for (int64_t t = 0; t < options_.num_tensors; ++t) {
    parts.push_back({static_cast<int>(t), (*sums)[t]});
  }
  servers_.Add({request.update(), request.stage()},
               static_cast<int>(contributor - options_.contributors.begin()),
               std::move(parts), [answer](const absl::StatusOr<Sums>& totals) {
                 if (!totals.ok()) {
                   answer(totals.status());
                   return;
                 }
                 SquaresMessage message;
                 FillSquares(*totals, &message);
                 answer(message);
               });
}

void ServerSquares::Fail(const absl::Status& failure) {
  slices_.Fail(failure);
  servers_.Fail(failure);
}

}  // namespace ps
