// The settings that `gradsieve advise` predicts unless --settings names others.
#ifndef TOOLS_ADVISE_CANDIDATES_H_
#define TOOLS_ADVISE_CANDIDATES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/network/settings.h"

namespace ps {

// Without compression; bf16 both ways; the job as it is; SIDCo and Top-k as the
// examples use them. They have compressor and downlink of their own and
// everything else as in the job. A candidate that is the job itself, perhaps
// after a warm-up, has kJobMark in its name. Those that send less come later.
// Errors: those of ParseSettings.
constexpr char kJobMark[] = " (the job)";
absl::StatusOr<std::vector<NetworkSetting>> CandidateSettings(
    const JobConfig& job);

}  // namespace ps

#endif  // TOOLS_ADVISE_CANDIDATES_H_
