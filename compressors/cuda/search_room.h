// What the searches of this folder share on the host's side. For .cu files.
#ifndef COMPRESSORS_CUDA_SEARCH_ROOM_H_
#define COMPRESSORS_CUDA_SEARCH_ROOM_H_

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "compressors/cuda/device_search.h"
#include "tensor/cuda/sparse/passes.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

inline PassVector VectorOf(const DeviceSum& sum) {
  return {sum.residual, sum.gradient, sum.u, sum.n};
}

// The memory of a search. A kernel leaves a State in pinned memory, and a
// selection.
template <class State>
class SearchRoom {
 public:
  explicit SearchRoom(SparseWork* work) : work_(work) {}

  // Makes room for a vector of n elements, of which at most `capacity` and
  // about `likely` are selected.
  absl::Status Reserve(const std::string& what, int64_t n, int64_t capacity,
                       int64_t likely) {
    PS_RETURN_IF_ERROR(state_.Reserve(work_, 1));
    PS_RETURN_IF_ERROR(lists_.Reserve(work_, n, what));
    return selected_.Reserve(work_, capacity, likely, what);
  }

  // Launches a kernel whose last arguments are these, and waits for it.
  template <class Arguments>
  absl::Status Run(void (*kernel)(Arguments), int64_t n, Arguments arguments) {
    arguments.lists = lists_.lists();
    arguments.out = selected_.out();
    arguments.state = state_.get();
    arguments.scratch = work_->scratch();
    PS_RETURN_IF_ERROR(work_->Launch(kernel, n, arguments));
    return work_->Await();
  }

  SparseWork* work() const { return work_; }
  const State& state() const { return *state_.get(); }
  // As SelectionRoom::Take.
  absl::StatusOr<DeviceSelection*> Take(int64_t count) {
    return selected_.Take(count);
  }

 private:
  SparseWork* const work_;  // Not owned.
  PinnedRoom<State> state_;
  ListRoom lists_;
  SelectionRoom selected_;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SEARCH_ROOM_H_
