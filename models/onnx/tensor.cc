#include "models/onnx/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Interfaces have tensors of few dimensions; more are an attack on memory.
constexpr size_t kMaxDimensions = 8;
constexpr int64_t kMaxElements = int64_t{1} << 31;

// Reads the values of a tensor: either as bytes, little-endian, or as a list.
template <typename T, typename List>
absl::StatusOr<std::vector<T>> Values(const absl::string_view* bytes,
                                      const List& list, int64_t size) {
  const size_t given = bytes != nullptr
                           ? bytes->size()
                           : static_cast<size_t>(list.size()) * sizeof(T);
  if (given != static_cast<size_t>(size) * sizeof(T)) {
    return absl::DataLossError(absl::StrCat("it has ", given,
                                            " bytes of values; ", size,
                                            " values fit its dimensions"));
  }
  if (bytes == nullptr) return std::vector<T>(list.begin(), list.end());
  std::vector<T> values(static_cast<size_t>(size));
  if (size > 0) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

}  // namespace

int64_t CheckedSize(const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxDimensions) return -1;
  int64_t size = 1, without_zeros = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && without_zeros > kMaxElements / extent)) {
      return -1;
    }
    size *= extent;
    without_zeros *= std::max<int64_t>(extent, 1);
  }
  return size;
}

OnnxTensor Transposed(const OnnxTensor& matrix) {
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  OnnxTensor result;
  result.shape = {columns, rows};
  result.floats.resize(matrix.floats.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result.floats[j * rows + i] = matrix.floats[i * columns + j];
    }
  }
  return result;
}

absl::StatusOr<OnnxTensor> TensorReader::Read(const onnx::TensorProto& proto) {
  OnnxTensor tensor;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  const int64_t size = CheckedSize(tensor.shape);
  if (size < 0) {
    return absl::DataLossError(absl::StrCat(
        "its dimensions are [",
        absl::StrJoin(proto.dims().begin(),
                      proto.dims().begin() +
                          std::min<int>(proto.dims_size(), kMaxDimensions + 1),
                      ", "),
        "]; must be at most ", kMaxDimensions,
        ", none negative, with at most 2^31 values"));
  }
  absl::string_view bytes = proto.raw_data();
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL ||
                        proto.external_data_size() > 0;
  if (external) {
    PS_ASSIGN_OR_RETURN(bytes, External(proto));
  }
  const absl::string_view* const given =
      external || proto.has_raw_data() ? &bytes : nullptr;
  // The known layers have no weights of other types.
  if (proto.data_type() == onnx::TensorProto::FLOAT) {
    PS_ASSIGN_OR_RETURN(tensor.floats,
                        Values<float>(given, proto.float_data(), size));
  } else if (proto.data_type() == onnx::TensorProto::INT64) {
    PS_ASSIGN_OR_RETURN(tensor.integers,
                        Values<int64_t>(given, proto.int64_data(), size));
  }
  return tensor;
}

absl::StatusOr<absl::string_view> TensorReader::External(
    const onnx::TensorProto& proto) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : proto.external_data()) {
    entries[entry.key()] = entry.value();
  }
  const std::string& name = entries["location"];
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != std::string::npos || name.find('\0') != name.npos) {
    return absl::DataLossError(
        absl::StrCat("its values are in \"", name,
                     "\"; must be the name of a file in the model's folder"));
  }
  auto file = files_.find(name);
  if (file == files_.end()) {
    if (read_beside_ == nullptr) {
      return absl::UnimplementedError("its values are in another file");
    }
    auto bytes = read_beside_(name);
    PS_RETURN_IF_ERROR(Annotate(
        bytes.status(), "its values are in a file that belongs to the model"));
    unread_bytes_ += static_cast<int64_t>(bytes->size());
    file = files_.emplace(name, *std::move(bytes)).first;
  }
  const int64_t file_size = static_cast<int64_t>(file->second.size());
  // Both keys may be missing.
  const auto read = [&entries](const char* key, int64_t* number) {
    return entries.count(key) == 0 || absl::SimpleAtoi(entries[key], number);
  };
  int64_t offset = 0;
  bool right = read("offset", &offset) && offset >= 0 && offset <= file_size;
  int64_t length = file_size - offset;
  right = right && read("length", &length) && length >= 0 &&
          length <= file_size - offset;
  if (!right) {
    return absl::DataLossError(
        absl::StrCat("its values have the offset \"", entries["offset"],
                     "\" and the length \"", entries["length"], "\" in ", name,
                     ", which has ", file_size, " bytes"));
  }
  unread_bytes_ -= length;
  if (unread_bytes_ < 0) {
    return absl::DataLossError(
        absl::StrCat("the tensors before it have all bytes of ", name));
  }
  return absl::string_view(file->second).substr(offset, length);
}

}  // namespace ps
