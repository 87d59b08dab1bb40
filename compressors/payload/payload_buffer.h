// The bytes of one payload. They are shared, so that the transport can send
// them from where the compressor wrote them, more than once if needed.
#ifndef COMPRESSORS_PAYLOAD_PAYLOAD_BUFFER_H_
#define COMPRESSORS_PAYLOAD_PAYLOAD_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace ps {

// A handle to the bytes; copies share them. The creator writes them; afterwards
// they are only read.
class PayloadBuffer {
 public:
  PayloadBuffer() = default;

  // Returns a buffer with uninitialised bytes.
  static PayloadBuffer Allocate(size_t size_bytes) {
    PayloadBuffer buffer;
    buffer.bytes_ = std::shared_ptr<uint8_t[]>(new uint8_t[size_bytes]);
    buffer.size_bytes_ = size_bytes;
    return buffer;
  }

  // Wraps bytes that the caller allocated, aligned to at least 4.
  static PayloadBuffer Over(std::shared_ptr<uint8_t[]> bytes,
                            size_t size_bytes) {
    PayloadBuffer buffer;
    buffer.bytes_ = std::move(bytes);
    buffer.size_bytes_ = size_bytes;
    return buffer;
  }

  // Whether this is the only handle, so that the bytes may be written again. No
  // other thread may copy this handle during the call.
  bool unique() const {
    if (bytes_.use_count() != 1) return false;
    // The reads of the last other holder must happen before the caller's
    // writes. Copying the handle increments and decrements the count, which
    // establishes that order, also for ThreadSanitizer, which does not support
    // fences.
    const std::shared_ptr<uint8_t[]> acquire = bytes_;
    return true;
  }

  // Keeps only the first size_bytes bytes; at most size_bytes().
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
