// Turns a gradient into the part that is sent, and keeps the rest.
//
// Every implementation obeys this invariant, element by element:
//     residual before + gradient = decoded payload + residual after.
// Where a config clips the gradient or applies momentum, it holds for the
// result of that instead of the gradient.
#ifndef COMPRESSORS_COMPRESSOR_H_
#define COMPRESSORS_COMPRESSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config_check.h"
#include "common/registry.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/position_remarks.h"
#include "compressors/slice_coder.h"
#include "proto/compressor_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// A tensor of weights within a vector: NumElements(shape) elements starting at
// `begin`.
struct TensorSpan {
  int64_t begin = 0;
  // The shape in PyTorch's layout; a convolution has four dimensions.
  Shape shape;
  // The number of uses of each weight for one example: in a convolution one for
  // each position of its output.
  int64_t uses = 1;
  bool first = false;  // Whether it is the first tensor of the model.
  // Whether it is the last tensor of the model with several dimensions.
  bool last = false;
};

// The input of each Compress for compressors whose workers share positions.
struct SharedPositions {
  // Whether another worker leads this iteration; this one then sends its values
  // at `indices`. Otherwise it selects positions itself.
  bool given = false;
  std::vector<uint32_t> indices;  // Ascending, in the whole vector.
  // If given: the side information that came with the positions, by part.
  std::vector<PositionRemarks> remarks;
  // If given: whether a part has no leader, so that this worker selects its
  // positions, too; `indices` has none of them. Empty means that all have
  // leaders.
  std::vector<bool> led;
};

struct CompressorOptions {
  CompressorConfig config;
  // The length of every gradient; below 2^32.
  int64_t dense_size = 0;
  // The ends of the parts, one per payload: part p covers [part_ends[p - 1],
  // part_ends[p]), and its indices count from its own begin. Ascending; the
  // last one is dense_size. If empty, there is one part.
  std::vector<int64_t> part_ends;
  // The tensors that make up the vector, one after the other from 0 to
  // dense_size. If empty, there is one tensor of unknown shape.
  std::vector<TensorSpan> tensors;
  // Counter-based draws depend only on these fields and on the iteration.
  uint64_t seed = 0;
  int worker_rank = 0;
  int bucket = 0;
  int num_workers = 1;         // At least 1.
  Backend* backend = nullptr;  // Not owned; outlives the compressor.
  // The input for compressors whose workers share positions; null if there are
  // no other workers. Not owned; outlives the compressor.
  const SharedPositions* shared_positions = nullptr;
};

// Describes one call of Compress.
struct CompressionStats {
  // Whether the gradient or the sum contained a NaN or an infinity: nothing was
  // selected, and neither the residual nor the state changed.
  bool non_finite = false;
  // The threshold: greater magnitudes were sent. For exact top-k it is the
  // smallest magnitude sent; 0 if everything is sent.
  double threshold = 0;
  // The elements above the estimated threshold, before fallbacks and caps.
  int64_t raw_count = 0;
  int64_t count = 0;  // Elements sent.
  // max(1, floor(ratio x dense_size)), or 0 if the vector is empty; equal to
  // `count` for compressors that do not use the ratio.
  int64_t target_count = 0;
  int stages = 0;
  // Whether everything was sent, although the config asks for less, because
  // that takes less time or training begins; so no element was sent late.
  bool chosen_dense = false;
  // The reason why the selection differs from the estimate's; empty if it does
  // not. Each compressor documents its values.
  std::string fallback;
};

struct EncodedGradient {
  // One payload per part, in order. Each describes itself
  // (compressors/payload/payload.h).
  std::vector<PayloadBuffer> parts;
  CompressionStats stats;
};

// A compressor for one bucket of one worker. Not thread-safe.
class Compressor {
 public:
  virtual ~Compressor() = default;

