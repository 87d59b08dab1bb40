// Waits for everybody's sums of squares, adds them up, and tells everybody.
#ifndef SERVER_NORMS_SQUARES_GATHERER_H_
#define SERVER_NORMS_SQUARES_GATHERER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/norms/squares_exchange.h"

namespace ps {

struct TensorSquares {
  int tensor = 0;
  Squares squares;
};

struct SquaresGathererOptions {
  int num_contributors = 0;
  int64_t num_tensors = 0;
  std::string contributor;  // What messages call one: "server".
};

// One round at a time: nobody begins the next before the answer to this one.
// Thread-safe.
class SquaresGatherer {
 public:
  using Sums = std::vector<Squares>;  // [num_tensors]
  using Done = std::function<void(const absl::StatusOr<Sums>&)>;
  // What becomes of the sums of a round before all hear of them.
  using Combine = std::function<void(const SquaresRound&, Sums, Done)>;

  SquaresGatherer(const SquaresGathererOptions& options, Combine combine)
      : options_(options), combine_(std::move(combine)) {}

  // Sums are made in order of contributor and, within one, of `squares`.
  // A repeat takes the place of the earlier caller, who gets kCancelled; after
  // the round it gets the stored sums. Errors, through `done`: kInvalidArgument
  // for numbers out of range; kFailedPrecondition for another round than the
  // one that others are in, or the last one.
  void Add(const SquaresRound& round, int contributor,
           std::vector<TensorSquares> squares, Done done);

  // Answers everyone who waits, now and from now on.
  void Fail(const absl::Status& failure);

 private:
  struct Contribution {
    bool here = false;
    std::vector<TensorSquares> squares;
    Done done;
  };

  absl::Status Check(const SquaresRound& round, int contributor,
                     const std::vector<TensorSquares>& squares) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Sums AddUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Answer(const SquaresRound& round, const absl::StatusOr<Sums>& sums);

  const SquaresGathererOptions options_;
  const Combine combine_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int num_here_ ABSL_GUARDED_BY(mu_) = 0;
  SquaresRound round_ ABSL_GUARDED_BY(mu_);  // If num_here_ > 0.
  std::vector<Contribution> contributions_ ABSL_GUARDED_BY(mu_);
  SquaresRound last_round_ ABSL_GUARDED_BY(mu_) = {-1, 0};
  Sums last_sums_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_NORMS_SQUARES_GATHERER_H_
