#include "tensor/cpu/cpu_sparse_kernels.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "common/mutex.h"
#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "tensor/cpu/cpu_magnitude_loops.h"
#include "tensor/cpu/cpu_scaling_loops.h"
#include "tensor/cpu/cpu_sum_loops.h"

namespace ps {
namespace {

// The number of elements that a thread takes at a time: large enough that the
// cost of starting does not matter, small enough that a large layer keeps all
// threads busy.
constexpr int64_t kChunk = 64 * 1024;

// From this size on, a vector does not fit the caches, so a store that bypasses
// them avoids reading the old contents.
constexpr int64_t kStreamFrom = int64_t{4} << 20;

bool StoresPastCaches(const float* out, int64_t n) {
  return n >= kStreamFrom && reinterpret_cast<uintptr_t>(out) % 64 == 0;
}

Moments Total(const std::vector<Moments>& parts) {
  Moments total;
  for (const Moments& part : parts) {
    total.num_nonzero += part.num_nonzero;
    total.num_non_finite += part.num_non_finite;
    total.sum += part.sum;
    total.sum_squares += part.sum_squares;
    total.max = std::max(total.max, part.max);
    if (part.num_nonzero == 0) continue;
    total.min_nonzero = total.min_nonzero == 0
                            ? part.min_nonzero
                            : std::min(total.min_nonzero, part.min_nonzero);
  }
  return total;
}

Exceedances Total(const std::vector<Exceedances>& parts) {
  Exceedances total;
  for (const Exceedances& part : parts) {
    total.count += part.count;
    total.sum += part.sum;
    total.sum_squares += part.sum_squares;
  }
  return total;
}

Moments AddAllChunks(ThreadPool* pool, const float* residual,
                     const float* gradient, int64_t n, const SieveGuess& guess,
                     float* out, std::vector<ChunkList>* kept,
                     std::vector<Exceedances>* above) {
  const AddOptions options = {StoresPastCaches(out, n), guess};
  std::vector<Moments> partial(NumChunks(n, kChunk));
  pool->ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
    const SumOfTwo sum = {residual + chunk.begin, gradient + chunk.begin,
                          chunk.end - chunk.begin,
                          static_cast<uint32_t>(chunk.begin)};
    AddChunk(sum, options, out + chunk.begin, &partial[chunk.index],
             &(*kept)[chunk.index], &(*above)[chunk.index]);
  });
  return Total(partial);
}

// Keeps one list for each chunk of the vector, so that sums over the lists are
// split at the same places as sums over the vector.
class CpuSieve final : public Sieve {
 public:
  explicit CpuSieve(ThreadPool* pool) : pool_(pool) {}

  void Reset(const float* u, int64_t n) override {
    u_ = u;
    n_ = n;
    kept_above_ = std::numeric_limits<float>::infinity();
    measured_ = false;
    const size_t num_chunks = NumChunks(n, kChunk);
    kept_.resize(num_chunks);
    for (ChunkList& list : kept_) list.size = 0;
    spare_.resize(num_chunks);
    partial_.resize(num_chunks);
  }

  absl::Status ResetToSum(const float* residual, const float* gradient,
                          int64_t n, const SieveGuess& guess, float* out,
                          Moments* moments) override {
    Reset(out, n);
    *moments = AddAllChunks(pool_, residual, gradient, n, guess, out, &kept_,
                            &partial_);
    kept_above_ = guess.keep_above;
    measured_ = guess.sums == SieveGuess::Sums::kExceedances;
    return absl::OkStatus();
  }

  absl::Status MeasureAbove(float location, float keep_above,
                            Exceedances* result) override {
    const bool keep_as_is = KeepsEnough(location, keep_above);
    if (!(measured_ && location == kept_above_ && keep_as_is)) {
      pool_->ParallelFor(n_, kChunk, [&](const ChunkRange& chunk) {
        MeasureChunk(Source(location, chunk), location, keep_above,
                     &partial_[chunk.index],
                     keep_as_is ? nullptr : &spare_[chunk.index]);
      });
      measured_ = false;
      if (!keep_as_is) KeepSpare(keep_above);
    }
    *result = Total(partial_);
    return absl::OkStatus();
  }

  absl::Status CountAbove(float location, float keep_above,
                          int64_t* count) override {
    if (location < kept_above_) {
      Exceedances result;
      PS_RETURN_IF_ERROR(MeasureAbove(location, keep_above, &result));
      *count = result.count;
      return absl::OkStatus();
    }
    if (!KeepsEnough(location, keep_above)) {
      SelectChunks(keep_above);
      KeepSpare(keep_above);
      measured_ = false;
    }
    std::vector<int64_t> counts(kept_.size());
    pool_->ParallelFor(n_, kChunk, [&](const ChunkRange& chunk) {
      const ChunkList& list = kept_[chunk.index];
      counts[chunk.index] =
          location == kept_above_ ? list.size : CountInList(list, location);
    });
    *count = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    return absl::OkStatus();
  }

