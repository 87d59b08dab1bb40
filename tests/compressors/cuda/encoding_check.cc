#include "tests/compressors/cuda/encoding_check.h"

#include <algorithm>
#include <memory>
#include <string>

#include "common/random.h"
#include "compressors/cuda/encoding/device_encoder.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"

namespace ps {
namespace {

Tensor Upload(const float* values, int64_t n, Backend* backend) {
  Tensor tensor = backend->Allocate({n}).value();
  const absl::Status status = backend->CopyFromHost(values, &tensor);
  CHECK(status.ok()) << status;
  return tensor;
}

std::vector<PayloadPart> PartsOf(const EncodingCase& encoding) {
  std::vector<int64_t> ends = encoding.part_ends;
  if (ends.empty()) ends.push_back(encoding.dense_size);
  std::vector<PayloadPart> parts;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    parts.push_back({begin, end, RandomKey(encoding.seed, begin)});
    begin = end;
  }
  return parts;
}

std::string BytesOf(const PayloadBuffer& payload) {
  return std::string(reinterpret_cast<const char*>(payload.data()),
                     payload.size_bytes());
}

}  // namespace

UploadedSelection::UploadedSelection(const std::vector<uint32_t>& indices,
                                     const std::vector<float>& values,
                                     Backend* backend)
    : backend_(backend), count_(static_cast<int64_t>(values.size())) {
  // What lies behind the elements must not matter.
  std::vector<uint32_t> all_indices = indices;
  all_indices.resize(count_ + kMoreCapacity, 7);
  std::vector<float> all_values = values;
  all_values.resize(count_ + kMoreCapacity, 1e30f);
  indices_ = Upload(reinterpret_cast<const float*>(all_indices.data()),
                    count_ + kMoreCapacity, backend);
  values_ = Upload(all_values.data(), count_ + kMoreCapacity, backend);
  device_count_ = Upload(reinterpret_cast<const float*>(&count_),
                         sizeof(count_) / sizeof(float), backend);
}

DeviceSelection UploadedSelection::get() {
  DeviceSelection selection;
  selection.indices = reinterpret_cast<const uint32_t*>(indices_.data());
  selection.values = values_.data();
  selection.capacity = values_.size();
  selection.count = count_;
  return selection;
}

DeviceSelection UploadedSelection::get_queued() {
  DeviceSelection selection = get();
  selection.count = 0;
  selection.device_count =
      reinterpret_cast<const int64_t*>(device_count_.data());
  return selection;
}

std::vector<float> UploadedSelection::values() const {
  std::vector<float> values(values_.size());
  const absl::Status status = backend_->CopyToHost(values_, values.data());
  CHECK(status.ok()) << status;
  values.resize(count_);
  return values;
}

void ExpectSameSelected(const EncodingCase& encoding, bool queued,
                        DeviceEncoder* encoder, Backend* backend) {
  const std::vector<PayloadPart> parts = PartsOf(encoding);
  UploadedSelection selection(encoding.indices, encoding.values, backend);
  const auto actual = encoder->EncodeSelected(
      queued ? selection.get_queued() : selection.get(), parts);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_EQ(actual->size(), parts.size());
  std::vector<float> lost = encoding.values;
  const auto begin = encoding.indices.begin();
  for (size_t p = 0; p < parts.size(); ++p) {
    SCOPED_TRACE(testing::Message() << "part " << p);
    const auto place = [&](int64_t position) {
      return std::lower_bound(
                 begin, encoding.indices.end(), position,
                 [](uint32_t index, int64_t at) { return index < at; }) -
             begin;
    };
    const int64_t first = place(parts[p].begin);
    const int64_t count = place(parts[p].end) - first;
    const auto expected = EncodeElements(
        encoding.codes, absl::MakeSpan(encoding.indices).subspan(first, count),
        absl::MakeSpan(lost).subspan(first, count),
        static_cast<uint32_t>(parts[p].begin), parts[p].end - parts[p].begin,
        parts[p].random_key);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_EQ(BytesOf((*actual)[p]), BytesOf(*expected));
  }
  ASSERT_EQ(Bits(selection.values()), Bits(lost));
}

void ExpectSameSelected(const EncodingCase& encoding, Backend* backend) {
  const auto encoder = NewDeviceEncoder(encoding.codes, backend);
  ASSERT_NE(encoder, nullptr);
  ExpectSameSelected(encoding, encoding.values.size() % 2 == 1, encoder.get(),
                     backend);
}

void ExpectSameAll(const EncodingCase& encoding, Backend* backend) {
  const auto encoder = NewDeviceEncoder(encoding.codes, backend);
  ASSERT_NE(encoder, nullptr);
  const std::vector<PayloadPart> parts = PartsOf(encoding);
  Tensor u = Upload(encoding.values.data(), encoding.dense_size, backend);
  const auto actual = encoder->EncodeAll(u.data(), parts);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_EQ(actual->size(), parts.size());
  std::vector<float> lost = encoding.values;
  for (size_t p = 0; p < parts.size(); ++p) {
    SCOPED_TRACE(testing::Message() << "part " << p);
    const auto expected =
        EncodeDenseAs(encoding.codes,
                      absl::MakeSpan(lost).subspan(
                          parts[p].begin, parts[p].end - parts[p].begin),
                      parts[p].random_key);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_EQ(BytesOf((*actual)[p]), BytesOf(*expected));
  }
  std::vector<float> left(encoding.dense_size);
  ASSERT_TRUE(backend->CopyToHost(u, left.data()).ok());
  ASSERT_EQ(Bits(left), Bits(lost));
}

std::vector<uint32_t> SomeIndices(int64_t count, int64_t dense_size,
                                  uint64_t seed) {
  CHECK_LE(count, dense_size);
  RandomStream random(RandomKey(seed, 17));
  std::vector<uint32_t> indices(count);
  // One index in each of `count` stretches.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = dense_size / count * i;
    const int64_t end =
        i + 1 == count ? dense_size : dense_size / count * (i + 1);
    indices[i] = static_cast<uint32_t>(
        begin +
        static_cast<int64_t>(random.Below(static_cast<uint64_t>(end - begin))));
  }
  return indices;
}

}  // namespace ps
