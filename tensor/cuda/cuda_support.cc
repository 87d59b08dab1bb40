#include "tensor/cuda/cuda_support.h"

namespace ps {
namespace {

CudaSupport registered;
bool is_registered = false;

}  // namespace

const CudaSupport* FindCudaSupport() {
  return is_registered ? &registered : nullptr;
}

bool RegisterCudaSupport(const CudaSupport& support) {
  registered = support;
  is_registered = true;
  return true;
}

}  // namespace ps
