// Payloads packed on a device equal those packed on the host, and so do the
// coding errors.
#include "compressors/cuda/encoding/device_encoder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "tests/compressors/cuda/encoding_check.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

// Sizes around the units of all codes and the chunks of the device.
constexpr int64_t kCounts[] = {0,   1,    2,    4,    5,    6,    15,   16, 17,
                               19,  20,   21,   31,   32,   33,   63,   65, 257,
                               999, 4095, 4096, 4097, 8191, 8193, 20001};

class EncoderOnDeviceTest : public testing::Test {
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

EncodingCase CaseOf(const PayloadCodes& codes, std::vector<uint32_t> indices,
                    int64_t dense_size, const std::string& vector = "laplace") {
  EncodingCase encoding;
  encoding.codes = codes;
  encoding.values = MakeVector(vector, static_cast<int64_t>(indices.size()), 3);
  encoding.indices = std::move(indices);
  encoding.dense_size = dense_size;
  encoding.seed = 11;
  return encoding;
}

PayloadCodes Codes(const std::string& index_code,
                   const std::string& value_code) {
  PayloadCodes codes;
  codes.index_code = index_code;
  codes.value_code = value_code;
  return codes;
}

// All value codes, with options that change their bytes; device_levels_test.cc
// has more of Elias's codes.
std::vector<PayloadCodes> DeviceValueCodes() {
  std::vector<PayloadCodes> all;
  for (const std::string& name : ValueCodeNames()) {
    all.push_back(Codes("auto", name));
  }
  PayloadCodes codes = Codes("auto", "sign");
  codes.value_config.set_sign_scale(ValueCodeConfig::ONE);
  all.push_back(codes);
  codes = Codes("auto", "ternary");
  codes.value_config.set_clip(0);
  all.push_back(codes);
  codes.value_config.set_clip(1);
  all.push_back(codes);
  codes = Codes("auto", "int8_block");
  codes.value_config.set_bucket_size(7);
  all.push_back(codes);
  for (const char* name :
       {"qsgd", "qsgdinf", "nuqsgd", "natural_dithering", "alq"}) {
    codes = Codes("auto", name);
    codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
    all.push_back(codes);
    codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_OMEGA);
    codes.value_config.set_bits(8);
    all.push_back(codes);
    for (const int bits : {2, 3, 5, 8}) {
      codes = Codes("auto", name);
      codes.value_config.set_bits(bits);
      codes.value_config.set_bucket_size(bits == 3 ? 1 : 1000);
      all.push_back(codes);
    }
  }
  return all;
}

std::string Name(const PayloadCodes& codes) {
  return codes.index_code + ", " + codes.value_code + " {" +
         codes.value_config.ShortDebugString() + "}";
}

const char* const kIndexCodes[] = {"auto",         "raw32", "bitmap",
                                   "delta_varint", "rice",  "elias_fano"};

