// How often selectors launch a kernel and wait for it, as counted by an
// emulated device; docs/architecture.md has a table of the counts.

#ifdef PS_HAVE_CUDA

#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/cuda/emulated_device.h"

namespace ps {
namespace {

constexpr int64_t kSize = 200003;

struct Counts {
  int64_t launches = 0;
  int64_t waits = 0;
};

// Counts for the third vector, when all memory has been allocated.
Counts CountsOf(const std::string& config) {
  const auto backend = NewBackendForTest("cuda").value();
  CompressorOptions options;
  options.config = CompressorConfigFrom(config + " ratio: 0.01");
  options.dense_size = kSize;
  options.backend = backend.get();
  const auto compressor = NewCompressor(options).value();
  Tensor residual = backend->Allocate({kSize}).value();
  Tensor gradient = backend->Allocate({kSize}).value();
  Counts counts;
  const std::vector<float> values = MakeVector("laplace", kSize, 1);
  for (int iteration = 0; iteration < 3; ++iteration) {
    EXPECT_TRUE(backend->sparse().Clear(residual.data(), kSize).ok());
    EXPECT_TRUE(backend->CopyFromHost(values.data(), &gradient).ok());
    counts.launches = -NumEmulatedLaunches();
    counts.waits = -NumEmulatedWaits();
    const auto encoded = compressor->Compress(gradient, &residual);
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    counts.launches += NumEmulatedLaunches();
    counts.waits += NumEmulatedWaits();
    EXPECT_EQ(encoded->stats.fallback, "");
    EXPECT_GT(encoded->stats.count, 0);
  }
  return counts;
}

TEST(EmulatedLaunchesTest, SelectorsLaunchOnceAndWaitOnce) {
  const Counts top_k = CountsOf("name: 'topk'");
  // Packing adds 6 launches and 2 waits, as docs/compressors.md says.
  EXPECT_EQ(top_k.launches, 1 + 6);
  EXPECT_EQ(top_k.waits, 1 + 2);
  for (const char* const config :
       {"name: 'sidco_e'", "name: 'sidco_gp'", "name: 'redsync'",
        "name: 'redsync' redsync { search: TRIMMED step: 0.01 }",
        "name: 'gaussiank' gaussiank { evaluations: 20 }",
        "name: 'gaussiank' gaussiank { statistics: ABSOLUTE }", "name: 'dgc'",
        "name: 'threshold' threshold { threshold: 4 }", "name: 'randomk'"}) {
    SCOPED_TRACE(config);
    const Counts counts = CountsOf(config);
    EXPECT_EQ(counts.launches, top_k.launches);
    EXPECT_EQ(counts.waits, top_k.waits);
  }
}

// As docs/compressors.md says. For a selection the host waits no more often.
TEST(EmulatedLaunchesTest, LevelCodesLaunchMore) {
  const Counts plain = CountsOf("name: 'topk'");
  const struct {
    const char* config;
    int more_launches;
  } kCases[] = {
      {"value_code: 'qsgdinf'", 1},
      {"value_code: 'alq'", 2},
      {"value_code: 'qsgdinf' values { integer_code: ELIAS_GAMMA }", 4},
      {"value_code: 'alq' values { integer_code: ELIAS_OMEGA }", 5}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.config);
    const Counts counts = CountsOf(std::string("name: 'topk' ") + c.config);
    EXPECT_EQ(counts.launches, plain.launches + c.more_launches);
    EXPECT_EQ(counts.waits, plain.waits);
  }
  const Counts whole = CountsOf("name: 'none' value_code: 'qsgdinf'");
  const Counts elias = CountsOf(
      "name: 'none' value_code: 'qsgdinf' "
      "values { integer_code: ELIAS_GAMMA }");
  EXPECT_EQ(elias.launches, whole.launches + 3);
  EXPECT_EQ(elias.waits, whole.waits + 1);
}

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
