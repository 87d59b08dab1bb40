// Checks which choices in a compressor's config go together.
#ifndef COMPRESSORS_COMBINATION_CHECK_H_
#define COMPRESSORS_COMBINATION_CHECK_H_

#include <string>

#include "common/config_check.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Reports value codes with which training would fail, given whether error
// feedback is on. Each field is valid by itself; `path` ends in a dot or is
// empty.
//
// Without error feedback, whatever a selector leaves out is lost. That is
// allowed for every selector: comparing runs with and without is common, and
// what is sent is still the gradient where it is largest. A biased value code
// without error feedback is refused, because the values it sends are not the
// gradient.
void CheckCombination(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_COMBINATION_CHECK_H_
