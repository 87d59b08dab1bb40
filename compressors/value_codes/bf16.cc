// Writes the upper half of a float: see two_byte_formats.h.
#include "compressors/value_codes/two_byte_codec.h"
#include "compressors/value_codes/two_byte_formats.h"

namespace ps {
namespace {

struct Bf16Traits : Bf16 {
  static constexpr char kName[] = "bf16";
  static constexpr ValueCode kNumber = ValueCode::kBf16;
  static constexpr double kRelativeError = 0x1p-8;
};

REGISTER_VALUE_CODEC(bf16, "16 bits: the range of fp32 with 8 significant bits",
                     new TwoByteCodec<Bf16Traits>);

}  // namespace
}  // namespace ps
