// The interface by which workers that train different stages of one network
// send each other arrays.
#ifndef TRANSPORT_STAGE_EXCHANGE_H_
#define TRANSPORT_STAGE_EXCHANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ps {

// Streams from one worker to another have numbers in [0, kNumStageStreams).
constexpr int kNumStageStreams = 4;

// One worker's end. Arrays from one worker to another travel in streams; the
// arrays of a stream are numbered in ascending order, with or without gaps,
// from any number on. They arrive with the same bits, whatever these are.
//
// Thread-safe, but for each peer and stream, only one thread may put and only
// one may get at a time.
//
// Errors of both methods: kInvalidArgument for a worker that is this one or is
// not in the job, a stream that does not exist, or a negative number; the
// failure of the job, which a call that waits returns as well.
class StageExchange {
 public:
  virtual ~StageExchange() = default;

  // Sends an array to worker `to`. Copies it, and does not wait, neither for
  // the network nor until the other worker asks. A number that is not above the
  // last one of its stream is a repeat, and changes nothing. A caller that
  // never waits for the arrays of others can fill this process's memory.
  virtual absl::Status Put(int to, int stream, int64_t number,
                           absl::Span<const float> values) = 0;

  // Waits for the array of this number from worker `from`. Arrays of the stream
  // with smaller numbers are discarded. `number` must be above that of the last
  // Get of the stream. Errors: also kInvalidArgument if the array has another
  // size, or was discarded; kDataLoss if its content was damaged on the way.
  virtual absl::Status Get(int from, int stream, int64_t number,
                           absl::Span<float> values) = 0;
};

}  // namespace ps

#endif  // TRANSPORT_STAGE_EXCHANGE_H_
