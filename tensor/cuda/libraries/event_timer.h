// Times work on the device by events.
#ifndef TENSOR_CUDA_LIBRARIES_EVENT_TIMER_H_
#define TENSOR_CUDA_LIBRARIES_EVENT_TIMER_H_

#include <cuda_runtime_api.h>

#include "tensor/cuda/libraries/trials.h"

namespace ps {

// For work on this stream of the current device. Waits for the stream, which
// must not be captured. Errors: those of the work and of CUDA.
TimeWork NewEventTimer(cudaStream_t stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_EVENT_TIMER_H_
