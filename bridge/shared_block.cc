#include "bridge/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/messages.h"
#include "common/status_macros.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

constexpr size_t kHeaderBytes = 4096;
constexpr size_t kAlignment = 64;
// Those of a server (server/shard_layout.cc).
constexpr int64_t kMaxElements = int64_t{1} << 36;
constexpr uint32_t kMaxTensors = 1 << 16;
constexpr uint32_t kMaxExtents = 64;
constexpr uint32_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxTableBytes =
    uint64_t{kMaxTensors} * (8 + 8 * kMaxExtents + kMaxNameBytes);

struct Header {
  char magic[8];
  uint32_t protocol;
  uint32_t num_tensors;
  uint64_t table_bytes;
  uint64_t num_elements;
};

template <typename... Text>
absl::Status Invalid(const Text&... text) {
  return absl::InvalidArgumentError(absl::StrCat("the shared block ", text...));
}

uint64_t Aligned(uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

// Takes values from the beginning of a table.
class TableReader {
 public:
  explicit TableReader(absl::string_view table) : left_(table) {}

  bool empty() const { return left_.empty(); }

  template <typename T>
  bool Take(T* value) {
    absl::string_view bytes;
    if (!TakeBytes(sizeof(T), &bytes)) return false;
    std::memcpy(value, bytes.data(), sizeof(T));
    return true;
  }

  bool TakeBytes(size_t count, absl::string_view* bytes) {
    if (left_.size() < count) return false;
    *bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return true;
  }

 private:
  absl::string_view left_;
};

// The next tensor, which begins at this element.
absl::StatusOr<ParameterInfo> ReadTensor(int64_t offset, TableReader* table) {
  uint32_t name_bytes = 0;
  uint32_t num_extents = 0;
  if (!table->Take(&name_bytes) || !table->Take(&num_extents)) {
    return Invalid("ends within its table of tensors");
  }
  if (name_bytes < 1 || name_bytes > kMaxNameBytes || num_extents < 1 ||
      num_extents > kMaxExtents) {
    return Invalid("has a tensor with ", name_bytes, " bytes of name and ",
                   num_extents, " dimensions; must be in [1, ", kMaxNameBytes,
                   "] and [1, ", kMaxExtents, "]");
  }
  ParameterInfo tensor;
  tensor.offset = offset;
  int64_t size = 1;
  for (uint32_t i = 0; i < num_extents; ++i) {
    int64_t extent = 0;
    if (!table->Take(&extent)) {
      return Invalid("ends within its table of tensors");
    }
    if (extent < 1 || extent > kMaxElements / size) {
      return Invalid("has a tensor with the dimension ", extent,
                     "; must be at least 1, and all tensors must have at most ",
                     kMaxElements, " elements");
    }
    size *= extent;
    tensor.shape.push_back(extent);
  }
  absl::string_view name;
  if (!table->TakeBytes(name_bytes, &name)) {
    return Invalid("ends within its table of tensors");
  }
  tensor.name = std::string(name);
  return tensor;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedBlock>> SharedBlock::Map(UniqueFd memfd) {
  const int seals = fcntl(memfd.get(), F_GET_SEALS);
  struct stat info = {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      fstat(memfd.get(), &info) != 0) {
    return Invalid("must be a memfd that is sealed against shrinking");
  }
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (bytes < kHeaderBytes) {
    return Invalid("has ", bytes, " bytes; must have at least ", kHeaderBytes);
  }
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                           memfd.get(), /*offset=*/0);
  if (begin == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot map the shared block of ", bytes,
                     " bytes: ", std::strerror(errno)));
  }
  std::unique_ptr<SharedBlock> block(new SharedBlock(begin, bytes));
  PS_RETURN_IF_ERROR(block->Read());
  return block;
}

SharedBlock::~SharedBlock() { munmap(begin_, bytes_); }

absl::Status SharedBlock::Read() {
  auto* const bytes = static_cast<char*>(begin_);
  // Copies, because the other process could change what has been checked.
  Header header;
  std::memcpy(&header, bytes, sizeof(header));
  if (absl::string_view(header.magic, sizeof(header.magic)) != kBridgeMagic) {
    return Invalid("does not begin with ", kBridgeMagic);
  }
  if (header.protocol != kBridgeProtocol) {
    return Invalid("has protocol ", header.protocol, "; this bridge has ",
                   kBridgeProtocol,
                   ": take the Python package and the programs from the same "
                   "version");
  }
  if (header.num_tensors < 1 || header.num_tensors > kMaxTensors) {
    return Invalid("has ", header.num_tensors, " tensors; must be in [1, ",
                   kMaxTensors, "]");
  }
  if (header.num_elements > static_cast<uint64_t>(kMaxElements) ||
      header.table_bytes > kMaxTableBytes) {
    return Invalid("has ", header.num_elements, " elements and a table of ",
                   header.table_bytes, " bytes; at most ", kMaxElements,
                   " and ", kMaxTableBytes, " are allowed");
  }
  const uint64_t buckets = Aligned(kHeaderBytes + header.table_bytes);
  const uint64_t in = Aligned(buckets + header.num_tensors * sizeof(int32_t));
  const uint64_t out = Aligned(in + header.num_elements * sizeof(float));
  const uint64_t end = out + header.num_elements * sizeof(float);
  if (bytes_ < end) {
    return Invalid("has ", bytes_, " bytes; its tensors need ", end);
  }
  const std::string table(bytes + kHeaderBytes, header.table_bytes);
  TableReader reader(table);
  for (uint32_t t = 0; t < header.num_tensors; ++t) {
    PS_ASSIGN_OR_RETURN(ParameterInfo tensor,
                        ReadTensor(num_elements_, &reader));
    num_elements_ += NumElements(tensor.shape);
    if (num_elements_ > kMaxElements) break;
    tensors_.push_back(std::move(tensor));
  }
  if (num_elements_ != static_cast<int64_t>(header.num_elements) ||
      !reader.empty()) {
    return Invalid("says that its tensors have ", header.num_elements,
                   " elements; its table says ", num_elements_,
                   reader.empty() ? "" : ", and goes on after the last one");
  }
  buckets_ = reinterpret_cast<int32_t*>(bytes + buckets);
  in_ = reinterpret_cast<float*>(bytes + in);
  out_ = reinterpret_cast<float*>(bytes + out);
  return absl::OkStatus();
}

}  // namespace ps