  absl::Status SelectAbove(float threshold, Selection* selection) override {
    SelectChunks(threshold);
    std::vector<int64_t> begins(spare_.size() + 1);
    for (size_t c = 0; c < spare_.size(); ++c) {
      begins[c + 1] = begins[c] + spare_[c].size;
    }
    selection->indices.resize(begins.back());
    selection->values.resize(begins.back());
    pool_->ParallelFor(n_, kChunk, [&](const ChunkRange& chunk) {
      const ChunkList& list = spare_[chunk.index];
      const int64_t begin = begins[chunk.index];
      std::copy_n(list.indices.begin(), list.size,
                  selection->indices.begin() + begin);
      std::copy_n(list.values.begin(), list.size,
                  selection->values.begin() + begin);
    });
    return absl::OkStatus();
  }

 private:
  // Whether a query that keeps elements aside need not change what is kept.
  bool KeepsEnough(float location, float keep_above) const {
    return location >= kept_above_ && keep_above <= kept_above_;
  }

  // Keeps the elements that spare_ has.
  void KeepSpare(float above) {
    std::swap(kept_, spare_);
    kept_above_ = above;
  }

  // Sets spare_ to the elements above `threshold`.
  void SelectChunks(float threshold) {
    pool_->ParallelFor(n_, kChunk, [&](const ChunkRange& chunk) {
      SelectChunk(Source(threshold, chunk), threshold, &spare_[chunk.index]);
    });
  }

  // Returns all elements of the chunk above `threshold`, with as few others as
  // possible.
  ChunkSource Source(float threshold, const ChunkRange& chunk) const {
    if (threshold >= kept_above_) {
      return ChunkSource::OfList(kept_[chunk.index]);
    }
    return {u_ + chunk.begin, nullptr, chunk.end - chunk.begin,
            static_cast<uint32_t>(chunk.begin)};
  }

  ThreadPool* const pool_;  // Not owned.
  const float* u_ = nullptr;
  int64_t n_ = 0;
  // The threshold above which kept_ has all elements of u_.
  float kept_above_ = 0;
  std::vector<ChunkList> kept_;       // [chunks]
  std::vector<ChunkList> spare_;      // [chunks], the memory of the next lists.
  std::vector<Exceedances> partial_;  // [chunks]
  bool measured_ = false;  // Whether partial_ is that over kept_above_.
};

