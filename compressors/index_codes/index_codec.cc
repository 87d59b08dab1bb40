#include "compressors/index_codes/index_codec.h"

namespace ps {

CodeTable<IndexCodec>& IndexCodecs() {
  static auto* const table = new CodeTable<IndexCodec>("index code");
  return *table;
}

}  // namespace ps
