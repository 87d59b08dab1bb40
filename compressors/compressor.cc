#include "compressors/compressor.h"

namespace ps {

Registry<CompressorFactory>& CompressorRegistry() {
  static auto* const registry = new Registry<CompressorFactory>("compressor");
  return *registry;
}

}  // namespace ps
