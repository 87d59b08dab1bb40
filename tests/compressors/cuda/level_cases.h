// Cases of level codes that a device must pack as the host does: fitted levels
// and Elias's codes, whose bytes depend on the values.
#ifndef TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_
#define TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_

#include <string>
#include <vector>

#include "tests/compressors/cuda/encoding_check.h"

namespace ps {

struct LevelCase {
  std::string name;
  EncodingCase encoding;  // A whole vector; ready for ExpectSameAll.
};

// All codes, layouts and several widths, with buckets shorter and longer than a
// chunk and longer than a part, and vectors of lengths around these; in one
// part and in several.
std::vector<LevelCase> LevelCases();

// Few levels above 0, far apart: buckets without any, and gaps that end several
// chunks later.
std::vector<LevelCase> SparseLevelCases();

// The same elements, selected from a longer vector.
EncodingCase Selected(const EncodingCase& whole);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_CUDA_LEVEL_CASES_H_
