// Decides when LGC trains its autoencoder, and when it uses it.
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

// The kinds of push of an iteration's leader.
enum class LgcPush {
  kEverything,  // Everything, or nothing.
  kFewValues,   // Values at the positions that it selected; too few for codes.
  kValues,      // Enough such values for codes.
  kCode,
};

// A pure state machine. It decides one iteration ahead, because the next leader
// learns the decision with the positions of the previous iteration.
class LgcPhases {
 public:
  explicit LgcPhases(const LgcConfig& config);

  // Advances after an update. `error` describes the latest values on which the
  // autoencoder was trained or measured, if they are new.
  void Updated(LgcPush push, const std::optional<ReconstructionError>& error);

  // Whether the values of the last update train the autoencoder; otherwise it
  // is only measured, because a code may still come.
  bool trains() const { return training_ && !plans_[0]; }
  // The number of the autoencoder in use, from 1; 0 before the first.
  uint32_t version() const { return static_cast<uint32_t>(version_); }
  // Whether the last update made this version.
  bool is_new() const { return is_new_; }
  // Whether the leader of the last update sent values instead of the code that
  // it was to send.
  bool leader_lacks_encoder() const { return leader_lacks_encoder_; }
  // Whether the leader is to send a code after `ahead` more updates, 0 or 1.
  bool sends_code(int ahead) const { return plans_[ahead]; }
  // Restarts training, as the next update has a different number of workers.
  void WorkersChanged();

  // Lines for the log about the last update.
  const std::vector<std::string>& news() const { return news_; }

  void Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);

 private:
  // The pushes seen so far, for the log.
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
  int64_t num_trained_ = 0;  // The number of errors since training began.
  int64_t decides_at_ = 0;   // The value of num_trained_ at the next decision.
  // The number of iterations planned since all values were sent.
  int64_t since_check_ = 0;
  std::deque<ReconstructionError> latest_;
  bool plans_[2] = {false, false};
  std::vector<std::string> news_;
};

}  // namespace ps

#endif  // COMPRESSORS_LGC_PHASES_H_
