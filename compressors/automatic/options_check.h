// Checks the options of "auto".
#ifndef COMPRESSORS_AUTOMATIC_OPTIONS_CHECK_H_
#define COMPRESSORS_AUTOMATIC_OPTIONS_CHECK_H_

#include <string>

#include "common/config_check.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Reports every problem in config.auto, if config.name is "auto"; `path` ends
// in a dot or is empty.
void CheckAutoOptions(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_OPTIONS_CHECK_H_
