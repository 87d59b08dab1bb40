#include "data/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// A zlib stream, released on destruction.
struct Inflater {
  Inflater() {
    // 16 makes zlib expect a gzip header, and check its CRC-32 and length.
    initialised = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;
  }
  ~Inflater() {
    if (initialised) inflateEnd(&stream);
  }
  z_stream stream = {};
  bool initialised = false;
};

}  // namespace

bool LooksLikeGzip(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\x1f\x8b");
}

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, int64_t max_bytes) {
  Inflater inflater;
  if (!inflater.initialised) {
    return absl::ResourceExhaustedError("zlib could not start");
  }
  z_stream& stream = inflater.stream;
  std::string unpacked;
  std::string chunk(size_t{1} << 16, '\0');
  bool member_ended = false;
  for (;;) {
    if (stream.avail_in == 0) {
      if (bytes.empty()) break;
      // zlib's counters have 32 bits.
      const size_t take =
          std::min<size_t>(bytes.size(), std::numeric_limits<int32_t>::max());
      stream.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(take);
      bytes.remove_prefix(take);
    }
    if (member_ended) {
      while (stream.avail_in > 0 && *stream.next_in == 0) {
        ++stream.next_in;
        --stream.avail_in;
      }
      if (stream.avail_in == 0) continue;
      inflateReset(&stream);
    }
    stream.next_out = reinterpret_cast<Bytef*>(&chunk[0]);
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    member_ended = result == Z_STREAM_END;
    if (result != Z_OK && !member_ended) {
      return absl::DataLossError(
          absl::StrCat("damaged gzip data: ",
                       stream.msg != nullptr ? stream.msg : zError(result)));
    }
    unpacked.append(chunk, 0, chunk.size() - stream.avail_out);
    if (static_cast<int64_t>(unpacked.size()) > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("unpacks to more than ", max_bytes, " bytes"));
    }
  }
  if (!member_ended) {
    return absl::DataLossError("the gzip data ends too early");
  }
  return unpacked;
}

}  // namespace ps
