// The interface of the operations that compressors need from a device: a few
// kinds of pass over long vectors.
//
// Every result is a pure function of the inputs: work is cut into fixed chunks
// whose partial sums are added in order, in double, so that results depend
// neither on the number of threads nor on scheduling.
#ifndef TENSOR_SPARSE_KERNELS_H_
#define TENSOR_SPARSE_KERNELS_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tensor/moments.h"
#include "tensor/vector_kernels.h"

namespace ps {

// The selected elements of a vector, in ascending order of index.
struct Selection {
  std::vector<uint32_t> indices;
  std::vector<float> values;

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
  void clear() {
    indices.clear();
    values.clear();
  }
};

// The queries to expect on a vector that is yet to be formed.
struct SieveGuess {
  // A lower bound of later thresholds. Infinity: no query will follow.
  float keep_above = std::numeric_limits<float>::infinity();
  // The sums that will be asked for; they take time. The moments' own are 0
  // unless they are these.
  enum class Sums {
    kNone,
    kMagnitudes,  // The moments'.
    kExceedances  // Those of MeasureAbove(keep_above, keep_above).
  };
  Sums sums = Sums::kMagnitudes;
};

// Evaluates one vector at many thresholds. The elements above a low threshold
// are kept aside, so that higher ones need not read the vector again.
class Sieve {
 public:
  virtual ~Sieve() = default;

  // Sets the vector to u, which must not change while it is in use.
  virtual void Reset(const float* u, int64_t n) = 0;

  // Sets the vector to out = residual + gradient. It is formed and measured as
  // by SparseKernels::AddAndMeasure. The same pass keeps aside the elements
  // above guess.keep_above. A wrong guess changes the time that the next call
  // takes, never a result.
  virtual absl::Status ResetToSum(const float* residual, const float* gradient,
                                  int64_t n, const SieveGuess& guess,
                                  float* out, Moments* moments) = 0;

  // Computes statistics of the exceedances over `location`. `keep_above` is a
  // guess of the lowest threshold that later calls will ask for, and the
  // elements above it are kept aside. Fewer are kept if fewer were kept before
  // and `location` needs no others. The guess affects the time that later calls
  // take (a pass over the vector for a threshold below it), never a result.
  virtual absl::Status MeasureAbove(float location, float keep_above,
                                    Exceedances* result) = 0;

  // Counts the elements above `location`, and keeps elements aside, as
  // MeasureAbove does. It takes less time.
  virtual absl::Status CountAbove(float location, float keep_above,
                                  int64_t* count) = 0;

  // Replaces `selection` by all elements with |u[i]| > threshold; a negative
  // threshold selects everything.
  virtual absl::Status SelectAbove(float threshold, Selection* selection) = 0;
};

// Returns |x| as an integer: its bits without the sign. A larger magnitude has
// a larger integer; infinity is above all finite floats, and NaNs are above
// infinity.
inline uint32_t MagnitudeBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7fffffff;
}
constexpr uint32_t kInfinityMagnitudeBits = 0x7f800000;

inline float MagnitudeFromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// A histogram of magnitudes by their bits. Bin b counts the sampled elements
// with bits in [low + (b << shift), low + ((b + 1) << shift)).
struct MagnitudeBins {
  static constexpr int kNumBins = 4096;
  uint32_t low = 0;
  int shift = 19;  // With low = 0: all magnitudes, 16 bins per octave.
  // The distance of sampled elements: 0, stride, 2 stride, ...
  int64_t stride = 1;
};

class SparseWork;  // tensor/cuda/sparse/sparse_work.h
class ThreadPool;  // common/thread_pool.h

// Vectors have fewer than 2^32 elements. Pointers are to the backend's memory.
class SparseKernels : public VectorKernels {
 public:
  // Computes out[i] = residual[i] + gradient[i], and the moments of out, in one
  // pass. `out` must overlap neither input, so that a caller that finds a NaN
  // still has both.
  virtual absl::Status AddAndMeasure(const float* residual,
                                     const float* gradient, int64_t n,
                                     float* out, Moments* moments) = 0;

  // Computes the moments' sum and sum_squares, which ResetToSum may have
  // omitted; the results are the same bit for bit.
  virtual absl::Status SumMagnitudes(const float* u, int64_t n,
                                     Moments* moments) = 0;

  // Computes the sum of u[i], and the sum of ln |u[i]| over the non-zero
  // elements. All elements must be finite.
  virtual absl::Status SumValues(const float* u, int64_t n, double* sum) = 0;
  virtual absl::Status SumLogs(const float* u, int64_t n, double* sum) = 0;

  // Computes the sum of u[i]^2; not finite if any element is not finite.
  virtual absl::Status SumSquares(const float* u, int64_t n, double* sum) = 0;

  // Creates a sieve, which has no vector until Reset or ResetToSum. It must not
  // outlive these kernels.
  virtual std::unique_ptr<Sieve> NewSieve() = 0;

  // Fills a histogram. counts: [MagnitudeBins::kNumBins].
  virtual absl::Status CountMagnitudes(const float* u, int64_t n,
                                       const MagnitudeBins& bins,
                                       std::vector<int64_t>* counts) = 0;

  // Replaces `selection` by the first elements with |u[i]| == magnitude, up to
  // `limit` of them.
  virtual absl::Status SelectEqual(const float* u, int64_t n, float magnitude,
                                   int64_t limit, Selection* selection) = 0;

  // Sets selection->values[i] = u[selection->indices[i]]; the indices may be in
  // any order.
  virtual absl::Status Gather(const float* u, Selection* selection) = 0;

  // Sets out[i] = u[indices[i]]; `out` is in the backend's memory.
  virtual absl::Status GatherTo(const float* u,
                                const std::vector<uint32_t>& indices,
                                float* out) = 0;

  // Sets u[selection.indices[i]] = selection.values[i]. No index may occur
  // twice.
  virtual absl::Status Scatter(const Selection& selection, float* u) = 0;

  // Adds values[i] to u[indices[i]]. No index may occur twice.
  virtual absl::Status AddAt(const Selection& selection, float* u) = 0;

  // The steps that these kernels consist of, for the device code of compressors
  // (compressors/cuda). Null if the memory is the host's. Lives as long as
  // these kernels.
  virtual SparseWork* device_work() { return nullptr; }

  // Threads for loops over the host's memory.
  virtual ThreadPool& host_threads() = 0;
};

}  // namespace ps

#endif  // TENSOR_SPARSE_KERNELS_H_
