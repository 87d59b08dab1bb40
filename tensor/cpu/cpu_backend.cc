#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "common/thread_pool.h"
#include "tensor/backend.h"
#include "tensor/cpu/cpu_compressor_backend.h"
#include "tensor/cpu/cpu_nn_kernels.h"
#include "tensor/cpu/cpu_sequence_kernels.h"

namespace ps {
namespace {

class CpuBackend final : public CpuCompressorBackend {
 public:
  CpuBackend(int num_threads, std::unique_ptr<NnKernels> nn)
      : CpuCompressorBackend(num_threads),
        nn_(std::move(nn)),
        sequences_(NewCpuSequenceKernels(num_threads)) {}

  bool uses_threads() const override { return true; }
  void UseThreads(int num_threads) override {
    nn_->UseThreads(num_threads);
    sequences_->UseThreads(num_threads);
    sparse().host_threads().Resize(num_threads);
  }

  NnKernels& nn() override { return *nn_; }
  SequenceKernels& sequences() override { return *sequences_; }

 private:
  const std::unique_ptr<NnKernels> nn_;
  const std::unique_ptr<SequenceKernels> sequences_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewCpuBackend(
    const CpuBackendOptions& options) {
  PS_RETURN_IF_ERROR(CheckCpuBackendOptions(options));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<NnKernels> nn,
                      NewCpuNnKernels(options.num_threads));
  return std::make_unique<CpuBackend>(options.num_threads, std::move(nn));
}

}  // namespace ps
