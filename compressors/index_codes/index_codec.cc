#include "compressors/index_codes/index_codec.h"

namespace ps {

CodeTable<IndexCodec>& IndexCodecs() {
  static auto* const table = new CodeTable<IndexCodec>("index code");
  return *table;
}

CodeTable<IndexFormat>& OwnIndexFormats() {
  static auto* const table = new CodeTable<IndexFormat>("index format");
  return *table;
}

const IndexFormat* FindIndexFormat(uint8_t number) {
  const IndexFormat* const codec = IndexCodecs().FindNumber(number);
  return codec != nullptr ? codec : OwnIndexFormats().FindNumber(number);
}

}  // namespace ps
