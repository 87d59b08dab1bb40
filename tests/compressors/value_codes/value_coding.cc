#include "tests/compressors/value_codes/value_coding.h"

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

const std::vector<ValueCoding>& ValueCodings() {
  static const auto* const codings = [] {
    auto* const made = new std::vector<ValueCoding>;
    for (const std::string& name : ValueCodeNames()) {
      made->push_back({name, ValueCodes(name), true});
    }
    for (const char* name :
         {"qsgd", "qsgdinf", "nuqsgd", "natural_dithering", "alq"}) {
      ValueCoding coding = {std::string(name) + "_gamma", ValueCodes(name),
                            false};
      coding.codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
      made->push_back(coding);
      coding.name = std::string(name) + "_omega";
      coding.codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_OMEGA);
      made->push_back(coding);
    }
    ValueCoding votes = {"sign_one", ValueCodes("sign"), false};
    votes.codes.value_config.set_sign_scale(ValueCodeConfig::ONE);
    made->push_back(votes);
    return made;
  }();
  return *codings;
}

std::vector<std::string> ValueCodingNames() {
  std::vector<std::string> names;
  for (const ValueCoding& coding : ValueCodings()) names.push_back(coding.name);
  return names;
}

const ValueCoding& FindValueCoding(const std::string& name) {
  for (const ValueCoding& coding : ValueCodings()) {
    if (coding.name == name) return coding;
  }
  LOG(FATAL) << name;
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
