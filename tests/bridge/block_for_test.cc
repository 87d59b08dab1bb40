#include "tests/bridge/block_for_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridge/messages.h"
#include "bridge/shared_block.h"
#include "gtest/gtest.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

int64_t Elements(const std::vector<ParameterInfo>& tensors) {
  int64_t elements = 0;
  for (const ParameterInfo& tensor : tensors) {
    elements += NumElements(tensor.shape);
  }
  return elements;
}

int64_t Aligned(int64_t offset) { return (offset + 63) / 64 * 64; }

}  // namespace

std::string BlockHeader(const std::vector<ParameterInfo>& tensors) {
  std::string table;
  for (const ParameterInfo& tensor : tensors) {
    Append(static_cast<uint32_t>(tensor.name.size()), &table);
    Append(static_cast<uint32_t>(tensor.shape.size()), &table);
    for (const int64_t extent : tensor.shape) Append(extent, &table);
    table += tensor.name;
  }
  std::string bytes = kBridgeMagic;
  Append(uint32_t{kBridgeProtocol}, &bytes);
  Append(static_cast<uint32_t>(tensors.size()), &bytes);
  Append(uint64_t{table.size()}, &bytes);
  Append(static_cast<uint64_t>(Elements(tensors)), &bytes);
  bytes.resize(4096);
  return bytes + table;
}

int64_t BlockBytes(const std::vector<ParameterInfo>& tensors) {
  const auto buckets =
      Aligned(static_cast<int64_t>(BlockHeader(tensors).size()));
  const int64_t in =
      Aligned(buckets + 4 * static_cast<int64_t>(tensors.size()));
  return Aligned(in + 4 * Elements(tensors)) + 4 * Elements(tensors);
}

UniqueFd MakeMemfd(const std::string& bytes, int64_t size, bool sealed) {
  UniqueFd fd(memfd_create("block", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), size), 0);
  EXPECT_EQ(pwrite(fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  const int seals = sealed ? F_SEAL_SHRINK : 0;
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

UniqueFd MakeBlock(const std::vector<ParameterInfo>& tensors) {
  return MakeMemfd(BlockHeader(tensors), BlockBytes(tensors));
}

}  // namespace ps
