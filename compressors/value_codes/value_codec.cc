#include "compressors/value_codes/value_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ps {

void ValueDecoder::AddNext(absl::Span<float> sum) {
  constexpr size_t kBlock = 1024;  // Stays in the L1 cache.
  float values[kBlock];
  while (!sum.empty()) {
    const size_t n = std::min(kBlock, sum.size());
    Next(absl::MakeSpan(values, n));
    for (size_t i = 0; i < n; ++i) sum[i] += values[i];
    sum.remove_prefix(n);
  }
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
