// How often selectors launch a kernel and wait for it, as counted by an
// emulated device; docs/gpu_results.md has a table of the counts.

#ifdef PS_HAVE_CUDA

#include <memory>
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

constexpr int64_t kSize = 200003;

// Calls are launches, copies, fills, waits, and what orders streams.
struct Counts {
  int64_t launches = 0;
  int64_t waits = 0;
  int64_t calls = 0;
};

// Counts for the third vector, when all memory has been allocated.
Counts CountsOf(const CompressorConfig& config, int num_parts,
                Backend* backend) {
  ptx::CheckRaces(false);  // Other tests run the same kernels.
  CompressorOptions options;
  options.config = config;
  options.dense_size = kSize;
  for (int p = 1; p <= num_parts; ++p) {
    options.part_ends.push_back(kSize * p / num_parts);
  }
  options.backend = backend;
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
    EXPECT_EQ(encoded->stats.fallback, "");
    EXPECT_GT(encoded->stats.count, 0);
  }
  ptx::CheckRaces(true);
  return counts;
}

Counts CountsOf(const std::string& config, int num_parts = 1) {
  const auto backend = NewBackendForTest("cuda").value();
  return CountsOf(CompressorConfigFrom(config + " ratio: 0.01"), num_parts,
                  backend.get());
}

// As docs/gpu_results.md says.
TEST(EmulatedLaunchesTest, SelectorsLaunchOnceAndWaitOnce) {
  // Packing adds 6 launches, as docs/gpu_results.md says, and SIDCo's selection
  // is packed without a wait before.
  const Counts sidco = CountsOf("name: 'sidco_e'");
  EXPECT_EQ(sidco.launches, 1 + 6);
  EXPECT_EQ(sidco.waits, 1);
  EXPECT_EQ(CountsOf("name: 'sidco_gp'").waits, 1);
  for (const char* const config :
       {"name: 'topk'", "name: 'redsync'",
        "name: 'redsync' redsync { search: TRIMMED step: 0.01 }",
        "name: 'gaussiank' gaussiank { evaluations: 20 }",
        "name: 'gaussiank' gaussiank { statistics: ABSOLUTE }", "name: 'dgc'",
        "name: 'threshold' threshold { threshold: 4 }", "name: 'randomk'"}) {
    SCOPED_TRACE(config);
    const Counts counts = CountsOf(config);
    EXPECT_EQ(counts.launches, sidco.launches);
    EXPECT_EQ(counts.waits, 1 + 1);
  }
}

// As docs/gpu_results.md says.
TEST(EmulatedLaunchesTest, CodesLaunchAsMuchAsTheyNeed) {
  const Counts plain = CountsOf("name: 'topk'");
  const struct {
    const char* config;
    int more_launches;
  } kCases[] = {
      {"index_code: 'raw32'", -1},
      {"value_code: 'onebit'", 2},
      {"value_code: 'qsgdinf'", 1},
      {"value_code: 'alq'", 2},
      {"value_code: 'qsgdinf' values { integer_code: ELIAS_GAMMA }", 3},
      {"value_code: 'alq' values { integer_code: ELIAS_OMEGA }", 4}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.config);
    const Counts counts = CountsOf(std::string("name: 'topk' ") + c.config);
    EXPECT_EQ(counts.launches, plain.launches + c.more_launches);
    EXPECT_EQ(counts.waits, plain.waits);
  }
}

std::vector<CompressorConfig> AllCodes(const std::string& compressor) {
  const std::set<std::string> kElias = {"qsgd", "qsgdinf", "nuqsgd",
                                        "natural_dithering", "alq"};
  std::vector<CompressorConfig> all;
  for (const std::string& value_code : ValueCodeNames()) {
    for (const std::string& index_code : IndexCodeNames()) {
      CompressorConfig config =
          CompressorConfigFrom("name: '" + compressor + "' ratio: 0.01");
      config.set_value_code(value_code);
      config.set_index_code(index_code);
      config.mutable_values()->set_bits(8);
      config.mutable_values()->set_bucket_size(64);
      // Its error is unbounded, so it may not be fed back.
      if (value_code == "ternary") config.set_error_feedback(false);
      all.push_back(config);
      config.mutable_values()->set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
      if (kElias.count(value_code) > 0) all.push_back(config);
    }
  }
  return all;
}

// From the gradient to the payloads in the host's memory the host waits once,
// and calls nothing for a part.
TEST(EmulatedLaunchesTest, EveryCodeTakesOneWaitForAnyNumberOfParts) {
  const auto backend = NewBackendForTest("cuda").value();
  for (const CompressorConfig& config : AllCodes("sidco_e")) {
    SCOPED_TRACE(config.ShortDebugString());
    const Counts one = CountsOf(config, 1, backend.get());
    const Counts many = CountsOf(config, 63, backend.get());
    EXPECT_EQ(one.waits, 1);
    EXPECT_EQ(many.waits, 1);
    EXPECT_EQ(many.calls, one.calls);
  }
}

// As docs/gpu_results.md says.
TEST(EmulatedLaunchesTest, PackingTakesFewCalls) {
  const Counts counts = CountsOf("name: 'sidco_e'", 63);
  EXPECT_EQ(counts.launches, 7);
  EXPECT_EQ(counts.calls, 22);
}

// Two waits, of which one is for the vector's formation.
TEST(EmulatedLaunchesTest, WholeVectorsTakeOneWaitMore) {
  const auto backend = NewBackendForTest("cuda").value();
  for (const CompressorConfig& config : AllCodes("none")) {
    if (config.index_code() != "auto") continue;
    EXPECT_EQ(CountsOf(config, 63, backend.get()).waits, 2)
        << config.value_code();
  }
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
