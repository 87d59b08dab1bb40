// Checks which choices in a compressor's config are compatible.
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
// Without error feedback, all elements that a selector does not send are lost.
// That is allowed for every selector: comparing runs with and without is
// common, and the largest elements of the gradient are still sent. A biased
// value code without error feedback is refused, because the values it sends are
// not the gradient.
void CheckCombination(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_COMBINATION_CHECK_H_
