// CUDA's libraries for the emulated device (tests/ptx/device.h): FakeCublas and
// FakeCudnn, whose work is queued on its streams. The code that loads
// and calls them is the real one.
#ifndef TESTS_TENSOR_CUDA_EMULATED_LIBRARIES_H_
#define TESTS_TENSOR_CUDA_EMULATED_LIBRARIES_H_

#include <cstdint>
#include <string>

namespace ps {

// Sets whether backends that are made from now on find cuDNN; initially they
// do.
void InstallEmulatedCudnn(bool installed);

// From now on the call of cuDNN with this name (FakeCudnn::failing) fails,
// since a part of the library cannot be loaded; empty: no call fails.
void FailEmulatedCudnn(const std::string& call);

// Number of calls of cuDNN for passes of layers so far.
int64_t NumEmulatedConvolutions();

// Whether the machine's own libraries are loaded instead, for tests that need
// no device.
void UseInstalledLibraries(bool use);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_EMULATED_LIBRARIES_H_
