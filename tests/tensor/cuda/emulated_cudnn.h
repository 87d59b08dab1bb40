// cuDNN for the emulated device.
#ifndef TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_
#define TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_

#include <map>
#include <string>

namespace ps {

// Its functions by name; null if cuDNN is set not to be found
// (SetEmulatedCudnn), or if the build has none.
std::map<std::string, void*>* EmulatedCudnn();

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_
