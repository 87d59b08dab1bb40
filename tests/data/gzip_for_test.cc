#include "tests/data/gzip_for_test.h"

#include <zlib.h>

#include <string>

#include "glog/logging.h"

namespace ps {

std::string GzipForTest(absl::string_view bytes) {
  z_stream stream = {};
  CHECK_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED,
                        /*windowBits=*/16 + MAX_WBITS, /*memLevel=*/8,
                        Z_DEFAULT_STRATEGY),
           Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(&packed[0]);
  stream.avail_out = static_cast<uInt>(packed.size());
  CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace ps
