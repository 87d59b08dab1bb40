// Payloads in the codes that one compressor writes by itself, for tests of
// whoever reads payloads.
#ifndef TESTS_COMPRESSORS_OWN_PAYLOADS_H_
#define TESTS_COMPRESSORS_OWN_PAYLOADS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// Positions of each.
constexpr int64_t kOwnPayloadSize = 300;

// One of AdaComp, with segments of all kinds, and one of PowerSGD.
std::vector<std::string> OwnPayloads();

}  // namespace ps

#endif  // TESTS_COMPRESSORS_OWN_PAYLOADS_H_
