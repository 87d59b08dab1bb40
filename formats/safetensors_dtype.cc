#include "formats/safetensors_dtype.h"

#include <cstring>

#include "glog/logging.h"

namespace ps {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "elements are read as they lie in the file");

// The format's own implementation has these names (safetensors/src/tensor.rs).
struct Dtype {
  absl::string_view name;
  int64_t bits;
};
constexpr Dtype kDtypes[] = {
    {"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6},     {"BOOL", 8},
    {"U8", 8},      {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},        {"BF16", 16},       {"I32", 32},
    {"U32", 32},    {"F32", 32},        {"F64", 64},        {"I64", 64},
    {"U64", 64},    {"C64", 64},
};

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// bfloat16 is the upper half of a float.
float WidenBf16(uint16_t code) { return FromBits(uint32_t{code} << 16); }

// IEEE binary16: 5 bits of exponent with bias 15, 10 of fraction.
float WidenFp16(uint16_t code) {
  const uint32_t sign = uint32_t{code} >> 15 << 31;
  const uint32_t magnitude = code & 0x7fff;
  // Infinity and NaN.
  if (magnitude >= 0x7c00) {
    return FromBits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  // Read as a float's exponent, the code's exponent is 112 too small. The
  // product is exact, and a normal number even if the code is subnormal.
  const float value = FromBits(magnitude << 13) * 0x1p112f;
  return sign != 0 ? -value : value;
}

template <typename Widen>
void WidenHalves(absl::string_view data, const Widen& widen, float* values) {
  for (size_t i = 0; i < data.size() / 2; ++i) {
    uint16_t code;
    std::memcpy(&code, data.data() + 2 * i, sizeof(code));
    values[i] = widen(code);
  }
}

}  // namespace

int64_t DtypeBits(absl::string_view dtype) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  return 0;
}

bool IsReadAsFloat(absl::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

void WidenToFloat(absl::string_view dtype, absl::string_view data,
                  float* values) {
  CHECK(IsReadAsFloat(dtype)) << dtype;
  if (dtype == "F16") {
    WidenHalves(data, WidenFp16, values);
  } else if (dtype == "BF16") {
    WidenHalves(data, WidenBf16, values);
  } else if (!data.empty()) {
    std::memcpy(values, data.data(), data.size());
  }
}

}  // namespace ps
