// Measures size and speed of every index code and value code on one core.
//
// Index codes: random positions at several ratios. Value codes: one long dense
// vector. Each is verified before it is timed. GB/s counts 4 bytes for each
// index and for each value, so that the codes can be compared.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int kRounds = 9;
constexpr double kBytesEach = 4;

double MedianSeconds(const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const absl::Time start = SteadyClock()->Now();
    work();
    seconds.push_back(absl::ToDoubleSeconds(SteadyClock()->Now() - start));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRounds / 2];
}

void BenchIndexCode(const std::string& code, double ratio) {
  constexpr double kCount = 200000;
  const int64_t dense_size = static_cast<int64_t>(kCount / ratio);
  RandomStream random(RandomKey(1));
  std::vector<uint32_t> indices;
  for (int64_t i = 0; i < dense_size; ++i) {
    if (random.Uniform() < ratio) indices.push_back(static_cast<uint32_t>(i));
  }
  const std::vector<float> values(indices.size(), 0.5f);
  PayloadBuffer payload;
  const double encode = MedianSeconds(
      [&] { payload = *EncodeSparse(code, indices, values, 0, dense_size); });
  std::vector<uint32_t> decoded_indices;
  std::vector<float> decoded_values;
  const double decode = MedianSeconds([&] {
    DecodePayload({payload.span()}, &decoded_indices, &decoded_values);
  });
  CHECK(decoded_indices == indices);
  const double count = static_cast<double>(indices.size());
  const double bits =
      8.0 * (payload.size_bytes() - kPayloadHeaderBytes) / count - 32;
  const double entropy =
      -std::log2(ratio) - (1 - ratio) / ratio * std::log2(1 - ratio);
  std::printf("%-18s %8g %8.3f %10.3f %12.2f %12.2f\n", code.c_str(), ratio,
              bits, entropy, kBytesEach * count / encode * 1e-9,
              kBytesEach * count / decode * 1e-9);
}

void BenchValueCode(const std::string& code) {
  constexpr int64_t kSize = 1 << 20;
  RandomStream random(RandomKey(2));
  std::vector<float> values(kSize);
  for (float& each : values) each = static_cast<float>(random.Normal());
  PayloadCodes codes;
  codes.value_code = code;
  std::vector<float> lost = values;
  PayloadBuffer payload = *EncodeDenseAs(codes, absl::MakeSpan(lost), 1);
  CHECK(ValidatePayload({payload.span()}, kSize).ok());
  std::vector<float> decoded(kSize);
  DecodeDensePayload({payload.span()}, absl::MakeSpan(decoded));
  for (int64_t i = 0; i < kSize; ++i) CHECK_EQ(values[i] - decoded[i], lost[i]);
  // Encoding overwrites its input, so every round starts with a copy.
  const double encode = MedianSeconds([&] {
    lost = values;
    payload = *EncodeDenseAs(codes, absl::MakeSpan(lost), 1);
  });
  const double add =
      MedianSeconds([&] { AddPayload({payload.span()}, decoded.data()); });
  const double bits =
      8.0 * (payload.size_bytes() - kPayloadHeaderBytes) / kSize;
  std::printf("%-18s %8.3f %12.2f %12.2f\n", code.c_str(), bits,
              kBytesEach * kSize / encode * 1e-9,
              kBytesEach * kSize / add * 1e-9);
}

void Main() {
  std::printf("%-18s %8s %8s %10s %12s %12s\n", "index code", "ratio", "bits",
              "entropy", "encode GB/s", "decode GB/s");
  for (const double ratio : {0.1, 0.01, 0.001}) {
    for (const std::string& code : IndexCodeNames()) {
      BenchIndexCode(code, ratio);
    }
  }
  std::printf("\n%-18s %8s %12s %12s\n", "value code", "bits", "encode GB/s",
              "add GB/s");
  for (const std::string& code : ValueCodeNames()) BenchValueCode(code);
}

}  // namespace
}  // namespace ps

int main() { ps::Main(); }
