// Whole vectors that a device encodes are, byte for byte, the host's.
#include "compressors/cuda/whole_vectors.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "compressors/payload/payload.h"
#include "tests/compressors/cuda/device_vectors.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

std::string BytesOf(const PayloadBuffer& payload) {
  return std::string(payload.span().begin(), payload.span().end());
}

// Codes with every width, and buckets of all lengths, within a tile and beyond
// it.
std::vector<ValueCoding> Codings() {
  std::vector<ValueCoding> codings = ValueCodings();
  for (const char* const name : {"qsgd", "natural_dithering", "int8_block"}) {
    int bits = 2;
    for (const int64_t bucket_size : {1, 3, 63, 64, 1000, 5000, 1 << 20}) {
      ValueCoding coding = {absl::StrCat(name, "_", bucket_size),
                            ValueCodes(name), false};
      coding.codes.value_config.set_bucket_size(bucket_size);
      coding.codes.value_config.set_bits(bits++);
      codings.push_back(coding);
    }
  }
  return codings;
}

class WholeVectorsOnDeviceTest : public DeviceVectorsTest {
 protected:
  void SetUp() override {
    DeviceVectorsTest::SetUp();
    if (!IsSkipped()) whole_ = NewOnDevice<WholeVectors>(work());
  }

  // Scales that are sums have the host's bits here, too: a sum of doubles is
  // rounded to a float.
  void ExpectTheHosts(const PayloadCodes& codes, std::vector<float> u,
                      const std::vector<int64_t>& ends) {
    std::vector<WholePart> parts;
    for (const int64_t end : ends) parts.push_back({end, RandomKey(end)});
    Tensor on_device = Put(u);
    const auto payloads = whole_->Encode(codes, parts, on_device.data());
    ASSERT_TRUE(payloads.ok()) << payloads.status();
    ASSERT_EQ(payloads->size(), ends.size());
    int64_t begin = 0;
    for (size_t p = 0; p < ends.size(); ++p) {
      const PayloadBuffer expected =
          EncodeDenseAs(codes,
                        absl::MakeSpan(u).subspan(begin, ends[p] - begin),
                        parts[p].random_key)
              .value();
      ASSERT_EQ(BytesOf((*payloads)[p]), BytesOf(expected)) << p;
      begin = ends[p];
    }
    ASSERT_EQ(Bits(Get(on_device)), Bits(u));
  }

  std::unique_ptr<WholeVectors> whole_;
};

TEST_F(WholeVectorsOnDeviceTest, HaveTheHostsBytesAndErrors) {
  int known = 0;
  for (const ValueCoding& coding : Codings()) {
    if (!whole_->Knows(coding.codes)) continue;
    ++known;
    for (const std::string& name : VectorNames()) {
      for (const std::vector<int64_t>& ends : std::vector<std::vector<int64_t>>{
               {1}, {4096}, {0, 1, 6, 6, 1001}, {2047, 4095, 20011}}) {
        // An emulated device is slow.
        if ((ends.back() > 1001 || !coding.is_default) && name != "laplace") {
          continue;
        }
        SCOPED_TRACE(testing::Message() << coding.name << ", " << name << ", "
                                        << ends.size() << " parts");
        std::vector<float> u = MakeVector(name, ends.back(), 3);
        // What 16 bits cannot hold.
        if (u.size() > 3) u[2] = 3e38f, u[3] = -1e-38f;
        ASSERT_NO_FATAL_FAILURE(ExpectTheHosts(coding.codes, u, ends));
      }
    }
  }
  // All but "alq", "ternary", "two_bit_bins" and Elias's codes; and votes.
  EXPECT_EQ(known, static_cast<int>(ValueCodeNames().size()) - 3 + 1 + 21);
}

// More than one launch encodes.
TEST_F(WholeVectorsOnDeviceTest, MayHaveManyParts) {
  std::vector<int64_t> ends;
  for (int64_t p = 0; p < 150; ++p) ends.push_back(p * (p % 7));
  std::sort(ends.begin(), ends.end());
  for (const char* const code : {"onebit", "int8_block", "natural"}) {
    SCOPED_TRACE(code);
    ASSERT_NO_FATAL_FAILURE(ExpectTheHosts(
        ValueCodes(code), MakeVector("laplace", ends.back(), 3), ends));
  }
}

TEST_F(WholeVectorsOnDeviceTest, StayWhileTheyAreHeld) {
  const auto encode = [&](float value) {
    Tensor u = Put(std::vector<float>(100, value));
    return whole_->Encode(ValueCodes("fp32"), {{100, 0}}, u.data()).value()[0];
  };
  const PayloadBuffer first = encode(1);
  const std::string bytes = BytesOf(first);
  const PayloadBuffer second = encode(2);
  EXPECT_NE(first.data(), second.data());
  EXPECT_EQ(BytesOf(first), bytes);
  EXPECT_NE(BytesOf(second), bytes);
}

}  // namespace
}  // namespace ps
