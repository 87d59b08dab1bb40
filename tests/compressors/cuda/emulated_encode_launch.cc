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
                            int64_t count, cudaStream_t stream) {
  return QueueBlocks<NothingShared>(
      1, stream, [=](HostBlock& block, int64_t, NothingShared*) {
        FindParts(block, batch, bucket_size, count);
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

cudaError_t LaunchScanGaps(const EncodeBatch& batch, cudaStream_t stream) {
  return QueueBlocks<LengthShared>(
      batch.num_parts, stream,
      [=](HostBlock& block, int64_t b, LengthShared* shared) {
        ScanGaps(block, batch, b, shared);
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
  return QueueBlocks<LevelShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, LevelShared* shared) {
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

cudaError_t LaunchScanLevels(const EncodeBatch& batch, cudaStream_t stream) {
  return QueueBlocks<LengthShared>(
      batch.num_parts, stream,
      [=](HostBlock& block, int64_t b, LengthShared* shared) {
        ScanLevels(block, batch, b, shared);
      });
}

cudaError_t LaunchWriteLevels(const EncodeBatch& batch,
                              const ValuePacking& packing, int64_t num_blocks,
                              cudaStream_t stream) {
  return QueueBlocks<LevelShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, LevelShared* shared) {
        WriteLevels(block, batch, packing, b, shared);
      });
}

cudaError_t LaunchPackValues(const EncodeBatch& batch,
                             const ValuePacking& packing, int64_t num_blocks,
                             cudaStream_t stream) {
  return QueueBlocks<NothingShared>(
      num_blocks, stream, [=](HostBlock& block, int64_t b, NothingShared*) {
        PackValues(block, batch, packing, b);
      });
}

cudaError_t LaunchWriteIndices(const EncodeBatch& batch, int64_t num_blocks,
                               cudaStream_t stream) {
  return QueueBlocks<IndexShared>(
      num_blocks, stream,
      [=](HostBlock& block, int64_t b, IndexShared* shared) {
        WriteIndices(block, batch, b, shared);
      });
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
