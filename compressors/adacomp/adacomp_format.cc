// Decodes payloads that AdaComp wrote. Its code words contain position and sign
// together, so the index and the value decoder both read the bytes of the
// values.
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/adacomp/adacomp_reader.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {
namespace {

class AdaCompIndexDecoder final : public IndexDecoder {
 public:
  AdaCompIndexDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : info_(info), reader_(info.dense_size, bytes) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    PS_RETURN_IF_ERROR(CheckHeader());
    AdaCompElement element;
    for (uint32_t& index : indices) {
      PS_ASSIGN_OR_RETURN(const bool found, reader_.Next(&element));
      if (!found) {
        return absl::InvalidArgumentError(
            "fewer elements than the header says");
      }
      index = element.position;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PS_RETURN_IF_ERROR(CheckHeader());
    AdaCompElement element;
    PS_ASSIGN_OR_RETURN(const bool found, reader_.Next(&element));
    if (!found) return absl::OkStatus();
    return absl::InvalidArgumentError("more elements than the header says");
  }

 private:
  absl::Status CheckHeader() const {
    if (info_.value_code == ValueCode::kAdaComp && info_.index_bytes == 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        "indices of adacomp without its values, or with bytes of their own");
  }

  const PayloadInfo info_;
  AdaCompReader reader_;
};

class AdaCompIndexFormat final : public IndexFormat {
 public:
  absl::string_view name() const override { return "adacomp"; }
  IndexCode number() const override { return IndexCode::kAdaComp; }
  bool in_values() const override { return true; }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<AdaCompIndexDecoder>(info, bytes);
  }
};

REGISTER_OWN_INDEX_FORMAT(AdaCompIndexFormat);

class AdaCompValueDecoder final : public ValueDecoder {
 public:
  AdaCompValueDecoder(int64_t dense_size, const PieceReader& bytes)
      : reader_(dense_size, bytes) {}

  // The index decoder reports errors in the bytes.
  void Next(absl::Span<float> values) override {
    AdaCompElement element;
    for (float& value : values) {
      if (there_is_more_) {
        const absl::StatusOr<bool> found = reader_.Next(&element);
        there_is_more_ = found.ok() && *found;
      }
      value = there_is_more_ ? element.value
                             : std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  bool there_is_more_ = true;
  AdaCompReader reader_;
};

class AdaCompValueFormat final : public ValueFormat {
 public:
  absl::string_view name() const override { return "adacomp"; }
  ValueCode number() const override { return ValueCode::kAdaComp; }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    if (info.index_code == IndexCode::kAdaComp) {
      return std::make_unique<AdaCompValueDecoder>(info.dense_size, bytes);
    }
    return absl::InvalidArgumentError("values of adacomp without its indices");
  }
};

REGISTER_OWN_VALUE_FORMAT(AdaCompValueFormat);

}  // namespace
}  // namespace ps
