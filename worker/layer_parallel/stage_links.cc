#include "worker/layer_parallel/stage_links.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "compressors/value_codes/two_byte_formats.h"

namespace ps {
namespace {

// Packs two codes into each float, as an exchange carries any bits.
std::vector<float> Narrow(const float* values, int64_t size) {
  std::vector<uint16_t> codes(size + size % 2);
  for (int64_t i = 0; i < size; ++i) codes[i] = NarrowForWire(values[i]);
  std::vector<float> packed(codes.size() / 2);
  std::memcpy(packed.data(), codes.data(), codes.size() * sizeof(uint16_t));
  return packed;
}

void Widen(const std::vector<float>& packed, std::vector<float>* values) {
  std::vector<uint16_t> codes(2 * packed.size());
  std::memcpy(codes.data(), packed.data(), codes.size() * sizeof(uint16_t));
  for (size_t i = 0; i < values->size(); ++i) {
    (*values)[i] = Fp16::Widen(codes[i]);
  }
}

}  // namespace

absl::Status StageLinks::SendForward(const float* values, int64_t size,
                                     LayerParallelConfig::WireFormat wire) {
  return Send(worker_ + 1, kForward, sent_forward_++, wire, values, size);
}

absl::Status StageLinks::SendBackward(const float* values, int64_t size,
                                      LayerParallelConfig::WireFormat wire) {
  return Send(worker_ - 1, kBackward, sent_backward_++, wire, values, size);
}

absl::Status StageLinks::ReceiveForward(int64_t size,
                                        LayerParallelConfig::WireFormat wire,
                                        std::vector<float>* values) {
  return Receive(worker_ - 1, kForward, received_forward_++, wire, size,
                 values);
}

absl::Status StageLinks::ReceiveBackward(int64_t size,
                                         LayerParallelConfig::WireFormat wire,
                                         std::vector<float>* values) {
  return Receive(worker_ + 1, kBackward, received_backward_++, wire, size,
                 values);
}

absl::StatusOr<std::vector<float>> StageLinks::Gather(
    const std::vector<float>& own, int64_t most) {
  constexpr auto kExact = LayerParallelConfig::FP32;
  const int64_t number = 2 * gathered_++;
  // The count is exact up to 2^24.
  const std::vector<float> count = {static_cast<float>(own.size())};
  for (int peer = 0; peer < num_workers_; ++peer) {
    if (peer == worker_) continue;
    PS_RETURN_IF_ERROR(Send(peer, kGathered, number, kExact, count.data(), 1));
    if (own.empty()) continue;
    PS_RETURN_IF_ERROR(Send(peer, kGathered, number + 1, kExact, own.data(),
                            static_cast<int64_t>(own.size())));
  }
  std::vector<float> all;
  for (int peer = 0; peer < num_workers_; ++peer) {
    std::vector<float> part = own;
    if (peer != worker_) {
      PS_RETURN_IF_ERROR(Receive(peer, kGathered, number, kExact, 1, &part));
      // This form of the condition refuses NaN too.
      if (!(part[0] >= 0 && part[0] <= static_cast<float>(most))) {
        return absl::DataLossError(
            absl::StrCat("worker ", peer, " sends ", part[0],
                         " values; must be 0 to ", most));
      }
      const auto size = static_cast<int64_t>(part[0]);
      part.clear();
      if (size > 0) {
        PS_RETURN_IF_ERROR(
            Receive(peer, kGathered, number + 1, kExact, size, &part));
      }
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

absl::Status StageLinks::Send(int to, Stream stream, int64_t number,
                              LayerParallelConfig::WireFormat wire,
                              const float* values, int64_t size) {
  if (wire == LayerParallelConfig::FP32) {
    bytes_ += size * static_cast<int64_t>(sizeof(float));
    return exchange_->Put(to, stream, number,
                          {values, static_cast<size_t>(size)});
  }
  const std::vector<float> packed = Narrow(values, size);
  bytes_ += static_cast<int64_t>(packed.size() * sizeof(float));
  return exchange_->Put(to, stream, number, packed);
}

absl::Status StageLinks::Receive(int from, Stream stream, int64_t number,
                                 LayerParallelConfig::WireFormat wire,
                                 int64_t size, std::vector<float>* values) {
  const absl::Time start = SteadyClock()->Now();
  values->resize(size);
  absl::Status received;
  if (wire == LayerParallelConfig::FP32) {
    received = exchange_->Get(from, stream, number, absl::MakeSpan(*values));
  } else {
    std::vector<float> packed((size + 1) / 2);
    received = exchange_->Get(from, stream, number, absl::MakeSpan(packed));
    Widen(packed, values);
  }
  waited_ += SteadyClock()->Now() - start;
  return received;
}

}  // namespace ps
