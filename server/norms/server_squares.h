// The exchange of norms between the servers of a job. Server 0 adds them up.
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

// How a server other than 0 reaches server 0.
class SquaresCaller {
 public:
  using Done = std::function<void(const absl::StatusOr<SquaresMessage>&)>;

  virtual ~SquaresCaller() = default;

  // Calls `done` once, from some thread, with the answer to `request`. Only one
  // call may be under way at a time.
  virtual void Call(const SquaresMessage& request, Done done) = 0;

  // Answers the call under way and all later ones with kCancelled. Waits until
  // the call under way has been answered.
  virtual void Stop() = 0;
};

// A slice that an optimizer updates.
struct SquaresSlice {
  int server = 0;
  std::vector<int> tensors;  // Of each of its stretches.
};

struct ServerSquaresOptions {
  int server_index = 0;
  std::vector<SquaresSlice> slices;  // [Slice::number]
  int64_t num_tensors = 0;
  uint64_t config_fingerprint = 0;
  // Called with the totals of a round before anyone gets them; its error fails
  // the round. May be null.
  std::function<absl::Status(const SquaresRound&, const std::vector<Squares>&)>
      log;
};

// A hash of the config; two different configs share it only by chance.
uint64_t ConfigFingerprint(const std::string& shared_config_text);

// Thread-safe.
class ServerSquares final : public SquaresExchange {
 public:
  // `caller` is null for server 0. `schedule`: see Shard.
  ServerSquares(const ServerSquaresOptions& options,
                std::unique_ptr<SquaresCaller> caller,
                std::function<void(std::function<void()>)> schedule);

  void Add(const SquaresRound& round, int slice, std::vector<Squares> squares,
           Done done) override;

  using Answer = std::function<void(const absl::StatusOr<SquaresMessage>&)>;

  // Server 0 only: adds another server's part. The request is not trusted.
  // Errors, through `answer`: kInvalidArgument, kFailedPrecondition.
  void AddFromServer(const SquaresMessage& request, const Answer& answer);

  // The totals of a round that has been held. Errors: kDataLoss if they are not
  // of all tensors.
  absl::Status Keep(const SquaresRound& round,
                    const std::vector<Squares>& totals);

  void Fail(const absl::Status& failure);

  void Stop() {
    if (caller_ != nullptr) caller_->Stop();
  }

 private:
  // This server's slices -> the totals, by way of server 0.
  void Combine(const SquaresRound& round,
               const SquaresGatherer::Contributions& slices,
               SquaresGatherer::Done done);
  SquaresGatherer::Sums AddUp(
      const SquaresGatherer::Contributions& servers) const;
  // The same sums, written down.
  absl::StatusOr<SquaresGatherer::Sums> Logged(
      const SquaresRound& round, SquaresGatherer::Sums sums) const;

  const ServerSquaresOptions options_;
  // The servers that hold slices, and the numbers of this server's, ascending.
  const std::vector<int> contributors_;
  const std::vector<int> mine_;
  const std::function<void(std::function<void()>)> schedule_;
  SquaresGatherer slices_;
  SquaresGatherer servers_;  // Used by server 0 only.
  // Declared last because its thread uses the other members.
  std::unique_ptr<SquaresCaller> caller_;
};

}  // namespace ps

#endif  // SERVER_NORMS_SERVER_SQUARES_H_
