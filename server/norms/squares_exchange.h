// The interface of norms over whole tensors, which slices share.
#ifndef SERVER_NORMS_SQUARES_EXCHANGE_H_
#define SERVER_NORMS_SQUARES_EXCHANGE_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizers/optimizer.h"

namespace ps {

// The sums over all slices of all servers.
struct SquaresTotals {
  std::vector<Squares> tensors;  // [number of tensors]
  double norm = 0;               // The Euclidean norm of the whole gradient.
};

inline SquaresTotals TotalsOf(const std::vector<Squares>& tensors) {
  double squares = 0;
  for (const Squares& sum : tensors) squares += sum.gradient;
  return {tensors, std::sqrt(squares)};
}

// Identifies one of the exchanges of an update.
struct SquaresRound {
  int64_t update = 0;
  int stage = 0;

  bool operator==(const SquaresRound& other) const {
    return update == other.update && stage == other.stage;
  }
  bool operator<(const SquaresRound& other) const {
    return update != other.update ? update < other.update : stage < other.stage;
  }
};

// The exchange. Thread-safe.
class SquaresExchange {
 public:
  using Done = std::function<void(const absl::StatusOr<SquaresTotals>&)>;

  virtual ~SquaresExchange() = default;

  // Adds the squares of a slice; squares[i] belongs to its i-th segment. `done`
  // is called once, on some thread, when every slice of every server has added
  // its squares for the same round. Sums are formed in order of slice and
  // segment, wherever the slices are and whatever the order of the calls.
  virtual void Add(const SquaresRound& round, int slice,
                   std::vector<Squares> squares, Done done) = 0;
};

}  // namespace ps

#endif  // SERVER_NORMS_SQUARES_EXCHANGE_H_
