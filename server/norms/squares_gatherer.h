// Collects the squares of all contributors and sends the sums to all.
#ifndef SERVER_NORMS_SQUARES_GATHERER_H_
#define SERVER_NORMS_SQUARES_GATHERER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/norms/squares_exchange.h"

namespace ps {

struct SquaresGathererOptions {
  std::vector<int64_t> sizes;  // The number of squares of each contributor.
  std::string contributor;  // What error messages call a contributor: "server".
  // The rounds whose sums are kept for contributors that repeat one; at least
  // 1.
  int kept_rounds = 8;
};

// Gathers one round at a time: no contributor begins the next one before it has
// the answer to this one. One that restarts from an earlier state repeats
// rounds that the others have left, and gets the same sums again. Thread-safe.
class SquaresGatherer {
 public:
  using Sums = std::vector<Squares>;
  using Done = std::function<void(const absl::StatusOr<Sums>&)>;
  // The squares, [contributor][its squares].
  using Contributions = std::vector<std::vector<Squares>>;
  // Computes a round's answer to all contributors.
  using Combine =
      std::function<void(const SquaresRound&, const Contributions&, Done)>;

  SquaresGatherer(const SquaresGathererOptions& options, Combine combine)
      : options_(options), combine_(std::move(combine)) {}

  // Adds one contributor's squares. A repeat supersedes the earlier call, which
  // gets kCancelled; after the round a repeat gets the stored sums. Errors,
  // through `done`: kInvalidArgument for numbers out of range;
  // kFailedPrecondition for a round that is neither the current one nor one
  // whose sums are kept.
  void Add(const SquaresRound& round, int contributor,
           std::vector<Squares> squares, Done done);

  // Keeps the sums of a finished round.
  void Keep(const SquaresRound& round, const Sums& sums);

  // Answers all waiting and all later calls with `failure`.
  void Fail(const absl::Status& failure);

 private:
  absl::Status Check(const SquaresRound& round, int contributor,
                     const std::vector<Squares>& squares) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Answer(const SquaresRound& round, const absl::StatusOr<Sums>& sums);
  void KeepLocked(const SquaresRound& round, const Sums& sums)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SquaresGathererOptions options_;
  const Combine combine_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int num_here_ ABSL_GUARDED_BY(mu_) = 0;
  SquaresRound round_ ABSL_GUARDED_BY(mu_);  // Valid if num_here_ > 0.
  Contributions contributions_ ABSL_GUARDED_BY(mu_);
  // The waiting calls by contributor; null if it has not called.
  std::vector<Done> waiting_ ABSL_GUARDED_BY(mu_);
  // The sums of the latest rounds.
  std::map<SquaresRound, Sums> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_NORMS_SQUARES_GATHERER_H_
