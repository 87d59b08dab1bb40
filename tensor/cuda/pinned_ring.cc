#include "tensor/cuda/pinned_ring.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr int64_t kAlignmentBytes = 256;

}  // namespace

struct PinnedRing::State {
  ~State() { options.free(memory); }

  PinnedRingOptions options;
  void* memory = nullptr;
  Mutex mu;
  CondVar changed;
  std::deque<uint8_t*> free ABSL_GUARDED_BY(mu);
};

PinnedRing::PinnedRing(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<PinnedRing>> PinnedRing::Create(
    const PinnedRingOptions& options) {
  if (options.num_buffers < 1 || options.buffer_bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ring of ", options.num_buffers, " buffers of ", options.buffer_bytes,
        " bytes; needs at least 1 buffer of at least 1 byte"));
  }
  const int64_t stride = (options.buffer_bytes + kAlignmentBytes - 1) /
                         kAlignmentBytes * kAlignmentBytes;
  PS_ASSIGN_OR_RETURN(void* const memory,
                      options.allocate(stride * options.num_buffers));
  auto state = std::make_shared<State>();
  state->options = options;
  state->memory = memory;
  {
    MutexLock lock(&state->mu);
    for (int i = 0; i < options.num_buffers; ++i) {
      state->free.push_back(static_cast<uint8_t*>(memory) + i * stride);
    }
  }
  return std::unique_ptr<PinnedRing>(new PinnedRing(std::move(state)));
}

absl::StatusOr<std::shared_ptr<uint8_t[]>> PinnedRing::Acquire(
    absl::Duration timeout) {
  const absl::Time deadline = SteadyClock()->Now() + timeout;
  uint8_t* buffer = nullptr;
  {
    MutexLock lock(&state_->mu);
    while (state_->free.empty()) {
      const absl::Duration left = deadline - SteadyClock()->Now();
      if (left <= absl::ZeroDuration()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "all ", state_->options.num_buffers, " pinned buffers of ",
            state_->options.buffer_bytes, " bytes are still being sent after ",
            absl::FormatDuration(timeout)));
      }
      state_->changed.WaitFor(&state_->mu, left);
    }
    buffer = state_->free.front();
    state_->free.pop_front();
  }
  return std::shared_ptr<uint8_t[]>(buffer, [state = state_](uint8_t* back) {
    MutexLock lock(&state->mu);
    state->free.push_back(back);
    state->changed.SignalAll();
  });
}

int64_t PinnedRing::buffer_bytes() const {
  return state_->options.buffer_bytes;
}

int PinnedRing::num_free() const {
  MutexLock lock(&state_->mu);
  return static_cast<int>(state_->free.size());
}

}  // namespace ps
