#include "tests/compressors/cuda/level_cases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kChunk = 4096;  // The device's chunk.
constexpr int64_t kPartsSize = 30011;
// An empty part, one of one value, and one of a chunk plus one value.
constexpr int64_t kPartEnds[] = {0,     1,     kChunk + 2, kChunk + 2,
                                 20000, 20001, kPartsSize};

LevelCase MakeCase(const PayloadCodes& codes, std::vector<float> values) {
  LevelCase made;
  made.encoding.codes = codes;
  made.encoding.dense_size = static_cast<int64_t>(values.size());
  made.encoding.values = std::move(values);
  made.encoding.indices.resize(made.encoding.values.size());
  made.encoding.seed = 3 + values.size();
  made.name = absl::StrCat(codes.value_code, " {",
                           codes.value_config.ShortDebugString(), "} of ",
                           made.encoding.dense_size);
  return made;
}

PayloadCodes Codes(const std::string& name,
                   ValueCodeConfig::IntegerCode integer_code, int bits,
                   int64_t bucket_size) {
  PayloadCodes codes;
  codes.value_code = name;
  codes.value_config.set_integer_code(integer_code);
  codes.value_config.set_bits(bits);
  codes.value_config.set_bucket_size(static_cast<int>(bucket_size));
  return codes;
}

std::vector<PayloadCodes> LevelCodes() {
  const int64_t kBucketSizes[] = {1, 3, 512, kChunk, kChunk + 904, 1 << 20};
  std::vector<PayloadCodes> all;
  const std::string kFitted = "alq";
  for (const std::string name :
       {"qsgd", "qsgdinf", "nuqsgd", "natural_dithering", "alq"}) {
    for (const auto integer_code :
         {ValueCodeConfig::FIXED, ValueCodeConfig::ELIAS_GAMMA,
          ValueCodeConfig::ELIAS_OMEGA}) {
      // device_encoder_test.cc tests the others in the fixed layout.
      if (integer_code == ValueCodeConfig::FIXED && name != kFitted) continue;
      for (const int64_t bucket_size : kBucketSizes) {
        const int bits = 2 + static_cast<int>(all.size() % 7);
        all.push_back(Codes(name, integer_code, bits, bucket_size));
      }
      all.push_back(Codes(name, integer_code, 2, 512));
    }
  }
  return all;
}

}  // namespace

std::vector<LevelCase> LevelCases() {
  const int64_t kCounts[] = {0,
                             1,
                             2,
                             3,
                             15,
                             16,
                             17,
                             33,
                             511,
                             512,
                             513,
                             1025,
                             kChunk - 1,
                             kChunk,
                             kChunk + 1,
                             kChunk + 903,
                             kChunk + 905,
                             2 * kChunk,
                             2 * kChunk + 1,
                             16385};
  const char* const kVectors[] = {"laplace", "sparse",   "heavy",   "zero",
                                  "spike",   "gaussian", "denormal"};
  std::vector<LevelCase> cases;
  for (const PayloadCodes& codes : LevelCodes()) {
    for (const int64_t count : kCounts) {
      const char* const vector = kVectors[cases.size() % 7];
      cases.push_back(MakeCase(codes, MakeVector(vector, count, cases.size())));
    }
    for (const char* const vector : {"laplace", "sparse"}) {
      LevelCase cut = MakeCase(codes, MakeVector(vector, kPartsSize, 5));
      cut.encoding.part_ends.assign(std::begin(kPartEnds), std::end(kPartEnds));
      cut.name += ", cut";
      cases.push_back(std::move(cut));
    }
  }
  return cases;
}

std::vector<LevelCase> SparseLevelCases() {
  // The ends of chunks and of threads' shares, and chunks without levels.
  const std::vector<std::vector<int64_t>> kPlaces = {
      {},
      {0},
      {kPartsSize - 1},
      {0, kPartsSize - 1},
      {15, 16, kChunk - 1, kChunk, 5 * kChunk + 17, 7 * kChunk - 1},
      {kChunk, 3 * kChunk - 1, 3 * kChunk, 6 * kChunk + 4095}};
  std::vector<LevelCase> cases;
  for (const char* const name : {"qsgdinf", "alq"}) {
    for (const auto integer_code :
         {ValueCodeConfig::ELIAS_GAMMA, ValueCodeConfig::ELIAS_OMEGA}) {
      for (const int64_t bucket_size : {int64_t{7}, int64_t{512}, 2 * kChunk,
                                        3 * kChunk + 5, int64_t{1 << 20}}) {
        for (const auto& places : kPlaces) {
          std::vector<float> values(kPartsSize);
          // The largest magnitude is the scale. With a norm as the scale,
          // rounding up is random but frequent.
          for (const int64_t i : places) values[i] = i % 2 == 0 ? 2.5f : -2.5f;
          cases.push_back(MakeCase(Codes(name, integer_code, 3, bucket_size),
                                   std::move(values)));
        }
      }
    }
  }
  return cases;
}

EncodingCase Selected(const EncodingCase& whole) {
  constexpr int64_t kSpread = 5;
  EncodingCase selected = whole;
  const int64_t count = whole.dense_size;
  selected.dense_size = kSpread * count + 1;
  selected.indices = SomeIndices(count, selected.dense_size, whole.seed);
  for (int64_t& end : selected.part_ends) {
    // Element i is in stretch i, so the parts have about the same elements.
    end = end == count ? selected.dense_size : kSpread * end;
  }
  return selected;
}

}  // namespace ps
