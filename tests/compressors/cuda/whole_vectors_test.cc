// Whole vectors that a device encodes are, byte for byte, the host's.
#include "compressors/cuda/whole_vectors.h"

#include <string>
#include <utility>
#include <vector>

#include "compressors/payload/payload.h"
#include "tests/compressors/cuda/device_vectors.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using WholeVectorsOnDeviceTest = DeviceVectorsTest;

std::string BytesOf(const PayloadBuffer& payload) {
  return std::string(payload.span().begin(), payload.span().end());
}

TEST_F(WholeVectorsOnDeviceTest, HaveTheHostsBytesAndErrors) {
  const auto whole = NewOnDevice<WholeVectors>(work());
  for (const std::string code : {"fp32", "fp16", "bf16"}) {
    for (const std::string& name : VectorNames()) {
      for (const std::vector<int64_t>& ends : std::vector<std::vector<int64_t>>{
               {1}, {4096}, {0, 1, 6, 6, 1001}, {2047, 4095, 20011}}) {
        SCOPED_TRACE(testing::Message() << code << ", " << name << ", "
                                        << ends.size() << " parts");
        std::vector<float> u = MakeVector(name, ends.back(), 3);
        // What 16 bits cannot hold.
        if (u.size() > 3) u[2] = 3e38f, u[3] = -1e-38f;
        Tensor on_device = Put(u);
        const auto payloads = whole->Encode(code, ends, on_device.data());
        ASSERT_TRUE(payloads.ok()) << payloads.status();
        ASSERT_EQ(payloads->size(), ends.size());
        PayloadCodes codes;
        codes.value_code = code;
        int64_t begin = 0;
        for (size_t p = 0; p < ends.size(); ++p) {
          const PayloadBuffer expected =
              EncodeDenseAs(codes,
                            absl::MakeSpan(u).subspan(begin, ends[p] - begin))
                  .value();
          ASSERT_EQ(BytesOf((*payloads)[p]), BytesOf(expected)) << p;
          begin = ends[p];
        }
        ASSERT_EQ(Bits(Get(on_device)), Bits(u));
      }
    }
  }
}

TEST_F(WholeVectorsOnDeviceTest, StayWhileTheyAreHeld) {
  const auto whole = NewOnDevice<WholeVectors>(work());
  const auto encode = [&](float value) {
    Tensor u = Put(std::vector<float>(100, value));
    return whole->Encode("fp32", {100}, u.data()).value()[0];
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