TEST_F(EncoderOnDeviceTest, WritesTheHostsIndices) {
  for (const char* const code : kIndexCodes) {
    for (const int64_t count : kCounts) {
      for (const int64_t spread : {1, 7, 3001}) {
        SCOPED_TRACE(testing::Message()
                     << code << ", " << count << " times " << spread);
        const int64_t dense_size = count * spread + spread;
        ExpectSameSelected(
            CaseOf(Codes(code, "fp32"), SomeIndices(count, dense_size, 5),
                   dense_size),
            backend());
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(EncoderOnDeviceTest, WritesIndicesBehindValuesOfAnyNumberOfBytes) {
  for (const char* const code : kIndexCodes) {
    for (int64_t count = 30; count < 38; ++count) {
      SCOPED_TRACE(testing::Message() << code << ", " << count);
      for (const char* const values : {"sign", "ternary", "natural", "bf16"}) {
        ExpectSameSelected(
            CaseOf(Codes(code, values), SomeIndices(count, 60 * count, 1),
                   60 * count),
            backend());
        if (HasFatalFailure()) return;
      }
      PayloadCodes elias = Codes(code, "qsgd");
      elias.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
      ExpectSameSelected(
          CaseOf(elias, SomeIndices(count, 60 * count, 1), 60 * count),
          backend());
      if (HasFatalFailure()) return;
    }
  }
}

// All indices at one end, or next to each other, or everything.
TEST_F(EncoderOnDeviceTest, WritesIndicesThatLieTogether) {
  for (const char* const code : kIndexCodes) {
    for (const int64_t count : {1, 300, 5000}) {
      for (const int64_t dense_size : {5000, 5001, 40000}) {
        if (count > dense_size) continue;
        SCOPED_TRACE(testing::Message()
                     << code << ", " << count << " of " << dense_size);
        std::vector<uint32_t> first(count);
        std::vector<uint32_t> last(count);
        std::vector<uint32_t> both(count);
        for (int64_t i = 0; i < count; ++i) {
          first[i] = static_cast<uint32_t>(i);
          last[i] = static_cast<uint32_t>(dense_size - count + i);
          both[i] = i < count / 2 ? first[i] : last[i];
        }
        for (const auto& indices : {first, last, both}) {
          ExpectSameSelected(CaseOf(Codes(code, "bf16"), indices, dense_size),
                             backend());
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(EncoderOnDeviceTest, WritesGapsNear32Bits) {
  constexpr int64_t kSize = (int64_t{1} << 32) - 1;
  for (const char* const code :
       {"auto", "raw32", "delta_varint", "rice", "elias_fano"}) {
    SCOPED_TRACE(code);
    for (const auto& indices : std::vector<std::vector<uint32_t>>{
             {0},
             {0xfffffffe},
             {0, 0xfffffffe},
             {0xfffffffd, 0xfffffffe},
             {127, 128, 16512, 2113664, 270549120, 0xfffffff0},
             {5, 0x7fffffff, 0x80000000, 0xfffffffe}}) {
      ExpectSameSelected(CaseOf(Codes(code, "fp16"), indices, kSize),
                         backend());
      EncodingCase cut = CaseOf(Codes(code, "fp16"), indices, kSize);
      cut.part_ends = {1, 0x80000001, kSize};
      ExpectSameSelected(cut, backend());
      ExpectSameSelected(
          CaseOf(Codes(code, "sign"), SomeIndices(5000, kSize, 2), kSize),
          backend());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(EncoderOnDeviceTest, WritesTheHostsValues) {
  for (const PayloadCodes& codes : DeviceValueCodes()) {
    for (const int64_t count : kCounts) {
      SCOPED_TRACE(testing::Message() << Name(codes) << ", " << count);
      ExpectSameSelected(
          CaseOf(codes, SomeIndices(count, 50 * count + 1, 7), 50 * count + 1),
          backend());
      EncodingCase all = CaseOf(codes, std::vector<uint32_t>(count), count);
      ExpectSameAll(all, backend());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(EncoderOnDeviceTest, WritesValuesOfEveryKind) {
  constexpr int64_t kCount = 5003;
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const PayloadCodes& codes : DeviceValueCodes()) {
    for (const std::string& vector : VectorNames()) {
      SCOPED_TRACE(Name(codes) + ", " + vector);
      ExpectSameSelected(
          CaseOf(codes, SomeIndices(kCount, 100000, 7), 100000, vector),
          backend());
      if (HasFatalFailure()) return;
    }
    SCOPED_TRACE(Name(codes));
    EncodingCase extreme =
        CaseOf(codes, SomeIndices(kCount, 100000, 7), 100000);
    const float kExtremes[] = {0.0f,         -0.0f,      kLargest, -kLargest,
                               0x1p-149f,    -0x1p-149f, 65520.0f, -65519.0f,
                               0x1p-25f,     0.5f,       -0.5f,    1.0f,
                               0x1.010001p0f};
    for (int64_t i = 0; i < kCount; ++i) {
      extreme.values[i] = kExtremes[i % 13] * (i % 3 == 0 ? -1.0f : 1.0f);
    }
    ExpectSameSelected(extreme, backend());
    // Whole buckets of zeros of either sign.
    for (int64_t i = 0; i < kCount; ++i) {
      if (i < 3000) extreme.values[i] = i % 2 == 0 ? 0.0f : -0.0f;
    }
    ExpectSameSelected(extreme, backend());
    if (HasFatalFailure()) return;
  }
}

TEST_F(EncoderOnDeviceTest, CutsParts) {
  constexpr int64_t kSize = 100003;
  const std::vector<std::vector<int64_t>> kEnds = {
      {1, 2, 3, 50000, 50000, 50001, kSize},
      {33333, 66667, kSize},
      // Parts without elements: the selection leaves out the first and last
      // tenth.
      {5000, 9000, 80001, 99000, kSize},
      {4096, 8192, 12288, kSize}};
  for (const char* const index_code : kIndexCodes) {
    for (const char* const value_code :
         {"fp32", "onebit", "ternary", "natural", "qsgd"}) {
      for (const auto& ends : kEnds) {
        for (const int64_t count : {0, 10, 30000, 79999}) {
          SCOPED_TRACE(testing::Message()
                       << index_code << ", " << value_code << ", " << count
                       << " of " << ends[0] << " to " << ends[1] << " and on");
          std::vector<uint32_t> indices = SomeIndices(count, 80000, 3);
          for (uint32_t& index : indices) index += 10000;
          EncodingCase encoding =
              CaseOf(Codes(index_code, value_code), indices, kSize);
          encoding.part_ends = ends;
          ExpectSameSelected(encoding, backend());
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  for (const PayloadCodes& codes : DeviceValueCodes()) {
    for (const auto& ends : kEnds) {
      EncodingCase encoding =
          CaseOf(codes, std::vector<uint32_t>(kSize), kSize);
      encoding.part_ends = ends;
      ExpectSameAll(encoding, backend());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(EncoderOnDeviceTest, WritesASelectionThatOnlyTheDeviceKnows) {
  for (const PayloadCodes& value_codes : DeviceValueCodes()) {
    for (const char* const index_code : kIndexCodes) {
      PayloadCodes codes = value_codes;
      codes.index_code = index_code;
      const auto encoder = NewDeviceEncoder(codes, backend());
      for (const int64_t count : {0, 1, 33, 5003}) {
        SCOPED_TRACE(testing::Message() << Name(codes) << ", " << count);
        EncodingCase encoding =
            CaseOf(codes, SomeIndices(count, 300000, 7), 300000);
        encoding.part_ends = {0, 1000, 150000, 150000, 300000};
        ExpectSameSelected(encoding, true, encoder.get(), backend());
        if (HasFatalFailure()) return;
      }
    }
  }
}

// More parts than a block has threads, some without elements or positions.
TEST_F(EncoderOnDeviceTest, CutsManyParts) {
  constexpr int64_t kSize = 700001;
  for (const char* const value_code : {"fp32", "onebit", "alq"}) {
    SCOPED_TRACE(value_code);
    PayloadCodes codes = Codes("auto", value_code);
    codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_OMEGA);
    std::vector<uint32_t> indices = SomeIndices(20000, 500000, 3);
    for (uint32_t& index : indices) index += 100000;
    EncodingCase encoding = CaseOf(codes, indices, kSize);
    for (int64_t p = 1; p < 600; ++p) {
      encoding.part_ends.push_back(p / 3 * 3 * (kSize / 600));
    }
    encoding.part_ends.push_back(kSize);
    ExpectSameSelected(encoding, backend());
    encoding.values = MakeVector("laplace", kSize, 3);
    ExpectSameAll(encoding, backend());
    if (HasFatalFailure()) return;
  }
}

// More chunks than a block scans at a time.
TEST_F(EncoderOnDeviceTest, WritesAMillionElements) {
  constexpr int64_t kCount = 1'100'000;
  for (const char* const code : {"delta_varint", "rice"}) {
    SCOPED_TRACE(code);
    ExpectSameSelected(CaseOf(Codes(code, "onebit"),
                              SomeIndices(kCount, 90 * kCount, 6), 90 * kCount),
                       backend());
    if (HasFatalFailure()) return;
  }
}

// More bytes than are packed on the device at a time: the parts use the same
// memory one after the other.
TEST_F(EncoderOnDeviceTest, CutsASelectionThatIsTooLongToBeHeldAtOnce) {
  constexpr int64_t kCount = 6'000'000;
  EncodingCase encoding = CaseOf(
      Codes("raw32", "fp32"), SomeIndices(kCount, 2 * kCount, 5), 2 * kCount);
  encoding.part_ends = {kCount, kCount + 3, 2 * kCount};
  const auto encoder = NewDeviceEncoder(encoding.codes, backend());
  for (int call = 0; call < 2; ++call) {
    ExpectSameSelected(encoding, true, encoder.get(), backend());
  }
}

TEST_F(EncoderOnDeviceTest, CutsWhatIsTooLongToBeHeldAtOnce) {
  constexpr int64_t kSize = 25'000'001;
  EncodingCase encoding;
  encoding.codes = Codes("auto", "bf16");
  encoding.values.resize(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    encoding.values[i] = static_cast<float>(i % 1000003) * 0.001f;
  }
  encoding.dense_size = kSize;
  encoding.part_ends = {7'000'001, 14'000'000, 14'000'001, 20'000'000, kSize};
  ExpectSameAll(encoding, backend());
}

TEST_F(EncoderOnDeviceTest, EncodesAgainWithMoreAndFewerElements) {
  const PayloadCodes codes = Codes("auto", "onebit");
  const auto encoder = NewDeviceEncoder(codes, backend());
  ASSERT_NE(encoder, nullptr);
  for (const int64_t count : {100, 20000, 3, 30000, 31000, 0, 100}) {
    const int64_t size = 20 * count + 1;
    EncodingCase encoding = CaseOf(codes, SomeIndices(count, size, 4), size);
    UploadedSelection selection(encoding.indices, encoding.values, backend());
    const std::vector<PayloadPart> parts = {{0, size / 2, 1},
                                            {size / 2, size, 2}};
    const auto payloads = encoder->EncodeSelected(selection.get(), parts);
    ASSERT_TRUE(payloads.ok()) << payloads.status();
    std::vector<uint32_t> indices;
    std::vector<uint32_t> part_indices;
    std::vector<float> values;
    for (size_t p = 0; p < parts.size(); ++p) {
      const PayloadBuffer& payload = (*payloads)[p];
      ASSERT_TRUE(
          ValidatePayload({payload.span()}, parts[p].end - parts[p].begin)
              .ok());
      DecodePayload({payload.span()}, &part_indices, &values);
      for (const uint32_t index : part_indices) {
        indices.push_back(static_cast<uint32_t>(parts[p].begin) + index);
      }
    }
    ASSERT_EQ(indices, encoding.indices);
  }
}

// The memory of payloads is used again, but only when they have been dropped.
TEST_F(EncoderOnDeviceTest, LeavesPayloadsAloneUntilTheyAreDropped) {
  for (const char* const value_code : {"fp32", "bf16", "qsgd"}) {
    SCOPED_TRACE(value_code);
    const PayloadCodes codes = Codes("auto", value_code);
    const auto encoder = NewDeviceEncoder(codes, backend());
    const std::vector<PayloadPart> parts = {{0, 3000, 1}, {3000, 9000, 2}};
    std::vector<PayloadBuffer> kept;
    std::vector<std::vector<uint8_t>> bytes;
    for (int call = 0; call < 6; ++call) {
      UploadedSelection selection(SomeIndices(700, 9000, call),
                                  MakeVector("laplace", 700, call), backend());
      Tensor u = backend()->Allocate({9000}).value();
      const std::vector<float> values = MakeVector("laplace", 9000, call);
      ASSERT_TRUE(backend()->CopyFromHost(values.data(), &u).ok());
      auto payloads = call % 2 == 0
                          ? encoder->EncodeSelected(selection.get(), parts)
                          : encoder->EncodeAll(u.data(), parts);
      ASSERT_TRUE(payloads.ok()) << payloads.status();
      // One of the two payloads keeps their memory.
      kept.push_back((*payloads)[static_cast<size_t>(call / 2 % 2)]);
      bytes.emplace_back(kept.back().span().begin(), kept.back().span().end());
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i].span(), absl::MakeConstSpan(bytes[i])) << i;
    }
  }
}

TEST_F(EncoderOnDeviceTest, ScattersBeforeWhatComesLater) {
  const auto encoder = NewDeviceEncoder(Codes("auto", "bf16"), backend());
  ASSERT_NE(encoder, nullptr);
  const std::vector<float> vector(10000, 7.0f);
  Tensor u = backend()->Allocate({10000}).value();
  ASSERT_TRUE(backend()->CopyFromHost(vector.data(), &u).ok());
  std::vector<float> expected = vector;
  const std::vector<uint32_t> indices = SomeIndices(700, 10000, 9);
  const std::vector<float> values = MakeVector("laplace", 700, 1);
  for (size_t i = 0; i < indices.size(); ++i) expected[indices[i]] = values[i];
  UploadedSelection selection(indices, values, backend());
  ASSERT_TRUE(encoder->Scatter(selection.get(), u.data()).ok());
  std::vector<float> actual(10000);
  ASSERT_TRUE(backend()->CopyToHost(u, actual.data()).ok());
  EXPECT_EQ(actual, expected);
}

TEST(DeviceEncoderOnTheCpuTest, ThereIsNone) {
  const auto cpu = NewBackendForTest("cpu");
  EXPECT_EQ(NewDeviceEncoder(Codes("auto", "fp32"), cpu->get()), nullptr);
}

}  // namespace
}  // namespace ps
