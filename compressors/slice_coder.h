// Server-side codecs of compressors: they decode what a worker alone cannot,
// and learn from the pushes.
#ifndef COMPRESSORS_SLICE_CODER_H_
#define COMPRESSORS_SLICE_CODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "compressors/state_io.h"
#include "proto/compressor_config.pb.h"

namespace ps {

struct SliceCoderOptions {
  CompressorConfig config;
  int64_t num_elements = 0;
  int num_workers = 1;
  uint64_t seed = 0;
  int slice = 0;  // The slice's number within the model.
};

// One worker's push, with positions.
struct CoderPush {
  int rank = 0;
  PayloadPieces pieces;
  // The bytes of a decoded push that replaces `pieces`.
  PayloadBuffer decoded;
};

// The codec of one slice, in jobs whose workers share positions, in mode
// SYNCHRONOUS. A pure state machine: the same state and the same pushes give
// the same bits, although it may compute on a thread of its own. Not
// thread-safe.
class SliceCoder {
 public:
  virtual ~SliceCoder() = default;

  // Checks an untrusted push of the next update whose value code is
  // kByCompressor. `leader` is the side information of the leader's push; null
  // for the leader itself. Returns the number of its elements. Errors:
  // kInvalidArgument, unless Apply can decode it.
  virtual absl::StatusOr<int64_t> Check(const PayloadPieces& push,
                                        const std::string* leader) const = 0;

  // Decodes the pushes of an iteration to plain payloads, one of each worker,
  // in order of rank; those of value code kByCompressor have passed Check.
  // Errors: kDataLoss for pushes that Check would refuse, as a damaged log may
  // hold.
  virtual absl::Status Apply(int64_t iteration,
                             absl::Span<CoderPush> pushes) = 0;

  // Returns the side information for a worker that comes with the positions of
  // an iteration: of the next update or of the last one.
  virtual std::string RemarksFor(int rank, int64_t iteration) const = 0;

  // Returns lines for the log about the last Apply.
  virtual std::vector<std::string> news() const = 0;

  // Save and load the state. Load also accepts a state of a different number of
  // workers, which then has no last update. Errors: kDataLoss.
  virtual void Save(StateWriter* writer) const = 0;
  virtual absl::Status Load(StateReader* reader) = 0;
};

using SliceCoderFactory =
    std::function<std::unique_ptr<SliceCoder>(const SliceCoderOptions&)>;

// Upper bounds on the resources of a SliceCoder.
struct SliceCoderBytes {
  int64_t memory = 0;
  int64_t remark = 0;  // The size of the result of RemarksFor.
};

using SliceCoderBytesOf =
    std::function<SliceCoderBytes(const SliceCoderOptions&)>;

}  // namespace ps

#endif  // COMPRESSORS_SLICE_CODER_H_
