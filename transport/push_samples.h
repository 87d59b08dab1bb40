// The number of samples that a push is from, by which an update may weigh it.
#ifndef TRANSPORT_PUSH_SAMPLES_H_
#define TRANSPORT_PUSH_SAMPLES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace ps {

// The most samples of one push, so that their sum over all workers is exact.
constexpr int64_t kMaxPushSamples = int64_t{1} << 40;

// Checks the samples of a push; 0 means that it tells none, and is always
// right. Errors: kInvalidArgument for a number out of range, or a job whose
// updates are not the mean of all workers' pushes.
absl::Status CheckPushSamples(const JobConfig& config, int64_t samples);

}  // namespace ps

#endif  // TRANSPORT_PUSH_SAMPLES_H_