  // Forms u = *residual + gradient, returns what to send, and leaves the rest
  // in *residual. Both tensors have dense_size elements. On return *residual
  // may be backed by other storage, so do not use pointers into it taken before
  // the call. Without error feedback, pass a zeroed residual and discard it.
  // A non-finite u is not an error: see CompressionStats. Errors:
  // kInvalidArgument for a wrong size, and errors of the backend.
  virtual absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                                   Tensor* residual) = 0;

  // Save and load the state other than the residual, for checkpoints, as opaque
  // bytes. Load returns kDataLoss for bytes that Save of the same kind of
  // compressor did not write.
  virtual std::string SaveState() const = 0;
  virtual absl::Status LoadState(absl::string_view state) = 0;
};

using CompressorFactory =
    std::function<absl::StatusOr<std::unique_ptr<Compressor>>(
        const CompressorOptions&)>;

// A registered plug-in: its factory, and its properties.
struct CompressorPlugin {
  CompressorPlugin() = default;
  explicit CompressorPlugin(CompressorFactory factory)
      : factory(std::move(factory)) {}

  CompressorPlugin WithOwnCode() const {
    CompressorPlugin plugin = WithoutTargetRatio();
    plugin.writes_own_code = true;
    return plugin;
  }
  CompressorPlugin WithoutTargetRatio() const {
    CompressorPlugin plugin = *this;
    plugin.has_target_ratio = false;
    return plugin;
  }
  CompressorPlugin SharingPositions() const {
    CompressorPlugin plugin = *this;
    plugin.shares_positions = true;
    return plugin;
  }
  CompressorPlugin WithSliceCoder(SliceCoderFactory coder,
                                  SliceCoderBytesOf bytes) const {
    CompressorPlugin plugin = *this;
    plugin.slice_coder = std::move(coder);
    plugin.slice_coder_bytes = std::move(bytes);
    return plugin;
  }
  CompressorPlugin ChoosingByTime() const {
    CompressorPlugin plugin = *this;
    plugin.chooses_by_time = true;
    return plugin;
  }

  // Call NewCompressor (compressors/new_compressor.h) instead: it checks the
  // options first.
  CompressorFactory factory;
  // Whether the compressor writes a code of its own, so that ratio, index_code
  // and value_code have no effect.
  bool writes_own_code = false;
  // Whether the compressor aims at the config's ratio; false if something else
  // decides how much is sent.
  bool has_target_ratio = true;
  // Whether the compressor may send all elements, as values in a code of its
  // own choice, while a worker measures that this takes less time.
  bool chooses_by_time = false;
  // Whether in each iteration one worker selects positions for all
  // (SharedPositions).
  bool shares_positions = false;
  // The compressor's server-side codec (slice_coder.h) and its costs, if
  // workers share positions; null if it has none.
  SliceCoderFactory slice_coder;
  SliceCoderBytesOf slice_coder_bytes;
};

// Returns the registry of all compressors that are linked in.
Registry<CompressorPlugin>& CompressorRegistry();

// Returns the plug-in of this name; CompressorPlugin() if the name is unknown.
CompressorPlugin FindCompressor(const std::string& name);

// Registers a plug-in; ends its file. `meaning` is one line for lists; `plugin`
// is a CompressorPlugin or only a factory.
#define REGISTER_COMPRESSOR(name, meaning, plugin)              \
  [[maybe_unused]] static const bool ps_compressor_registered = \
      ::ps::CompressorRegistry().Register(name, meaning,        \
                                          ::ps::CompressorPlugin(plugin))

// Whether these workers share positions; and the leader, each worker in turn.
bool SharesPositions(const CompressorConfig& config, int num_workers);
inline int LeaderOf(int64_t iteration, int num_workers) {
  return static_cast<int>(iteration % num_workers);
}

// Reports index_code and value_code if they are set for a compressor that
// writes its own code; `path` ends in a dot or is empty.
void CheckOwnCode(const CompressorConfig& config, const std::string& path,
                  ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_COMPRESSOR_H_
