// What a device must pack as the host does of level codes: fitted levels and
// Elias's codes, whose bytes depend on the values.
#ifndef TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_
#define TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_

#include <string>
#include <vector>

#include "tests/compressors/cuda/encoding_check.h"

namespace ps {

struct LevelCase {
  std::string name;
  EncodingCase encoding;  // Of a whole vector; ready for ExpectSameAll.
};

// All codes, layouts and a few bits, with buckets below and above a chunk and
// longer than a part, of lengths around those; in one part and in several.
std::vector<LevelCase> LevelCases();

// Few levels above 0, far from each other: buckets without one, and gaps that
// end chunks later.
std::vector<LevelCase> SparseLevelCases();

// The same elements, selected from a longer vector.
EncodingCase Selected(const EncodingCase& whole);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_
