// Answers are written on a device in the same way as on the CPU.
#include "worker/answer_writer.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "tests/compressors/vectors.h"
#include "tests/tensor/backends_for_test.h"
#include "transport/shard_map.h"

namespace ps {
namespace {

// Elements of the tensor before and after the slice.
constexpr int64_t kBefore = 5;
constexpr int64_t kBehind = 3;

// The payload in pieces, some of which are cut in the middle of values.
PayloadPieces Cut(const PayloadBuffer& payload, int64_t step) {
  const absl::Span<const uint8_t> bytes = payload.span();
  PayloadPieces pieces;
  for (size_t begin = 0; begin < bytes.size(); begin += step) {
    pieces.push_back(bytes.subspan(begin, step));
  }
  return pieces;
}

class AnswerWriterTest : public BackendTest {
 protected:
  // Checks that an answer changes the elements that it concerns, and no others.
  void ExpectWritten(const PayloadBuffer& payload, int64_t n, bool difference,
                     int64_t step) {
    SliceAnswer answer;
    Slice slice;
    slice.begin = 2;
    slice.end = 2 + n;
    answer.slice = &slice;
    answer.difference = difference;
    answer.payload = Cut(payload, step);
    answer.info = ValidatePayload(answer.payload, n).value();
    const std::vector<float> before =
        MakeVector("laplace", kBefore + n + kBehind, 3);
    std::vector<float> expected = before;
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload(answer.payload, &indices, &values);
    for (size_t i = 0; i < values.size(); ++i) {
      float& x = expected[kBefore + (indices.empty() ? i : indices[i])];
      x = difference ? x + values[i] : values[i];
    }
    Tensor tensor = Put(before);
    AnswerWriter writer(backend());
    // Twice, because the state left by the first call must not matter.
    for (int i = 0; i < 2; ++i) {
      if (i == 1) tensor = Put(before);
      const absl::Status status = writer.Write(answer, kBefore - 2, &tensor);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(Get(tensor), expected);
    }
  }
};

TEST_P(AnswerWriterTest, WritesWeightsAndDifferencesOfEveryWidth) {
  for (const char* const code : {"fp32", "fp16", "bf16", "int8_block"}) {
    for (const int64_t n : {1, 31, 33, 257, 70007}) {
      for (const bool difference : {false, true}) {
        for (const char* const name : {"laplace", "denormal"}) {
          SCOPED_TRACE(testing::Message() << code << ", " << n << " of " << name
                                          << ", difference " << difference);
          PayloadCodes codes;
          codes.value_code = code;
          std::vector<float> values = MakeVector(name, n, 7);
          const PayloadBuffer payload =
              EncodeDenseAs(codes, absl::MakeSpan(values)).value();
          for (const int64_t step : {int64_t{1} << 30, int64_t{1001}}) {
            ASSERT_NO_FATAL_FAILURE(
                ExpectWritten(payload, n, difference, step));
          }
        }
      }
    }
  }
}

// The answer is longer than a device processes at a time.
TEST_P(AnswerWriterTest, WritesLongAnswers) {
  const int64_t n = (int64_t{5} << 19) + 9;
  for (const char* const code : {"bf16", "int8_block"}) {
    PayloadCodes codes;
    codes.value_code = code;
    // Not a divisor of what a device processes at a time.
    codes.value_config.set_bucket_size(1000);
    std::vector<float> values = MakeVector("laplace", n, 7);
    const PayloadBuffer payload =
        EncodeDenseAs(codes, absl::MakeSpan(values)).value();
    for (const bool difference : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(ExpectWritten(payload, n, difference, 65536));
    }
  }
}

TEST_P(AnswerWriterTest, WritesSomeElements) {
  const std::vector<uint32_t> indices = {0, 7, 8, 40, 99};
  std::vector<float> values = {1, -2, 0.5f, 3, 4};
  PayloadCodes codes;
  codes.value_code = "bf16";
  const PayloadBuffer payload =
      EncodeElements(codes, indices, absl::MakeSpan(values), 0, 100).value();
  for (const bool difference : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(ExpectWritten(payload, 100, difference, 7));
  }
}

TEST_P(AnswerWriterTest, AnAnswerWithoutWeightsIsAnError) {
  Tensor tensor = Put({1, 2, 3});
  AnswerWriter writer(backend());
  EXPECT_EQ(writer.Write(SliceAnswer(), 0, &tensor).code(),
            absl::StatusCode::kDataLoss);
}

INSTANTIATE_OVER_BACKENDS(AnswerWriterTest);

}  // namespace
}  // namespace ps
