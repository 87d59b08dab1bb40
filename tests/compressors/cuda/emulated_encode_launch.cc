// The launchers of the encoding kernels on an emulated device: a loop over
// blocks each.

#ifdef PS_HAVE_CUDA

#include <cstring>
#include <memory>

#include "compressors/cuda/encoding/encode_launch.h"
#include "tests/tensor/cuda/emulated_device.h"
#include "tests/tensor/cuda/host_block.h"

namespace ps {
namespace {

// Calls body(block, b, shared) for every block of a grid, in the order that is
// set for threads.
template <class Shared, class Body>
cudaError_t QueueBlocks(int64_t num_blocks, cudaStream_t stream, Body body) {
  if (num_blocks < 1) return cudaErrorInvalidConfiguration;
  return QueueOnEmulatedStream(stream, [num_blocks, body] {
    HostBlock block(EmulatedThreadOrder());
    for (int64_t i = 0; i < num_blocks; ++i) {
      const auto shared = std::make_unique<Shared>();
      // A block must not rely on the initial contents.
      std::memset(static_cast<void*>(shared.get()), 0xcd, sizeof(Shared));
      const bool forward = EmulatedThreadOrder() == ThreadOrder::kForward;
      body(block, forward ? i : num_blocks - 1 - i, shared.get());
    }
  });
}

struct NothingShared {};

template <class Sums>
cudaError_t QueueSums(const EncodeBatch& batch, int64_t num_blocks,
                      ValueSums* sums, cudaStream_t stream) {
  return QueueBlocks<SumShared<Sums>>(
      num_blocks, stream, [=](HostBlock& block, int64_t b, auto* shared) {
        SumValues(block, batch, b, shared, reinterpret_cast<Sums*>(sums));
      });
}

template <class Sums>
cudaError_t QueueFold(const EncodeBatch& batch, const ValuePacking& packing,
                      const ValueSums* sums, cudaStream_t stream) {
  return QueueBlocks<FoldValuesShared<Sums>>(
      batch.num_parts, stream, [=](HostBlock& block, int64_t b, auto* shared) {
        FoldValues(block, batch, packing, b,
                   reinterpret_cast<const Sums*>(sums), shared);
      });
}

}  // namespace

cudaError_t LaunchFindParts(const EncodeBatch& batch, uint32_t bucket_size,
                            const ElementCount& number, cudaStream_t stream) {
  return QueueBlocks<LengthShared>(
      1, stream, [=](HostBlock& block, int64_t, LengthShared* shared) {
        FindParts(block, batch, bucket_size, number, shared);
      });
}

cudaError_t LaunchMeasureGaps(const EncodeBatch& batch, int64_t num_blocks,
                              cudaStream_t stream) {
  return QueueBlocks<MeasureShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, MeasureShared* shared) {
        MeasureGaps(block, batch, b, shared);
      });
}

cudaError_t LaunchSumValues(const EncodeBatch& batch,
                            const ValuePacking& packing, int64_t num_blocks,
                            ValueSums* sums, cudaStream_t stream) {
  if (packing.code == ValueCode::kSign) {
    return QueueSums<MagnitudeSum>(batch, num_blocks, sums, stream);
  }
  if (packing.code == ValueCode::kOneBit) {
    return QueueSums<SidedSums>(batch, num_blocks, sums, stream);
  }
  return QueueSums<SpreadSums>(batch, num_blocks, sums, stream);
}

cudaError_t LaunchFoldValues(const EncodeBatch& batch,
                             const ValuePacking& packing, const ValueSums* sums,
                             cudaStream_t stream) {
  if (packing.code == ValueCode::kSign) {
    return QueueFold<MagnitudeSum>(batch, packing, sums, stream);
  }
  if (packing.code == ValueCode::kOneBit) {
    return QueueFold<SidedSums>(batch, packing, sums, stream);
  }
  return QueueFold<SpreadSums>(batch, packing, sums, stream);
}

cudaError_t LaunchScaleBuckets(const EncodeBatch& batch,
                               const ValuePacking& packing, int64_t num_blocks,
                               cudaStream_t stream) {
  return QueueBlocks<ScaleShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, ScaleShared* shared) {
        ScaleBuckets(block, batch, packing, b, shared);
      });
}

cudaError_t LaunchFitSamples(const EncodeBatch& batch,
                             const ValuePacking& packing, cudaStream_t stream) {
  return QueueBlocks<FitShared>(
      batch.num_parts, stream,
      [=](HostBlock& block, int64_t b, FitShared* shared) {
        FitSamples(block, batch, packing, b, shared);
      });
}

cudaError_t LaunchRoundLevels(const EncodeBatch& batch,
                              const ValuePacking& packing, int64_t num_blocks,
                              cudaStream_t stream) {
  return QueueBlocks<RoundShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, RoundShared* shared) {
        RoundLevels(block, batch, packing, b, shared);
      });
}

cudaError_t LaunchMeasureLevels(const EncodeBatch& batch,
                                const ValuePacking& packing, int64_t num_blocks,
                                cudaStream_t stream) {
  return QueueBlocks<LevelShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, LevelShared* shared) {
        MeasureLevels(block, batch, packing, b, shared);
      });
}

cudaError_t LaunchPlanPayloads(const EncodeBatch& batch,
                               const ValuePacking& values,
                               const IndexPacking& indices,
                               int64_t window_bytes, cudaStream_t stream) {
  return QueueBlocks<PlanShared>(
      1, stream, [=](HostBlock& block, int64_t, PlanShared* shared) {
        PlanPayloads(block, batch, values, indices, window_bytes, shared);
      });
}

cudaError_t LaunchPackPayloads(const EncodeBatch& batch,
                               const ValuePacking& packing, int window,
                               int64_t num_chunks, cudaStream_t stream) {
  return QueueBlocks<PackShared>(
      num_chunks * BlocksPerChunk(batch), stream,
      [=](HostBlock& block, int64_t b, PackShared* shared) {
        PackPayloads(block, batch, packing, window, b, shared);
      });
}

cudaError_t LaunchCopyPayloads(const EncodeBatch& batch, int window,
                               uint8_t* to, int64_t num_blocks,
                               cudaStream_t stream) {
  return QueueBlocks<NothingShared>(
      num_blocks, stream, [=](HostBlock& block, int64_t b, NothingShared*) {
        CopyPayloads(block, batch, window, b, num_blocks, to);
      });
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
