// A compressor's part at the servers: decodes what a worker alone cannot, and
// learns from the pushes.
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
  int slice = 0;  // Its number within the model.
};

// One worker's push, with positions.
struct CoderPush {
  int rank = 0;
  PayloadPieces pieces;
  // What replaces `pieces` keeps its bytes here.
  PayloadBuffer decoded;
};

// Serves one slice, in jobs whose workers share positions, in mode SYNCHRONOUS.
// A pure state machine: the same state and the same pushes give the same bits,
// although it may compute on a thread of its own. Not thread-safe.
class SliceCoder {
 public:
  virtual ~SliceCoder() = default;

  // Checks a push of the next update whose value code is kByCompressor, and
  // trusts nothing in it. `leader` are the remarks of the leader's push; null
  // for the leader itself. Returns the number of its elements. Errors:
  // kInvalidArgument, unless Apply can decode it.
  virtual absl::StatusOr<int64_t> Check(const PayloadPieces& push,
                                        const std::string* leader) const = 0;

  // Makes plain payloads of the pushes of an iteration, one of each worker, in
  // order of rank; those of value code kByCompressor have passed Check.
  // Errors: kDataLoss for pushes that Check would refuse, as a damaged log may
  // hold.
  virtual absl::Status Apply(int64_t iteration,
                             absl::Span<CoderPush> pushes) = 0;

  // What a worker is told with the positions of an iteration: of the next
  // update or of the last one.
  virtual std::string RemarksFor(int rank, int64_t iteration) const = 0;

  // Lines for the log about the last Apply.
  virtual std::vector<std::string> news() const = 0;

  // Load reads what Save wrote, also for another number of workers, which has
  // no last update then. Errors: kDataLoss.
  virtual void Save(StateWriter* writer) const = 0;
  virtual absl::Status Load(StateReader* reader) = 0;
};

using SliceCoderFactory =
    std::function<std::unique_ptr<SliceCoder>(const SliceCoderOptions&)>;

// Limits on what a SliceCoder takes.
struct SliceCoderBytes {
  int64_t memory = 0;
  int64_t remark = 0;  // Of what RemarksFor returns.
};

using SliceCoderBytesOf =
    std::function<SliceCoderBytes(const SliceCoderOptions&)>;

}  // namespace ps

#endif  // COMPRESSORS_SLICE_CODER_H_
