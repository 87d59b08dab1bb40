// Exchanges norms between the servers of a job. Server 0 adds them up.
#ifndef SERVER_NORMS_SERVER_SQUARES_H_
#define SERVER_NORMS_SERVER_SQUARES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/parameter_server.pb.h"
#include "server/norms/squares_exchange.h"
#include "server/norms/squares_gatherer.h"

namespace ps {

// The connection of another server to server 0.
class SquaresCaller {
 public:
  using Done = std::function<void(const absl::StatusOr<SquaresMessage>&)>;

  virtual ~SquaresCaller() = default;

  // Calls `done` once, from some thread, with the answer to `request`. Only one
  // call may be in progress at a time.
  virtual void Call(const SquaresMessage& request, Done done) = 0;

  // Answers the current call and all later ones with kCancelled. Waits until
  // the current call has been answered.
  virtual void Stop() = 0;
};

// A slice that an optimizer updates.
struct SquaresSlice {
  int server = 0;
  std::vector<int> tensors;  // The tensor of each of its segments.
};

struct ServerSquaresOptions {
  int server_index = 0;
  std::vector<SquaresSlice> slices;  // [Slice::number]
  int64_t num_tensors = 0;
  uint64_t config_fingerprint = 0;
  // Called with the totals of a round before they are sent; its error fails the
  // round. May be null.
  std::function<absl::Status(const SquaresRound&, const std::vector<Squares>&)>
      log;
};

// Returns a hash of the config; two different configs share it only by chance.
uint64_t ConfigFingerprint(const std::string& shared_config_text);

// The exchange. Thread-safe.
class ServerSquares final : public SquaresExchange {
 public:
  // `caller` is null for server 0. `schedule` is that of Shard.
  ServerSquares(const ServerSquaresOptions& options,
                std::unique_ptr<SquaresCaller> caller,
                std::function<void(std::function<void()>)> schedule);

  void Add(const SquaresRound& round, int slice, std::vector<Squares> squares,
           Done done) override;

  using Answer = std::function<void(const absl::StatusOr<SquaresMessage>&)>;

  // Adds another server's part, on server 0 only. The request is not trusted.
  // Errors, through `answer`: kInvalidArgument, kFailedPrecondition.
  void AddFromServer(const SquaresMessage& request, const Answer& answer);

  // Keeps the totals of a finished round. Errors: kDataLoss if they are not of
  // all tensors.
  absl::Status Keep(const SquaresRound& round,
                    const std::vector<Squares>& totals);

  void Fail(const absl::Status& failure);

  void Stop() {
    if (caller_ != nullptr) caller_->Stop();
  }

 private:
  // Sends this server's sums to server 0, which returns the totals.
  void Combine(const SquaresRound& round,
               const SquaresGatherer::Contributions& slices,
               SquaresGatherer::Done done);
  SquaresGatherer::Sums AddUp(
      const SquaresGatherer::Contributions& servers) const;
  // Returns the same sums after logging them.
  absl::StatusOr<SquaresGatherer::Sums> Logged(
      const SquaresRound& round, SquaresGatherer::Sums sums) const;

  const ServerSquaresOptions options_;
  // The servers that hold slices, and the numbers of this server's, ascending.
  const std::vector<int> contributors_;
  const std::vector<int> mine_;
  const std::function<void(std::function<void()>)> schedule_;
  SquaresGatherer slices_;
  SquaresGatherer servers_;  // Used by server 0 only.
  // This is last because its thread uses the other members.
  std::unique_ptr<SquaresCaller> caller_;
};

}  // namespace ps

#endif  // SERVER_NORMS_SERVER_SQUARES_H_
