// Payloads in codes that only one compressor writes, for tests of readers of
// payloads.
#ifndef TESTS_COMPRESSORS_OWN_PAYLOADS_H_
#define TESTS_COMPRESSORS_OWN_PAYLOADS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// The number of positions in each payload.
constexpr int64_t kOwnPayloadSize = 300;

// One payload of AdaComp, with segments of all kinds, one of PowerSGD, and one
// of an element in each chunk.
std::vector<std::string> OwnPayloads();

}  // namespace ps

#endif  // TESTS_COMPRESSORS_OWN_PAYLOADS_H_
