#include "compressors/value_codes/value_codec.h"

namespace ps {

CodeTable<ValueCodec>& ValueCodecs() {
  static auto* const table = new CodeTable<ValueCodec>("value code");
  return *table;
}

}  // namespace ps
