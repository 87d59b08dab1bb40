#include "compressors/cuda/encoding/packing_choice.h"

#include <string>

#include "compressors/index_codes/index_sizes.h"
#include "compressors/payload/bits.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/level_layouts.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Returns -1 if the code cannot hold the indices.
int64_t IndexBytes(IndexCode code, const PartPlan& part) {
  switch (code) {
    case IndexCode::kDense:
      return part.count == part.dense_size ? 0 : -1;
    case IndexCode::kRaw32:
      return part.count * static_cast<int64_t>(sizeof(uint32_t));
    case IndexCode::kDeltaVarint:
      return part.varint_bytes;
    case IndexCode::kBitmap:
      return BytesOfBits(part.dense_size);
    case IndexCode::kRice:
      return kRiceParameterBytes + BytesOfBits(part.rice_bits);
    case IndexCode::kEliasFano:
      return EliasFanoLayout(part.count, part.dense_size).total_bytes();
    case IndexCode::kAdaComp:
      break;
  }
  return -1;
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

void ChooseValueBytes(const ValuePacking& packing, PartPlan* part) {
  const int64_t count = part->count;
  if (count == 0) return;
  constexpr int64_t kFloatBytes = sizeof(float);
  switch (packing.code) {
    case ValueCode::kFp32:
      part->value_bytes = count * kFloatBytes;
      return;
    case ValueCode::kFp16:
    case ValueCode::kBf16:
      part->value_bytes = count * 2;
      return;
    case ValueCode::kSign:
      part->value_bytes = kFloatBytes + kBits.bytes(count);
      return;
    case ValueCode::kOneBit:
      part->value_bytes = 2 * kFloatBytes + kBits.bytes(count);
      return;
    case ValueCode::kTernary:
      part->value_bytes = kFloatBytes + kTrits.bytes(count);
      return;
    case ValueCode::kTwoBitThreshold:
      part->value_bytes = kFloatBytes + kBitPairs.bytes(count);
      return;
    case ValueCode::kNatural:
      part->value_bytes = BytesOfBits(count * kNaturalBits);
      return;
    default:
      break;
  }
  int64_t level_bits = count * packing.bits;
  if (packing.elias) {
    part->layout =
        SmallerLayout(packing.omega, part->sparse_bits, part->dense_bits);
    level_bits = IsSparse(part->layout) ? part->sparse_bits : part->dense_bits;
  }
  part->value_bytes =
      WordsBeforeLevels(packing, count) * kFloatBytes + BytesOfBits(level_bits);
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

void ChooseIndexCode(const IndexPacking& packing, PartPlan* part) {
  if (part->count == 0) return;
  if (!packing.smallest) {
    part->index_code = packing.code;
    part->index_bytes = IndexBytes(packing.code, *part);
    return;
  }
  part->index_bytes = -1;
  // In order of wire numbers, so that the first of equally small codes is
  // taken.
  for (const IndexCode code :
       {IndexCode::kDense, IndexCode::kRaw32, IndexCode::kDeltaVarint,
        IndexCode::kBitmap, IndexCode::kRice, IndexCode::kEliasFano}) {
    const int64_t bytes = IndexBytes(code, *part);
    if (bytes < 0 || (part->index_bytes >= 0 && bytes >= part->index_bytes)) {
      continue;
    }
    part->index_code = code;
    part->index_bytes = bytes;
  }
}

}  // namespace ps
