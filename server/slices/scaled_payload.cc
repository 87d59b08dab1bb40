#include "server/slices/scaled_payload.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/payload/payload.h"
#include "glog/logging.h"

namespace ps {

bool IsDense(const PayloadPieces& payload, int64_t num_elements) {
  return ValidatePayload(payload, num_elements)->index_code ==
         IndexCode::kDense;
}

PayloadBuffer ScaledPayload(const PayloadPieces& payload, double scale,
                            int64_t num_elements) {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  DecodePayload(payload, &indices, &values);
  for (float& value : values) value = static_cast<float>(value * scale);
  if (IsDense(payload, num_elements)) return EncodeDense(values);
  absl::StatusOr<PayloadBuffer> sparse =
      EncodeSparse("raw32", indices, values, /*begin=*/0, num_elements);
  CHECK(sparse.ok()) << sparse.status();  // The code is known.
  return *std::move(sparse);
}

}  // namespace ps
