#include "tools/bench/compressors/compression_check.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {
namespace {

// The residual is a difference that was rounded to float once: half a unit in
// its last place, plus a little for the rounding of this check.
constexpr double kRelativeError = 0x1.001p-24;

// Checks the rules that hold for each element.
absl::Status CheckElement(double sum, bool sent, double decoded, double kept,
                          double threshold) {
  const double tolerance = sent ? kRelativeError * std::fabs(kept) : 0;
  // Written so that a NaN fails too.
  if (!(std::fabs(decoded + kept - sum) <= tolerance)) {
    return absl::InternalError("decoded + kept is not residual + gradient");
  }
  const double magnitude = std::fabs(sum);
  if (threshold > 0 && (sent ? magnitude < threshold : magnitude > threshold)) {
    return absl::InternalError(sent ? "sent, but below the threshold"
                                    : "kept, but above the threshold");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeParts(const EncodedGradient& encoded,
                         absl::Span<const int64_t> part_ends,
                         Selection* elements) {
  int64_t begin = 0;
  for (size_t p = 0; p < part_ends.size(); ++p) {
    const PayloadPieces payload = {encoded.parts[p].span()};
    PS_RETURN_IF_ERROR(ValidatePayload(payload, part_ends[p] - begin).status());
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload(payload, &indices, &values);
    for (const uint32_t index : indices) {
      elements->indices.push_back(static_cast<uint32_t>(begin + index));
    }
    elements->values.insert(elements->values.end(), values.begin(),
                            values.end());
    begin = part_ends[p];
  }
  return absl::OkStatus();
}

absl::Status CheckCompression(const CompressionToCheck& check) {
  const CompressionStats& stats = check.encoded->stats;
  const int64_t n = static_cast<int64_t>(check.sum.size());
  std::vector<int64_t> part_ends = check.part_ends;
  if (part_ends.empty()) part_ends.push_back(n);
  Selection elements;
  PS_RETURN_IF_ERROR(DecodeParts(*check.encoded, part_ends, &elements));
  const std::vector<uint32_t>& indices = elements.indices;
  const std::vector<float>& values = elements.values;
  if (static_cast<int64_t>(indices.size()) != stats.count ||
      (check.exact_count && stats.count != stats.target_count)) {
    return absl::InternalError(
        absl::StrCat(indices.size(), " elements are in the payload; count is ",
                     stats.count, ", the target ", stats.target_count));
  }
  size_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool sent = next < indices.size() && indices[next] == i;
    const double decoded = sent ? values[next] : 0;
    if (sent) ++next;
    const absl::Status status = CheckElement(
        check.sum[i], sent, decoded, check.residual[i], stats.threshold);
    if (!status.ok()) {
      return Annotate(
          status,
          absl::StrCat("element ", i, ", where residual + gradient is ",
                       check.sum[i], ", decoded ", decoded, ", kept ",
                       check.residual[i], ", threshold ", stats.threshold));
    }
  }
  if (next != indices.size()) {
    return absl::InternalError(
        absl::StrCat("index ", indices[next], " does not ascend"));
  }
  return absl::OkStatus();
}

}  // namespace ps
