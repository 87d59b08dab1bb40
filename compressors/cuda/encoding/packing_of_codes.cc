#include "compressors/cuda/encoding/packing_of_codes.h"

#include <string>

#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {
namespace {

// As MaxPlaces, of the indices alone.
int64_t MaxIndexBytes(const IndexPacking& packing, int64_t num_parts,
                      int64_t count, int64_t dense_size) {
  if (packing.smallest) return 4 * count;  // "raw32" takes no more.
  switch (packing.code) {
    case IndexCode::kDense:
      return 0;
    case IndexCode::kRaw32:
      return 4 * count;
    case IndexCode::kBitmap:
      return dense_size / 8 + num_parts;
    default:
      // 5 bytes for an index: "delta_varint" takes at most these, "elias_fano"
      // 34 bits, and "rice" 32 bits and on average up to 2.7 ones for the
      // skipped positions. And 8 bytes for a part, for what is not full.
      return 5 * count + 8 * num_parts;
  }
}

}  // namespace

ValuePacking ValuePackingOf(const PayloadCodes& codes) {
  const std::string& name = codes.value_code;
  const ValueCodeConfig& config = codes.value_config;
  ValuePacking packing;
  packing.threshold = config.threshold();
  packing.clip = config.clip();
  packing.unit_scale = config.sign_scale() == ValueCodeConfig::ONE;
  const auto plain = [&packing](ValueCode code) {
    packing.code = code;
    return packing;
  };
  if (name == "fp32") return plain(ValueCode::kFp32);
  if (name == "fp16") return plain(ValueCode::kFp16);
  if (name == "bf16") return plain(ValueCode::kBf16);
  if (name == "sign") return plain(ValueCode::kSign);
  if (name == "onebit") return plain(ValueCode::kOneBit);
  if (name == "ternary") return plain(ValueCode::kTernary);
  if (name == "two_bit_threshold") return plain(ValueCode::kTwoBitThreshold);
  if (name == "natural") return plain(ValueCode::kNatural);
  if (name == "int8_block") {
    packing.code = ValueCode::kInt8Block;
    packing.bits = kMaxLevelBits;
    packing.bucket_size = static_cast<uint32_t>(config.bucket_size());
    packing.nearest = true;
    return packing;
  }
  packing.bits = config.bits();
  packing.bucket_size = static_cast<uint32_t>(config.bucket_size());
  packing.euclidean = name == "qsgd" || name == "nuqsgd" || name == "alq";
  packing.elias = config.integer_code() != ValueCodeConfig::FIXED;
  packing.omega = config.integer_code() == ValueCodeConfig::ELIAS_OMEGA;
  const auto levels = [&packing](ValueCode code, LevelSpacing spacing) {
    packing.code = code;
    packing.spacing = spacing;
    return packing;
  };
  if (name == "qsgd") return levels(ValueCode::kQsgd, LevelSpacing::kUniform);
  if (name == "qsgdinf") {
    return levels(ValueCode::kQsgdInf, LevelSpacing::kUniform);
  }
  if (name == "nuqsgd") {
    return levels(ValueCode::kNuqsgd, LevelSpacing::kExponential);
  }
  if (name == "natural_dithering") {
    return levels(ValueCode::kNaturalDithering, LevelSpacing::kExponential);
  }
  if (name == "alq") return levels(ValueCode::kAlq, LevelSpacing::kFitted);
  LOG(FATAL) << "a device knows no value code \"" << name << '"';
}

IndexPacking IndexPackingOf(const PayloadCodes& codes) {
  const std::string& name = codes.index_code;
  IndexPacking packing;
  if (name == "auto") {
    packing.smallest = true;
  } else if (name == "raw32") {
    packing.code = IndexCode::kRaw32;
  } else if (name == "delta_varint") {
    packing.code = IndexCode::kDeltaVarint;
  } else if (name == "bitmap") {
    packing.code = IndexCode::kBitmap;
  } else if (name == "rice") {
    packing.code = IndexCode::kRice;
  } else if (name == "elias_fano") {
    packing.code = IndexCode::kEliasFano;
  } else {
    LOG(FATAL) << "a device knows no index code \"" << name << '"';
  }
  return packing;
}

int64_t MaxPlaces(const PayloadCodes& codes, const IndexPacking& indices,
                  int64_t num_parts, int64_t count, int64_t dense_size) {
  const auto codec = ValueCodecs().Find(codes.value_code);
  CHECK(codec.ok()) << codec.status();
  const auto max_bytes = [&](int64_t size) {
    return (*codec)->MaxEncodedSize(size, codes.value_config);
  };
  // Every part has a header, and may have a bucket and a byte that are not
  // full.
  const int64_t value_bytes = max_bytes(count) + num_parts * max_bytes(1);
  return value_bytes + MaxIndexBytes(indices, num_parts, count, dense_size) +
         num_parts * (kFrontBytes + kPlaceBytes);
}

}  // namespace ps
