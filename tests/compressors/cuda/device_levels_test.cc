// Level codes whose bytes depend on the values are packed on a device to the
// same bytes as on the host.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "tests/compressors/cuda/encoding_check.h"
#include "tests/compressors/cuda/level_cases.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

class LevelsOnDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    PS_REQUIRE_DEVICE();
    auto backend = NewBackendForTest("cuda");
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  Backend* backend() { return backend_.get(); }

 private:
  std::unique_ptr<Backend> backend_;
};

void ExpectSame(const std::vector<LevelCase>& cases, Backend* backend) {
  for (const LevelCase& each : cases) {
    SCOPED_TRACE(each.name);
    ExpectSameAll(each.encoding, backend);
    ExpectSameSelected(Selected(each.encoding), backend);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(LevelsOnDeviceTest, WritesTheHostsLevels) {
  ExpectSame(LevelCases(), backend());
}

TEST_F(LevelsOnDeviceTest, WritesGapsThatCrossChunks) {
  ExpectSame(SparseLevelCases(), backend());
}

PayloadCodes LongBuckets(const std::string& value_code) {
  PayloadCodes codes;
  codes.value_code = value_code;
  codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
  codes.value_config.set_bucket_size((1 << 20) - 1);
  return codes;
}

// More chunks than a block reads or scans at a time; the last bucket begins
// with a gap longer than that.
TEST_F(LevelsOnDeviceTest, WritesAMillionLevels) {
  constexpr int64_t kCount = 2'200'000;
  EncodingCase encoding;
  encoding.codes = LongBuckets("qsgdinf");
  encoding.dense_size = kCount;
  encoding.values.resize(kCount);
  for (const int64_t i : {0, 5000, 1048575, 2097148, 2097150, 2199999}) {
    encoding.values[i] = -1;
  }
  ExpectSameAll(encoding, backend());
  encoding.codes = LongBuckets("alq");
  encoding.values = MakeVector("laplace", kCount, 1);
  ExpectSameAll(encoding, backend());
}

// More bytes than are held on the device at a time.
TEST_F(LevelsOnDeviceTest, CutsWhatIsTooLongToBeHeldAtOnce) {
  constexpr int64_t kSize = 7'000'003;
  EncodingCase encoding;
  encoding.codes.value_code = "qsgdinf";
  encoding.codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_OMEGA);
  encoding.codes.value_config.set_bits(8);
  encoding.codes.value_config.set_bucket_size(1);
  encoding.dense_size = kSize;
  encoding.values.resize(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    encoding.values[i] = static_cast<float>(i % 1013) - 500;
  }
  encoding.part_ends = {3'000'001, 3'000'001, 6'500'000, kSize};
  ExpectSameAll(encoding, backend());
}

// The cases above cover every layout: each is the smallest for some of them.
TEST(LevelCasesTest, HaveAllLayouts) {
  std::set<int> layouts;
  for (const LevelCase& each : LevelCases()) {
    std::vector<float> values = each.encoding.values;
    if (values.empty()) continue;
    const auto payload =
        EncodeDenseAs(each.encoding.codes, absl::MakeSpan(values), 1);
    ASSERT_TRUE(payload.ok()) << payload.status();
    layouts.insert(payload->data()[kPayloadHeaderBytes + 1]);
  }
  EXPECT_EQ(layouts, std::set<int>({0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace ps
