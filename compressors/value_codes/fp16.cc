// Writes IEEE binary16: see two_byte_formats.h.
#include "compressors/value_codes/two_byte_codec.h"
#include "compressors/value_codes/two_byte_formats.h"

namespace ps {
namespace {

struct Fp16Traits : Fp16 {
  static constexpr char kName[] = "fp16";
  static constexpr ValueCode kNumber = ValueCode::kFp16;
  static constexpr double kRelativeError = 0x1p-11;
};

REGISTER_VALUE_CODEC(fp16, "16 bits: the nearest binary16 number",
                     new TwoByteCodec<Fp16Traits>);

}  // namespace
}  // namespace ps
