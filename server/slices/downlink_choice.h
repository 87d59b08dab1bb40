// Resolves downlink.mode AUTO.
#ifndef SERVER_SLICES_DOWNLINK_CHOICE_H_
#define SERVER_SLICES_DOWNLINK_CHOICE_H_

#include "proto/config.pb.h"

namespace ps {

// Returns job.downlink(), with a mode other than AUTO and, if that is
// COMPRESSED, its compressor. The job must be valid.
DownlinkConfig ChosenDownlink(const JobConfig& job);

}  // namespace ps

#endif  // SERVER_SLICES_DOWNLINK_CHOICE_H_
