// Which choices of a compressor's config go together.
#ifndef COMPRESSORS_COMBINATION_CHECK_H_
#define COMPRESSORS_COMBINATION_CHECK_H_

#include <string>

#include "common/config_check.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Reports value codes that training cannot live with, with error feedback or
// without. Each field by itself is sound; `path` ends in a dot or is empty.
//
// Without error feedback what a selector leaves out is lost, and any selector
// may have it so: the comparison with and without is a common one, and what is
// sent still is the gradient where it is largest. A biased value code is
// refused, because what it makes of the gradient is not.
void CheckCombination(const CompressorConfig& config, const std::string& path,
                      ConfigProblems* problems);

}  // namespace ps

#endif  // COMPRESSORS_COMBINATION_CHECK_H_
