// Compares the norm of each worker's push with those of earlier pushes.
#ifndef SERVER_SLICES_PUSH_NORMS_H_
#define SERVER_SLICES_PUSH_NORMS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/state_io.h"
#include "proto/config.pb.h"

namespace ps {

// Judges the pushes of one slice, by PushNormsConfig. A push is unusual if its
// Euclidean norm is more than `factor` times the lower median of the norms of
// the latest pushes of all workers, itself among them; there must be kFewest of
// them. Unusual pushes count like all others, so that a lasting change is
// followed: the median is that of sound workers as long as these send at least
// half of the pushes. A pure function of the pushes so far. Not thread-safe.
class PushNorms {
 public:
  static constexpr size_t kFewest = 3;

  struct Finding {
    size_t push = 0;  // The index among the pushes given to Judge.
    double norm = 0;
    double median = 0;
  };

  // The memory has the latest 64 pushes, and the latest 4 of each worker.
  PushNorms(const PushNormsConfig& config, int num_workers,
            int64_t num_elements);

  // Returns the unusual ones of the valid pushes of one update.
  std::vector<Finding> Judge(const std::vector<const PayloadPieces*>& pushes);

  // Returns the push with its norm reduced to `factor` times the median.
  PayloadBuffer Capped(const PayloadPieces& push, const Finding& finding) const;

  void Save(StateWriter* writer) const;
  // Restores the state. Errors: kDataLoss.
  absl::Status Load(StateReader* reader);

 private:
  double NormOf(const PayloadPieces& push);

  const PushNormsConfig config_;
  const size_t max_norms_;
  const int64_t num_elements_;
  std::deque<double> norms_;  // The norms, oldest first.
  std::vector<float> dense_;  // Scratch memory.
};

}  // namespace ps

#endif  // SERVER_SLICES_PUSH_NORMS_H_
