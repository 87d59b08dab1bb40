// A CUDA device on the CPU, for tests that link //tests/ptx in place of CUDA's
// runtime: what tests can set and ask. The kernels are those of the linked
// `_ptx` libraries; see README.md.
//
// Streams are queues of work. Nothing runs until somebody waits for it, and
// then only as much as is necessary. Work that is not ordered by an event
// therefore runs too late, and a test notices it. The device's memory is host
// memory.
#ifndef TESTS_PTX_DEVICE_H_
#define TESTS_PTX_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ptx {

// The order in which the threads of a block run, and the blocks of a grid.
// Correct kernels do not depend on it.
enum class Order { kForward, kBackward, kShuffled };
void SetOrder(Order order, uint32_t seed = 0);
Order CurrentOrder();

// The number of multiprocessors, and the blocks that each of them can hold.
// Initially 3 and 1: the largest cooperative grid has 3 blocks.
void SetMultiprocessors(int count, int blocks_each);

// Whether accesses are checked for races; initially they are.
void CheckRaces(bool check);

// By default work on the default stream is refused, since it waits for others.
void AllowDefaultStream();

// What a kernel did wrong ends the process, with a message that names kernel,
// block, thread and line. While a FaultCatcher exists the launch ends instead,
// calls that wait return an error, and message() is the first message.
class FaultCatcher {
 public:
  FaultCatcher();
  ~FaultCatcher();
  FaultCatcher(const FaultCatcher&) = delete;
  FaultCatcher& operator=(const FaultCatcher&) = delete;
  const std::string& message() const;
};
void ReportFault(const std::string& message);

// Appends work of the device to a stream, as a launch does.
cudaError_t QueueOnStream(cudaStream_t stream, std::function<void()> work);

// After `num_calls` more successful calls of the runtime, the next call fails
// with `error`, and so do all after it. Negative: no call fails.
void FailCallsAfter(int num_calls, cudaError_t error);

// From now on only queued work may access device memory that is allocated from
// now on; any other access is a segmentation fault. Slow. Returns true.
bool ProtectDeviceMemory();

// Whether all of these bytes are in one piece of pinned memory.
bool IsPinnedMemory(const void* data, size_t size_bytes);

// Number of allocation calls so far, and of all calls that can fail.
int64_t NumAllocations();
int64_t NumCalls();

// Number of kernels queued so far, and of times that the host waited for a
// stream.
int64_t NumLaunches();
int64_t NumWaits();

// The kernels launched since the last call, in order, by their names as people
// write them.
std::vector<std::string> TakeLaunches();

}  // namespace ptx

#endif  // TESTS_PTX_DEVICE_H_
