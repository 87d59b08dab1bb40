#include "tests/compressors/value_coding.h"

#include "absl/types/span.h"
#include "glog/logging.h"

namespace ps {

CodedValues Code(const PayloadCodes& codes, const std::vector<float>& values,
                 uint64_t random_key) {
  CodedValues coded;
  coded.lost = values;
  const auto payload =
      EncodeDenseAs(codes, absl::MakeSpan(coded.lost), random_key);
  CHECK(payload.ok()) << payload.status();
  const PayloadPieces pieces = {payload->span()};
  const auto info = ValidatePayload(pieces, values.size());
  CHECK(info.ok()) << info.status();
  coded.decoded.resize(values.size());
  DecodeDensePayload(pieces, absl::MakeSpan(coded.decoded));
  coded.payload.assign(reinterpret_cast<const char*>(payload->data()),
                       payload->size_bytes());
  return coded;
}

PayloadCodes ValueCodes(const std::string& value_code) {
  PayloadCodes codes;
  codes.value_code = value_code;
  return codes;
}

double SquaredDistance(const std::vector<float>& a,
                       const std::vector<float>& b) {
  CHECK_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - b[i];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace ps
