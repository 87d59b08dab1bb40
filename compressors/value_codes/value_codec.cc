#include "compressors/value_codes/value_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compressors/value_codes/float_loops.h"

namespace ps {
namespace {

constexpr int64_t kBlock = 1024;  // Stays in the L1 cache.

}  // namespace

void ValueDecoder::AddNext(absl::Span<float> sum) {
  float values[kBlock];
  while (!sum.empty()) {
    const size_t n = std::min<size_t>(kBlock, sum.size());
    Next(absl::MakeSpan(values, n));
    for (size_t i = 0; i < n; ++i) sum[i] += values[i];
    sum.remove_prefix(n);
  }
}

bool ValueDecoder::SkipFinite(int64_t count) {
  float values[kBlock];
  bool finite = true;
  for (; count > 0; count -= kBlock) {
    const int64_t n = std::min(kBlock, count);
    Next(absl::MakeSpan(values, n));
    finite &= AllFinite(reinterpret_cast<const uint8_t*>(values), n);
  }
  return finite;
}

CodeTable<ValueCodec>& ValueCodecs() {
  static auto* const table = new CodeTable<ValueCodec>("value code");
  return *table;
}

CodeTable<ValueFormat>& OwnValueFormats() {
  static auto* const table = new CodeTable<ValueFormat>("value format");
  return *table;
}

const ValueFormat* FindValueFormat(uint8_t number) {
  const ValueFormat* const codec = ValueCodecs().FindNumber(number);
  return codec != nullptr ? codec : OwnValueFormats().FindNumber(number);
}

absl::Status CheckValueBytes(const PayloadInfo& info, int64_t value_bytes) {
  if (info.value_bytes == value_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(info.count, " values in ", info.value_bytes,
                   " bytes; these have ", value_bytes));
}

}  // namespace ps
