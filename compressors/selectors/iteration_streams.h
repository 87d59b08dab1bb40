// Gives a compressor one stream of random draws per iteration.
#ifndef COMPRESSORS_SELECTORS_ITERATION_STREAMS_H_
#define COMPRESSORS_SELECTORS_ITERATION_STREAMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/state_io.h"

namespace ps {

// The streams are a pure function of purpose, seed, worker, bucket and
// iteration. Not thread-safe.
class IterationStreams {
 public:
  // `purpose` differs for each use, so that no two uses share draws.
  IterationStreams(uint64_t purpose, const CompressorOptions& options)
      : key_(RandomKey(purpose, options.seed,
                       static_cast<uint64_t>(options.worker_rank),
                       static_cast<uint64_t>(options.bucket))) {}

  // Returns the key of the stream that Next returns next.
  uint64_t NextKey() const {
    return RandomKey(key_, static_cast<uint64_t>(iteration_));
  }

  RandomStream Next() {
    const RandomStream stream(NextKey());
    ++iteration_;
    return stream;
  }

  void Save(StateWriter* state) const { state->PutInt(iteration_); }

  // Restores the state, to the end of `state`; changes nothing on failure.
  absl::Status Load(StateReader* state) {
    PS_ASSIGN_OR_RETURN(const int64_t iteration, state->GetInt());
    PS_RETURN_IF_ERROR(state->Finish());
    if (iteration < 0) {
      return absl::DataLossError("compressor state has a negative iteration");
    }
    iteration_ = iteration;
    return absl::OkStatus();
  }

 private:
  const uint64_t key_;
  int64_t iteration_ = 0;  // The iteration of the next stream.
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_ITERATION_STREAMS_H_
