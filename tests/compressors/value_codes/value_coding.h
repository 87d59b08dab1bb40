// Encodes dense vectors with a value code, for tests.
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
  std::vector<float> lost;  // The coding errors.

  // The bytes of the values alone.
  std::string value_bytes() const { return payload.substr(32); }
};

// Any failure is a CHECK failure.
CodedValues Code(const PayloadCodes& codes, const std::vector<float>& values,
                 uint64_t random_key = 0);

PayloadCodes ValueCodes(const std::string& value_code);

// All value codings that differ in kind: each registered code with its
// defaults, under its name, and codes with options that change their bytes.
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
