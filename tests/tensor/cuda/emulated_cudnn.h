// cuDNN as the emulated device has it.
#ifndef TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_
#define TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_

#include <map>
#include <string>

namespace ps {

// Its functions by name; null where it is not to be found
// (SetEmulatedCudnn), or the build has none.
std::map<std::string, void*>* EmulatedCudnn();

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_EMULATED_CUDNN_H_
