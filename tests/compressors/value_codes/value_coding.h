// Dense vectors through a value code, for tests.
#ifndef TESTS_COMPRESSORS_VALUE_CODES_VALUE_CODING_H_
#define TESTS_COMPRESSORS_VALUE_CODES_VALUE_CODING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compressors/payload/payload.h"

namespace ps {

struct CodedValues {
  std::string payload;
  std::vector<float> decoded;
  std::vector<float> lost;  // What the encoder left.

  // The bytes of the values alone.
  std::string value_bytes() const { return payload.substr(32); }
};

// Any failure is a CHECK.
CodedValues Code(const PayloadCodes& codes, const std::vector<float>& values,
                 uint64_t random_key = 0);

PayloadCodes ValueCodes(const std::string& value_code);

// Every way to code values that differs in kind: each registered code as it is
// by default, by its name, and those with options that change their bytes.
struct ValueCoding {
  std::string name;
  PayloadCodes codes;
  bool is_default = true;
};
const std::vector<ValueCoding>& ValueCodings();
std::vector<std::string> ValueCodingNames();
const ValueCoding& FindValueCoding(const std::string& name);

// The sum of squared differences.
double SquaredDistance(const std::vector<float>& a,
                       const std::vector<float>& b);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_VALUE_CODES_VALUE_CODING_H_
