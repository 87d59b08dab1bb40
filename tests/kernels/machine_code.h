// What the machine code of CUDA kernels says about their speed, without a
// device to run them on.
#ifndef TESTS_KERNELS_MACHINE_CODE_H_
#define TESTS_KERNELS_MACHINE_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

struct KernelCode {
  std::string name;      // As in C++, without namespaces and arguments.
  int architecture = 0;  // 90 for sm_90.
  int registers = 0;     // For each thread.
  // Threads of a block, from __launch_bounds__; 0: the kernel has none.
  int max_threads = 0;
  int64_t shared_bytes = 0;  // Static shared memory of a block.
  // Bytes that the instructions store to local memory. These are spilled
  // registers, or arrays that are indexed by a variable.
  int64_t spilled_bytes = 0;
  // The same in functions that the compiler has not inlined.
  int64_t outlined_spilled_bytes = 0;
  // For each sequence of loads from global memory that a thread issues before
  // it waits for the first of them: the bytes of these loads, in the order of
  // the code.
  std::vector<int> batches;
  // Length of the longest sequence of batches of at most 8 bytes, a float from
  // each of two arrays: each was waited for before the next was issued. Ends at
  // larger batches, where a block waits for its threads, and where a function
  // returns.
  int loads_in_turn = 0;

  // Bytes of the largest batch; 0: there are no loads.
  int LargestBatch() const;
  // Threads that fit on a multiprocessor at once, as far as registers and
  // static shared memory allow. 0 without launch bounds.
  int ResidentThreads() const;
};

// Reads all kernels of an object file or program by nvcc, compiled with
// --no-compress, for sm_80 and sm_90. Errors: kNotFound if the file has none,
// kDataLoss for code that does not have the expected form.
absl::StatusOr<std::vector<KernelCode>> ReadKernels(const std::string& path);

// A table of them, for people.
std::string KernelTable(const std::vector<KernelCode>& kernels);

}  // namespace ps

#endif  // TESTS_KERNELS_MACHINE_CODE_H_
