// Vectors on a device, for tests of what compressors do there.
#ifndef TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_
#define TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "compressors/cuda/device_search.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tensor/device_selection.h"
#include "tensor/on_device.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// A test that is skipped where there is no CUDA device.
class DeviceVectorsTest : public testing::Test {
 protected:
  void SetUp() override;

  SparseWork* work() { return backend_->sparse().device_work(); }
  Tensor Put(const std::vector<float>& values);
  std::vector<float> Get(const Tensor& tensor);

  // Places the vectors of the next Sums so that the gradient begins `shift_`
  // elements after an address that is aligned to 16 bytes.
  void SetShift(int64_t shift) { shift_ = shift; }

  // Runs a search over residual + gradient, or over the gradient if there is no
  // residual, in memory that lives until the next call.
  template <class Request>
  absl::Status Run(const std::vector<float>& residual,
                   const std::vector<float>& gradient, Request request,
                   typename Request::Result* result) {
    request.sum = SumOf(residual, gradient);
    return Searching<Request>().Run(request, result);
  }

  // The search for one kind of request, with the memory that it has.
  template <class Request>
  DeviceSearch<Request>& Searching() {
    static_assert(sizeof(Request) > 0, "");
    std::shared_ptr<void>& search = searches_[SlotOf<Request>()];
    if (search == nullptr) search = NewOnDevice<DeviceSearch<Request>>(work());
    return *static_cast<DeviceSearch<Request>*>(search.get());
  }

  // Expects these elements of u on the host, and, as a Scatter shows, on the
  // device; and that the last search has formed u. No selection is expected of
  // more elements than the capacity.
  void ExpectSelected(const std::vector<float>& u, const Selection& expected,
                      DeviceSelection* actual,
                      int64_t capacity = std::numeric_limits<int64_t>::max());

  std::unique_ptr<Backend> backend_;  // Null where the test is skipped.
  // Expected selections with at most the capacity's elements, and others.
  int num_in_room_ = 0;
  int num_too_many_ = 0;

 private:
  template <class Request>
  static const void* SlotOf() {
    static const char slot = 0;
    return &slot;
  }
  DeviceSum SumOf(const std::vector<float>& residual,
                  const std::vector<float>& gradient);

  int64_t shift_ = 0;
  Tensor residual_;
  Tensor gradient_;
  Tensor u_;
  std::map<const void*, std::shared_ptr<void>> searches_;
};

// residual + gradient; the gradient alone if there is no residual.
std::vector<float> AddUp(const std::vector<float>& residual,
                         const std::vector<float>& gradient);

// The elements of u above a threshold.
Selection Above(const std::vector<float>& u, float threshold);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_DEVICE_VECTORS_H_
