// Writes values unchanged: IEEE binary32, little-endian.
#include <algorithm>
#include <cstring>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/float_loops.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int64_t kBytes = sizeof(float);

class Fp32Decoder final : public ValueDecoder {
 public:
  explicit Fp32Decoder(const PieceReader& bytes) : bytes_(bytes) {}

  void Next(absl::Span<float> values) override {
    CHECK(bytes_.Read(values.data(), values.size() * kBytes));
  }

  void AddNext(absl::Span<float> sum) override {
    while (!sum.empty()) {
      const absl::Span<const uint8_t> run = bytes_.Contiguous();
      const int64_t whole = std::min<int64_t>(run.size() / kBytes, sum.size());
      if (whole > 0) {
        AddFloatBytes(run.data(), whole, sum.data());
        bytes_.Skip(whole * kBytes);
        sum.remove_prefix(whole);
      } else {
        float cut;  // A float that spans two pieces or more.
        CHECK(bytes_.Read(&cut, kBytes));
        sum[0] += cut;
        sum.remove_prefix(1);
      }
    }
  }

  bool SkipFinite(int64_t count) override {
    bool finite = true;
    while (count > 0) {
      const absl::Span<const uint8_t> run = bytes_.Contiguous();
      const int64_t whole = std::min<int64_t>(run.size() / kBytes, count);
      if (whole > 0) {
        finite &= AllFinite(run.data(), whole);
        bytes_.Skip(whole * kBytes);
        count -= whole;
      } else {
        uint8_t cut[kBytes];  // A float that spans two pieces or more.
        CHECK(bytes_.Read(cut, kBytes));
        finite &= AllFinite(cut, 1);
        --count;
      }
    }
    return finite;
  }

 private:
  PieceReader bytes_;
};

class Fp32Codec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "fp32"; }
  ValueCode number() const override { return ValueCode::kFp32; }

  CodingError Error(const ValueCodeConfig&) const override { return {}; }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return count * kBytes;
  }
  int64_t Encode(const ValueWriting&, absl::Span<float> values,
                 uint8_t* out) const override {
    if (values.empty()) return 0;
    const int64_t bytes = static_cast<int64_t>(values.size()) * kBytes;
    std::memcpy(out, values.data(), bytes);
    std::fill(values.begin(), values.end(), 0.0f);
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, info.count * kBytes));
    return std::make_unique<Fp32Decoder>(bytes);
  }
};

REGISTER_VALUE_CODEC(fp32, "32 bits: the value itself, the default",
                     new Fp32Codec);

}  // namespace
}  // namespace ps
