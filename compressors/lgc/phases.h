// When LGC trains its autoencoder, and when it uses it.
#ifndef COMPRESSORS_LGC_PHASES_H_
#define COMPRESSORS_LGC_PHASES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/state_io.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// What the leader of an iteration has pushed.
enum class LgcPush {
  kEverything,  // Or nothing.
  kFewValues,   // Values at the positions that it selected; too few for codes.
  kValues,      // Enough of them.
  kCode,
};

// A pure state machine. It decides one iteration ahead, because the next leader
// is told with the positions of the iteration before its own.
class LgcPhases {
 public:
  explicit LgcPhases(const LgcConfig& config);

  // An update has been made. `error`: of the latest values on which the
  // autoencoder was trained or measured, if they are new.
  void Updated(LgcPush push, const std::optional<ReconstructionError>& error);

  // Whether the values of the last update train the autoencoder; otherwise it
  // is only measured, because a code may still come.
  bool trains() const { return training_ && !plans_[0]; }
  // Counts the autoencoders that are used, from 1; 0 before the first.
  uint32_t version() const { return static_cast<uint32_t>(version_); }
  // Whether the last update made this version.
  bool is_new() const { return is_new_; }
  // Whether the leader of the last update has sent values where it was to send
  // a code.
  bool leader_lacks_encoder() const { return leader_lacks_encoder_; }
  // Whether the leader is to send a code: after `ahead` more updates, 0 or 1.
  bool sends_code(int ahead) const { return plans_[ahead]; }
  // The next update is that of another number of workers: trains again.
  void WorkersChanged();

  // Lines for the log about the last update.
  const std::vector<std::string>& news() const { return news_; }

  void Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);

 private:
  // What has been pushed so far, for the log.
  enum class Seen { kNothing, kEverything, kFewValues, kValues };

  void Trained(const ReconstructionError& error);
  void Decide();
  void TrainAgain(const std::string& why);

  const LgcConfig config_;
  Seen seen_ = Seen::kNothing;
  bool training_ = true;
  int64_t version_ = 0;
  bool is_new_ = false;
  bool leader_lacks_encoder_ = false;
  int64_t num_trained_ = 0;  // Errors since training began.
  int64_t decides_at_ = 0;   // In num_trained_.
  int64_t since_check_ = 0;  // Iterations planned since all values were sent.
  std::deque<ReconstructionError> latest_;
  bool plans_[2] = {false, false};
  std::vector<std::string> news_;
};

}  // namespace ps

#endif  // COMPRESSORS_LGC_PHASES_H_
