// Vectors for tests of compressors.
#ifndef TESTS_COMPRESSORS_VECTORS_H_
#define TESTS_COMPRESSORS_VECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// "gaussian", "laplace", "heavy" (generalized Pareto, shape 0.3), "zero",
// "constant" (alternating sign), "spike" (one non-zero), "sparse" (Laplace, 90
// % zeros), "denormal" (Laplace, all below the smallest normal float).
std::vector<std::string> VectorNames();
std::vector<float> MakeVector(const std::string& name, int64_t n,
                              uint64_t seed);

// n draws of a double law: "laplace", "gamma 0.5", "gamma 0.7", "GP 0.1", "GP
// 0.2", "GP 0.3", "gaussian".
std::vector<float> DrawLaw(const std::string& law, int64_t n, uint64_t seed);

// The golden vectors A to D: 100 000 elements that need no random numbers. t_i
// = -log1p(-(i + 0.5) / d) are the exponential law's quantiles; A: t, B:
// expm1(0.2 t) / 0.2, C: t^(2/3), D: t^(1/0.7); signs alternate; position j
// holds element (61 j) mod d.
std::vector<float> GoldenVector(char name);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_VECTORS_H_
