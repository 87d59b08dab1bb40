#include "worker/answer_writer.h"

#include <utility>

#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "transport/shard_map.h"

namespace ps {

absl::Status AnswerWriter::Write(const SliceAnswer& answer, int64_t begin,
                                 Tensor* values) {
  if (answer.payload.empty()) {
    return absl::DataLossError("an answer contains no weights");
  }
  const Slice& slice = *answer.slice;
  Tensor part = values->Slice(begin + slice.begin, begin + slice.end);
  sparse_ = answer.info.index_code != IndexCode::kDense;
  return sparse_ ? WriteSparse(answer, std::move(part))
                 : WriteDense(answer, std::move(part));
}

absl::Status AnswerWriter::WriteDense(const SliceAnswer& answer, Tensor part) {
  if (backend_->sparse().device_work() != nullptr && CanWiden(answer.info)) {
    return WriteNarrow(answer, std::move(part));
  }
  staging_.resize(part.size());
  if (answer.difference) {
    PS_RETURN_IF_ERROR(backend_->CopyToHost(part, staging_.data()));
    AddPayload(answer.payload, staging_.data());
  } else {
    DecodeDensePayload(answer.payload, absl::MakeSpan(staging_));
  }
  return backend_->CopyFromHost(staging_.data(), &part);
}

absl::Status AnswerWriter::WriteNarrow(const SliceAnswer& answer, Tensor part) {
  if (widener_ == nullptr) {
    widener_ = NewOnDevice<DeviceWidener>(backend_->sparse().device_work());
  }
  return widener_->Write(answer.payload, answer.info, answer.difference,
                         part.data());
}

absl::Status AnswerWriter::WriteSparse(const SliceAnswer& answer, Tensor part) {
  SparseKernels& kernels = backend_->sparse();
  DecodePayload(answer.payload, &selection_.indices, &selection_.values);
  return answer.difference ? kernels.AddAt(selection_, part.data())
                           : kernels.Scatter(selection_, part.data());
}

}  // namespace ps
