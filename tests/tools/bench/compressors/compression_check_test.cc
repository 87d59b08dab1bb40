#include "tools/bench/compressors/compression_check.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// Elements above 2 of {1, -5, 0, 3, 2} are sent. The data are correct until a
// test changes something.
struct Example {
  std::vector<float> sum = {1, -5, 0, 3, 2};
  std::vector<uint32_t> indices = {1, 3};
  std::vector<float> values = {-5, 3};
  std::vector<float> residual = {1, 0, 0, 0, 2};
  CompressionStats stats;
  bool exact_count = false;

  Example() {
    stats.threshold = 2;
    stats.count = 2;
    stats.target_count = 2;
  }

  absl::Status Check() const {
    EncodedGradient encoded;
    encoded.stats = stats;
    encoded.parts.push_back(
        *EncodeSparse("raw32", indices, values, 0, sum.size()));
    CompressionToCheck check;
    check.sum = sum;
    check.residual = residual;
    check.encoded = &encoded;
    check.exact_count = exact_count;
    return CheckCompression(check);
  }
};

void ExpectRefused(const Example& example, const std::string& message) {
  const absl::Status status = example.Check();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

TEST(CompressionCheck, AcceptsWhatIsRight) {
  Example example;
  EXPECT_TRUE(example.Check().ok()) << example.Check();
  // The loss of the value code stays in the residual.
  example.values = {-4.5f, 3};
  example.residual[1] = -0.5f;
  EXPECT_TRUE(example.Check().ok()) << example.Check();
  // The difference need not be a float: 2^-30 is lost next to 4.5.
  example.sum[1] = -0x1p-30f;
  example.values[0] = 4.5f;
  example.residual[1] = -4.5f;
  example.stats.threshold = 0;
  EXPECT_TRUE(example.Check().ok()) << example.Check();
  example = Example();
  // Exact top-k sends its threshold.
  example.stats.threshold = 3;
  example.exact_count = true;
  EXPECT_TRUE(example.Check().ok()) << example.Check();
}

TEST(CompressionCheck, FindsWhatIsLost) {
  Example lost;
  lost.residual[0] = 0;
  ExpectRefused(lost, "element 0");
  Example twice;
  twice.residual[3] = 3;
  ExpectRefused(twice, "element 3");
  Example changed;
  changed.values[0] = std::nextafter(-5.0f, 0.0f);
  ExpectRefused(changed, "element 1");
  Example kept_inexactly;
  kept_inexactly.residual[4] = std::nextafter(2.0f, 0.0f);
  ExpectRefused(kept_inexactly, "element 4");
  Example nan;
  nan.residual[2] = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(nan, "element 2");
}

TEST(CompressionCheck, FindsAWrongSelection) {
  Example missing;
  missing.indices = {1};
  missing.values = {-5};
  missing.residual[3] = 3;
  missing.stats.count = 1;
  ExpectRefused(missing, "element 3, where residual + gradient is 3");
  Example superfluous;
  superfluous.indices = {0, 1, 3};
  superfluous.values = {1, -5, 3};
  superfluous.residual[0] = 0;
  superfluous.stats.count = 3;
  ExpectRefused(superfluous, "sent, but below the threshold");
}

TEST(CompressionCheck, FindsAWrongCount) {
  Example other;
  other.stats.count = 3;
  ExpectRefused(other, "2 elements are in the payload; count is 3");
  Example not_k;
  not_k.stats.target_count = 3;
  EXPECT_TRUE(not_k.Check().ok());
  not_k.exact_count = true;
  ExpectRefused(not_k, "the target 3");
}

}  // namespace
}  // namespace ps
