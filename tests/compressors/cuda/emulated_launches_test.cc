// How often compressors launch a kernel and wait for it, as counted by an
// emulated device; docs/gpu_results.md has a table of the counts.

#ifdef PS_HAVE_CUDA

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"
#include "tests/ptx/device.h"
#include "tests/tensor/backends_for_test.h"

namespace ps {
namespace {

constexpr int64_t kSize = 50021;

// Calls are launches, copies, fills, waits, and what orders streams.
struct Counts {
  int64_t launches = 0;
  int64_t waits = 0;
  int64_t calls = 0;
  bool pinned = false;  // All payloads lie in pinned memory.
};

// Counts for the third vector, when all memory has been allocated.
Counts CountsOf(const std::string& config, int num_parts = 1) {
  ptx::CheckRaces(false);  // Other tests run the same kernels.
  const auto backend = NewBackendForTest("cuda").value();
  CompressorOptions options;
  options.config = CompressorConfigFrom(config + " ratio: 0.01");
  options.dense_size = kSize;
  for (int p = 1; p <= num_parts; ++p) {
    options.part_ends.push_back(kSize * p / num_parts);
  }
  options.backend = backend.get();
  const auto compressor = NewCompressor(options).value();
  Tensor residual = backend->Allocate({kSize}).value();
  Tensor gradient = backend->Allocate({kSize}).value();
  Counts counts;
  const std::vector<float> values = MakeVector("laplace", kSize, 1);
  for (int iteration = 0; iteration < 3; ++iteration) {
    EXPECT_TRUE(backend->sparse().Clear(residual.data(), kSize).ok());
    EXPECT_TRUE(backend->CopyFromHost(values.data(), &gradient).ok());
    counts.launches = -ptx::NumLaunches();
    counts.waits = -ptx::NumWaits();
    counts.calls = -ptx::NumCalls();
    const auto encoded = compressor->Compress(gradient, &residual);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    counts.launches += ptx::NumLaunches();
    counts.waits += ptx::NumWaits();
    counts.calls += ptx::NumCalls();
    counts.pinned = true;
    for (const PayloadBuffer& part : encoded->parts) {
      counts.pinned &= ptx::IsPinnedMemory(part.data(), part.size_bytes());
    }
    EXPECT_EQ(encoded->stats.fallback, "");
    EXPECT_GT(encoded->stats.count, 0);
  }
  ptx::CheckRaces(true);
  return counts;
}

// As docs/gpu_results.md says: one launch selects, and one removes what was
// sent from the residual. Nothing is called for a part.
TEST(EmulatedLaunchesTest, SelectorsLaunchOnceAndWaitOnce) {
  for (const char* const config :
       {"name: 'sidco_e'", "name: 'sidco_p'", "name: 'sidco_gp'",
        "name: 'topk'", "name: 'redsync'",
        "name: 'redsync' redsync { search: TRIMMED step: 0.01 }",
        "name: 'gaussiank' gaussiank { evaluations: 20 }",
        "name: 'gaussiank' gaussiank { statistics: ABSOLUTE }",
        "name: 'dgc' dgc { sample_ratio: 0.2 }",
        "name: 'threshold' threshold { threshold: 4 }", "name: 'randomk'"}) {
    SCOPED_TRACE(config);
    const Counts one = CountsOf(config);
    EXPECT_EQ(one.launches, 2);
    EXPECT_EQ(one.waits, 1);
    const Counts many = CountsOf(config, 63);
    EXPECT_EQ(many.waits, 1);
    EXPECT_EQ(many.calls, one.calls);
  }
}

// A lossy code's errors are copied to the device, without a wait.
TEST(EmulatedLaunchesTest, CodesCostOneCopy) {
  const Counts exact = CountsOf("name: 'sidco_e'");
  for (const std::string& code : ValueCodeNames()) {
    if (code == "fp32") continue;
    SCOPED_TRACE(code);
    // The error of "ternary" is unbounded, so it may not be fed back.
    const Counts lossy = CountsOf(
        "name: 'sidco_e' values { bits: 8 bucket_size: 64 } " +
        std::string(code == "ternary" ? "error_feedback: false " : "") +
        "value_code: '" + code + "'");
    EXPECT_EQ(lossy.launches, exact.launches);
    EXPECT_EQ(lossy.waits, exact.waits);
    EXPECT_EQ(lossy.calls, exact.calls + 1);
  }
}

// One wait is for the vector's formation, and one for its bytes. A launch makes
// the codes of all parts, and one their scales.
TEST(EmulatedLaunchesTest, WholeVectorsAreEncodedInPinnedMemory) {
  const std::set<std::string> without_scales = {"fp16", "bf16", "natural",
                                                "two_bit_threshold"};
  for (const std::string& code : ValueCodeNames()) {
    const std::set<std::string> of_host = {"alq", "ternary", "two_bit_bins"};
    if (of_host.count(code) > 0) continue;
    SCOPED_TRACE(code);
    const Counts counts = CountsOf(
        "name: 'none' values { bits: 8 bucket_size: 64 } value_code: '" + code +
            "'",
        5);
    EXPECT_EQ(counts.waits, 2);
    EXPECT_EQ(counts.launches, code == "fp32"                   ? 1
                               : without_scales.count(code) > 0 ? 2
                                                                : 3);
    EXPECT_TRUE(counts.pinned);
  }
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
