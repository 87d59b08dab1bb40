// Writes no indices: every position has a value.
#include <memory>

#include "absl/strings/str_cat.h"
#include "compressors/index_codes/index_codec.h"

namespace ps {
namespace {

class DenseDecoder final : public IndexDecoder {
 public:
  explicit DenseDecoder(const PayloadInfo& info) : info_(info) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    if (info_.count != info_.dense_size || info_.index_bytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a dense payload of ", info_.dense_size, " positions has ",
          info_.count, " values and ", info_.index_bytes, " index bytes"));
    }
    for (uint32_t& index : indices) index = next_++;
    return absl::OkStatus();
  }

  absl::Status Finish() override { return Next({}); }

 private:
  const PayloadInfo info_;
  uint32_t next_ = 0;
};

class DenseCodec final : public IndexCodec {
 public:
  absl::string_view name() const override { return "dense"; }
  IndexCode number() const override { return IndexCode::kDense; }

  bool Fits(const IndexList& list) const override {
    return list.count() == list.dense_size;
  }
  int64_t EncodedSize(const IndexList&) const override { return 0; }
  void Encode(const IndexList&, uint8_t*) const override {}

  std::unique_ptr<IndexDecoder> NewDecoder(const PayloadInfo& info,
                                           const PieceReader&) const override {
    return std::make_unique<DenseDecoder>(info);
  }
};

REGISTER_INDEX_CODEC(DenseCodec);

}  // namespace
}  // namespace ps
