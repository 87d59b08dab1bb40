// The bytes of one payload: shared, so that the transport can send them from
// where the compressor wrote them, also twice.
#ifndef COMPRESSORS_PAYLOAD_PAYLOAD_BUFFER_H_
#define COMPRESSORS_PAYLOAD_PAYLOAD_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace ps {

// A handle; copies share the bytes. Written by whoever made it, then only read.
class PayloadBuffer {
 public:
  PayloadBuffer() = default;

  // Uninitialised bytes.
  static PayloadBuffer Allocate(size_t size_bytes) {
    PayloadBuffer buffer;
    buffer.bytes_ = std::shared_ptr<uint8_t[]>(new uint8_t[size_bytes]);
    buffer.size_bytes_ = size_bytes;
    return buffer;
  }

  // Over bytes of somebody else's making, aligned to 4 at least.
  static PayloadBuffer Over(std::shared_ptr<uint8_t[]> bytes,
                            size_t size_bytes) {
    PayloadBuffer buffer;
    buffer.bytes_ = std::move(bytes);
    buffer.size_bytes_ = size_bytes;
    return buffer;
  }

  // Whether this is the only handle, so that the bytes may be written again. No
  // other thread may copy this handle meanwhile.
  bool unique() const {
    if (bytes_.use_count() != 1) return false;
    // What the last other holder read, it has read before now. A count that
    // goes up and down again says so, also to ThreadSanitizer, which knows no
    // fences.
    const std::shared_ptr<uint8_t[]> acquire = bytes_;
    return true;
  }

  // Forgets all but the first bytes; at most size_bytes().
  void Shrink(size_t size_bytes) { size_bytes_ = size_bytes; }

  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  size_t size_bytes() const { return size_bytes_; }
  absl::Span<const uint8_t> span() const { return {data(), size_bytes_}; }

 private:
  std::shared_ptr<uint8_t[]> bytes_;
  size_t size_bytes_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_PAYLOAD_BUFFER_H_