class CpuSparseKernels final : public SparseKernels {
 public:
  explicit CpuSparseKernels(int num_threads) : pool_(num_threads) {}

  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, float* out, Moments* moments) override {
    std::vector<ChunkList> none(NumChunks(n, kChunk));
    std::vector<Exceedances> nothing(none.size());
    *moments = AddAllChunks(&pool_, residual, gradient, n, SieveGuess(), out,
                            &none, &nothing);
    return absl::OkStatus();
  }

  absl::Status SumMagnitudes(const float* u, int64_t n,
                             Moments* moments) override {
    // Over location 0 every element is an exceedance or adds 0.
    std::vector<Exceedances> partial(NumChunks(n, kChunk));
    std::vector<ChunkList> none(partial.size());
    pool_.ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
      MeasureChunk({u + chunk.begin, nullptr, chunk.end - chunk.begin,
                    static_cast<uint32_t>(chunk.begin)},
                   0, std::numeric_limits<float>::infinity(),
                   &partial[chunk.index], &none[chunk.index]);
    });
    const Exceedances total = Total(partial);
    moments->sum = total.sum;
    moments->sum_squares = total.sum_squares;
    return absl::OkStatus();
  }

  absl::Status SumValues(const float* u, int64_t n, double* sum) override {
    *sum = SumOverChunks(SumValuesOfChunk, u, n);
    return absl::OkStatus();
  }

  absl::Status SumLogs(const float* u, int64_t n, double* sum) override {
    *sum = SumOverChunks(SumLogsOfChunk, u, n);
    return absl::OkStatus();
  }

  absl::Status SumSquares(const float* u, int64_t n, double* sum) override {
    *sum = SumOverChunks(SumSquaresOfChunk, u, n);
    return absl::OkStatus();
  }

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    pool_.ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
      ScaleChunk(Tail(x, chunk), chunk.end - chunk.begin, out + chunk.begin);
    });
    return absl::OkStatus();
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    pool_.ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
      AddScaledChunk(Tail(x, chunk), Tail(y, chunk), chunk.end - chunk.begin,
                     out + chunk.begin);
    });
    return absl::OkStatus();
  }

  std::unique_ptr<Sieve> NewSieve() override {
    return std::make_unique<CpuSieve>(&pool_);
  }

  absl::Status CountMagnitudes(const float* u, int64_t n,
                               const MagnitudeBins& bins,
                               std::vector<int64_t>* counts) override {
    constexpr int kNumBins = MagnitudeBins::kNumBins;
    constexpr int64_t kSamplesPerChunk = 256 * 1024;
    counts->assign(kNumBins, 0);
    // The mutex guards *counts. The counts are integers, so their order of
    // addition is irrelevant.
    Mutex mu;
    pool_.ParallelFor(NumChunks(n, bins.stride), kSamplesPerChunk,
                      [&](const ChunkRange& chunk) {
                        // Neighbours often fall into the same bin, and an
                        // addition must wait for the previous one to the same
                        // memory: hence two tables, used in turn.
                        uint32_t tables[2][kNumBins] = {};
                        for (int64_t i = chunk.begin; i < chunk.end; ++i) {
                          const uint32_t bits =
                              MagnitudeBits(u[i * bins.stride]);
                          // Bits below `low` wrap round to a bin that is too
                          // high.
                          const uint32_t bin = (bits - bins.low) >> bins.shift;
                          if (bin < kNumBins) ++tables[i & 1][bin];
                        }
                        MutexLock lock(&mu);
                        for (int b = 0; b < kNumBins; ++b) {
                          (*counts)[b] += int64_t{tables[0][b]} + tables[1][b];
                        }
                      });
    return absl::OkStatus();
  }

  absl::Status SelectEqual(const float* u, int64_t n, float magnitude,
                           int64_t limit, Selection* selection) override {
    const uint32_t wanted = MagnitudeBits(magnitude);
    selection->clear();
    for (int64_t i = 0; i < n && selection->size() < limit; ++i) {
      if (MagnitudeBits(u[i]) != wanted) continue;
      selection->indices.push_back(static_cast<uint32_t>(i));
      selection->values.push_back(u[i]);
    }
    return absl::OkStatus();
  }

  absl::Status Gather(const float* u, Selection* selection) override {
    selection->values.resize(selection->size());
    for (int64_t i = 0; i < selection->size(); ++i) {
      selection->values[i] = u[selection->indices[i]];
    }
    return absl::OkStatus();
  }

  absl::Status GatherTo(const float* u, const std::vector<uint32_t>& indices,
                        float* out) override {
    for (const uint32_t index : indices) *out++ = u[index];
    return absl::OkStatus();
  }

  absl::Status Scatter(const Selection& selection, float* u) override {
    ForElements(selection,
                [u](uint32_t index, float value) { u[index] = value; });
    return absl::OkStatus();
  }

  absl::Status AddAt(const Selection& selection, float* u) override {
    ForElements(selection,
                [u](uint32_t index, float value) { u[index] += value; });
    return absl::OkStatus();
  }

  absl::Status Clear(float* u, int64_t n) override {
    pool_.ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
      std::fill(u + chunk.begin, u + chunk.end, 0.0f);
    });
    return absl::OkStatus();
  }

  ThreadPool& host_threads() override { return pool_; }

 private:
  // Returns the part of `x` from the chunk's first element on.
  static ScaledVector Tail(const ScaledVector& x, const ChunkRange& chunk) {
    return {x.data + chunk.begin, x.scale};
  }

  // Calls visit(index, value) for all elements, on all threads.
  template <class Visit>
  void ForElements(const Selection& selection, const Visit& visit) {
    pool_.ParallelFor(selection.size(), kChunk, [&](const ChunkRange& chunk) {
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        visit(selection.indices[i], selection.values[i]);
      }
    });
  }

  double SumOverChunks(double (*sum_of_chunk)(const float*, int64_t),
                       const float* u, int64_t n) {
    std::vector<double> partial(NumChunks(n, kChunk));
    pool_.ParallelFor(n, kChunk, [&](const ChunkRange& chunk) {
      partial[chunk.index] =
          sum_of_chunk(u + chunk.begin, chunk.end - chunk.begin);
    });
    double sum = 0;
    for (const double part : partial) sum += part;
    return sum;
  }

  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<SparseKernels> NewCpuSparseKernels(int num_threads) {
  return std::make_unique<CpuSparseKernels>(num_threads);
}

}  // namespace ps
