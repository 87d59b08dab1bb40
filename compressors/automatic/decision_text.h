// Describes decisions of "auto" in words, for logs.
#ifndef COMPRESSORS_AUTOMATIC_DECISION_TEXT_H_
#define COMPRESSORS_AUTOMATIC_DECISION_TEXT_H_

#include <cstdint>
#include <string>

#include "compressors/automatic/chooser.h"

namespace ps {

// Returns a text such as "compressing buckets 0-1, 3 and sending bucket 2 dense
// from iteration 230 on: 35.1 ms an iteration against 210 dense and 41
// compressed; a megabyte more takes 412 ms". `iteration` is the first one that
// follows the decision.
std::string DescribeDecision(const CompressionDecision& decision,
                             int64_t iteration);

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_DECISION_TEXT_H_
