#include "tests/compressors/harness.h"

#include <cmath>
#include <cstring>

#include "compressors/automatic/automatic.h"
#include "compressors/new_compressor.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "tensor/backend.h"

namespace ps {
namespace {

CompressorOptions OptionsFor(const HarnessOptions& options, Backend* backend) {
  CompressorOptions made;
  made.config = options.config;
  made.dense_size = options.dense_size;
  made.part_ends = options.part_ends;
  made.tensors = options.tensors;
  made.seed = options.seed;
  made.worker_rank = options.worker_rank;
  made.bucket = options.bucket;
  made.num_workers = options.num_workers;
  made.backend = backend;
  made.shared_positions = options.shared_positions;
  return made;
}

}  // namespace

Harness::Harness(const HarnessOptions& options)
    : dense_size_(options.dense_size), part_ends_(options.part_ends) {
  CpuBackendOptions backend_options;
  backend_options.num_threads = options.num_threads;
  auto backend = NewCpuBackend(backend_options);
  CHECK(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
  const CompressorOptions made = OptionsFor(options, backend_.get());
  auto compressor =
      options.compressed_buckets == nullptr
          ? NewCompressor(made)
          : NewAutomaticCompressor(made, options.compressed_buckets);
  CHECK(compressor.ok()) << compressor.status();
  compressor_ = *std::move(compressor);
  auto residual = backend_->Allocate({dense_size_});
  CHECK(residual.ok()) << residual.status();
  residual_ = *residual;
  if (part_ends_.empty()) part_ends_.push_back(dense_size_);
}

EncodedGradient Harness::Compress(const std::vector<float>& gradient) {
  auto tensor = backend_->Allocate({dense_size_});
  CHECK(tensor.ok()) << tensor.status();
  CHECK(backend_->CopyFromHost(gradient.data(), &*tensor).ok());
  auto encoded = compressor_->Compress(*tensor, &residual_);
  CHECK(encoded.ok()) << encoded.status();
  return *std::move(encoded);
}

std::vector<float> Harness::residual() const {
  return std::vector<float>(residual_.data(), residual_.data() + dense_size_);
}

void Harness::set_residual(const std::vector<float>& residual) {
  CHECK(backend_->CopyFromHost(residual.data(), &residual_).ok());
}

std::vector<float> Harness::Decode(const EncodedGradient& encoded) const {
  CHECK_EQ(encoded.parts.size(), part_ends_.size());
  std::vector<float> sum(dense_size_, 0.0f);
  int64_t begin = 0;
  for (size_t p = 0; p < part_ends_.size(); ++p) {
    const PayloadPieces pieces = {encoded.parts[p].span()};
    const auto info = ValidatePayload(pieces, part_ends_[p] - begin);
    CHECK(info.ok()) << info.status();
    AddPayload(pieces, sum.data() + begin);
    begin = part_ends_[p];
  }
  return sum;
}

std::vector<int64_t> Harness::Positions(const EncodedGradient& encoded) const {
  std::vector<int64_t> positions;
  int64_t begin = 0;
  for (size_t p = 0; p < part_ends_.size(); ++p) {
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload({encoded.parts[p].span()}, &indices, &values);
    for (const uint32_t index : indices) positions.push_back(begin + index);
    begin = part_ends_[p];
  }
  return positions;
}

std::vector<TensorSpan> SomeTensors(int64_t n) {
  std::vector<TensorSpan> tensors;
  int64_t begin = 0;
  const auto add = [&](const Shape& shape) {
    tensors.push_back({begin, shape});
    begin += NumElements(shape);
  };
  add({n / 60, 2, 3, 3});  // 30 % of the elements.
  add({n / 50});
  add({n / 90, 30});  // A third of them.
  const int64_t side = static_cast<int64_t>(std::sqrt(n - begin) * 0.9);
  add({side, side});
  add({n - begin});
  return tensors;
}

absl::Status NewCompressorStatus(const HarnessOptions& options) {
  auto backend = NewCpuBackend(CpuBackendOptions());
  CHECK(backend.ok()) << backend.status();
  return NewCompressor(OptionsFor(options, backend->get())).status();
}

CompressorConfig CompressorConfigFrom(absl::string_view text) {
  CompressorConfig config;
  CHECK(
      google::protobuf::TextFormat::ParseFromString(std::string(text), &config))
      << text;
  return config;
}

absl::Status Acceptance(const CompressorConfig& config) {
  HarnessOptions options;
  options.config = config;
  return NewCompressorStatus(options);
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  if (!values.empty()) {
    std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  }
  return bits;
}

std::string Bytes(const EncodedGradient& encoded) {
  std::string bytes;
  for (const PayloadBuffer& part : encoded.parts) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size_bytes());
  }
  return bytes;
}

}  // namespace ps
