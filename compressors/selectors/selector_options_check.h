// Checks the ranges of the selectors' options.
#ifndef COMPRESSORS_SELECTORS_SELECTOR_OPTIONS_CHECK_H_
#define COMPRESSORS_SELECTORS_SELECTOR_OPTIONS_CHECK_H_

#include <string>

#include "common/config_check.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Reports every option of sidco, threshold, redsync, gaussiank and dgc that is
// out of range, whichever compressor is named; `path` ends in a dot or is
// empty.
void CheckSelectorOptions(const CompressorConfig& config,
                          const std::string& path, ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SELECTOR_OPTIONS_CHECK_H_
