#include "compressors/automatic/bucket_model.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/compressors/automatic/simulated_link.h"

namespace ps {
namespace {

const std::vector<bool> kDense(3, false);
const std::vector<bool> kCompressed(3, true);

SimulatedJob ThreeBuckets() {
  SimulatedJob job;
  job.compute = 0.02;
  job.bytes_per_second = 1e8;
  job.buckets = {{10000000, 100000, 0.001, 0.01},
                 {500000, 5000, 0.001, 0.04},
                 {4000000, 40000, 0.001, 0.004}};
  return job;
}

TEST(BucketModelTest, FindsTheLinkAndWhatEachBucketGains) {
  const SimulatedLink link(ThreeBuckets(), 0);
  const BucketModel model =
      ModelBuckets(link.Costs(kDense), link.Costs(kCompressed));
  EXPECT_NEAR(model.seconds_per_byte, 1e-8, 1e-14);
  const std::vector<bool> mix = {true, false, true};
  EXPECT_EQ(model.compressed, mix);
  EXPECT_NEAR(model.seconds, link.Costs(mix).seconds, 1e-9);
}

// This is the case when all bytes are transferred while the worker computes.
TEST(BucketModelTest, BytesThatTakeNoTimeAreFree) {
  SimulatedLink link(ThreeBuckets(), 0);
  link.job().bytes_per_second = 1e18;
  ExchangeCosts dense = link.Costs(kDense);
  const ExchangeCosts compressed = link.Costs(kCompressed);
  dense.seconds -= 0.01;  // A random measurement error.
  const BucketModel model = ModelBuckets(dense, compressed);
  EXPECT_EQ(model.seconds_per_byte, 0);
  EXPECT_EQ(model.compressed, kDense);
  EXPECT_DOUBLE_EQ(model.seconds, dense.seconds);
}

TEST(BucketModelTest, BytesThatDoNotDifferHaveNoPrice) {
  ExchangeCosts dense;
  dense.seconds = 2;
  dense.buckets.resize(1);
  ExchangeCosts compressed = dense;
  compressed.seconds = 1;
  const BucketModel model = ModelBuckets(dense, compressed);
  EXPECT_EQ(model.seconds_per_byte, 0);
  EXPECT_EQ(model.compressed, std::vector<bool>{false});
}

}  // namespace
}  // namespace ps
