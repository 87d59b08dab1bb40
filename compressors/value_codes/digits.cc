#include "compressors/value_codes/digits.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int kBytes = 256;
constexpr int kMaxPerByte = 8;

class DigitDecoder final : public ValueDecoder {
 public:
  DigitDecoder(const DigitPacking& packing, const DigitValues& values,
               int64_t count, const PieceReader& bytes)
      : packing_(packing), count_(count), bytes_(bytes) {
    for (int byte = 0; byte < kBytes; ++byte) {
      for (int i = 0; i < packing.per_byte; ++i) {
        table_[byte][i] = values[byte / packing.weights[i] % packing.base];
      }
    }
    // Five trits use 243 of the 256 byte values.
    int used = 1;
    for (int i = 0; i < packing.per_byte; ++i) used *= packing.base;
    for (int byte = used; byte < kBytes; ++byte) {
      std::fill_n(table_[byte], kMaxPerByte,
                  std::numeric_limits<float>::quiet_NaN());
    }
  }

  void Next(absl::Span<float> values) override {
    size_t done = 0;
    while (done < values.size()) {
      if (next_ == 0 && NextBytes(values.subspan(done), &done)) continue;
      if (next_ == 0) CHECK(bytes_.ReadByte(&byte_));
      values[done++] = table_[byte_][next_];
      next_ = (next_ + 1) % packing_.per_byte;
    }
  }

  absl::Status Finish() override {
    const int there = static_cast<int>(count_ % packing_.per_byte);
    if (there == 0) return absl::OkStatus();
    for (int i = there; i < packing_.per_byte; ++i) {
      if (byte_ / packing_.weights[i] % packing_.base != 0) {
        return absl::InvalidArgumentError("more values than the header says");
      }
    }
    return absl::OkStatus();
  }

 private:
  // Decodes whole bytes that lie together; false if there are none.
  bool NextBytes(absl::Span<float> values, size_t* done) {
    const absl::Span<const uint8_t> run = bytes_.Contiguous();
    const size_t per_byte = packing_.per_byte;
    const size_t n = std::min(run.size(), values.size() / per_byte);
    if (n == 0) return false;
    if (per_byte == 8) {
      CopyGroups<8>(run.data(), n, values.data());
    } else if (per_byte == 5) {
      CopyGroups<5>(run.data(), n, values.data());
    } else {
      CopyGroups<4>(run.data(), n, values.data());
    }
    bytes_.Skip(static_cast<int64_t>(n));
    *done += n * per_byte;
    return true;
  }

  // The length is a constant, so that each copy is a move or two.
  template <int kPerByte>
  void CopyGroups(const uint8_t* bytes, size_t n, float* values) const {
    for (size_t i = 0; i < n; ++i) {
      std::copy_n(table_[bytes[i]], kPerByte, values);
      values += kPerByte;
    }
  }

  const DigitPacking& packing_;
  const int64_t count_;
  PieceReader bytes_;
  float table_[kBytes][kMaxPerByte];
  uint8_t byte_ = 0;  // The last byte, read digit by digit.
  int next_ = 0;      // The index of its next digit.
};

}  // namespace

std::unique_ptr<ValueDecoder> NewDigitDecoder(const DigitPacking& packing,
                                              const DigitValues& values,
                                              int64_t count,
                                              const PieceReader& bytes) {
  return std::make_unique<DigitDecoder>(packing, values, count, bytes);
}

absl::StatusOr<float> ReadScale(PieceReader* bytes) {
  float scale = 0;
  CHECK(bytes->Read(&scale, sizeof(scale)));
  // Also rejects -0, which is never written.
  if (std::isfinite(scale) && !std::signbit(scale)) return scale;
  return absl::InvalidArgumentError(
      absl::StrCat("a scale is ", scale, "; must be finite and at least 0"));
}

}  // namespace ps
