// Gradients for a load test: real ones from a file, or generated.
#ifndef TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_
#define TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// Endlessly many gradients of any length, numbered from 0: each is a pure
// function of its number. Thread-safe.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  // Elements [begin, begin + out.size()) of gradient `number`. Errors: what the
  // file reports; kInvalidArgument for a number that is not finite, with its
  // place.
  virtual absl::Status Read(int64_t number, int64_t begin,
                            absl::Span<float> out) const = 0;
};

// Independent draws from a Laplace law of scale 1 (two-sided exponential), as
// `gradsieve bench compressors` has them; a table of 2^20 of them that each
// gradient reads in an order of its own, in stretches of 2^14.
std::unique_ptr<GradientSource> GeneratedGradients(uint64_t seed);

// Of a .npy file, float32 [rows, n] or [n], as training.dump_gradients writes
// it: gradient k is row k % rows, shifted by another amount each time that the
// rows are used again, and begun anew where more than n elements are asked for.
// Errors: those of NpyReader; kInvalidArgument if there is no row or element.
absl::StatusOr<std::unique_ptr<GradientSource>> GradientsOfFile(
    const std::string& path);

// The elements of a row. Errors: as of GradientsOfFile.
absl::StatusOr<int64_t> GradientFileElements(const std::string& path);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_
