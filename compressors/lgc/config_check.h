// Checks the config of compressor "lgc".
#ifndef COMPRESSORS_LGC_CONFIG_CHECK_H_
#define COMPRESSORS_LGC_CONFIG_CHECK_H_

#include "absl/status/status.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Errors: kInvalidArgument, if workers share positions, with all problems of
// the fields that must have certain values for codes.
absl::Status CheckLgcConfig(const CompressorConfig& config,
                            bool shares_positions);

}  // namespace ps

#endif  // COMPRESSORS_LGC_CONFIG_CHECK_H_
