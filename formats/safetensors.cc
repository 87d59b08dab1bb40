#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/file_kind.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "formats/safetensors_dtype.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "values are copied to and from the file as they are");

constexpr char kMetadataKey[] = "__metadata__";
constexpr size_t kLengthBytes = 8;
constexpr int64_t kFloatBits = 32;
// The format's own implementation has this limit (safetensors/src/tensor.rs).
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// One tensor of a header whose entries are checked one by one, but not yet
// against each other.
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // Bytes within the data.
  uint64_t end = 0;
};

// Computes the bytes of a tensor; returns false if its bits exceed a 64-bit
// count, or fill no whole bytes.
bool SizeBytes(int64_t element_bits, const std::vector<int64_t>& shape,
               uint64_t* bytes) {
  uint64_t bits = static_cast<uint64_t>(element_bits);
  bool overflow = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return false;
    overflow |=
        __builtin_mul_overflow(bits, static_cast<uint64_t>(extent), &bits);
  }
  *bytes = bits / 8;
  // The flag is kept across dimensions: a later one of 0 would make the product
  // 0 and hide the overflow.
  return !overflow && bits % 8 == 0;
}

absl::StatusOr<nlohmann::json> ParseHeader(absl::string_view text) {
  std::string repeated_key;
  nlohmann::json header = ParseSortedJson(text, &repeated_key);
  if (!header.is_object() || text[0] != '{') {
    return absl::DataLossError("the header is not a JSON object");
  }
  if (!repeated_key.empty()) {
    return absl::DataLossError(
        absl::StrCat("the header has \"", repeated_key, "\" twice"));
  }
  return header;
}

absl::StatusOr<SafetensorsMetadata> ParseMetadata(const nlohmann::json& json) {
  SafetensorsMetadata metadata;
  bool all_strings = json.is_object();
  for (const auto& item : json.items()) {
    all_strings = all_strings && item.value().is_string();
    if (!all_strings) break;
    metadata[item.key()] = item.value().get<std::string>();
  }
  if (!all_strings) {
    return absl::DataLossError("__metadata__ is not a map of strings");
  }
  return metadata;
}

bool IsUnsignedArray(const nlohmann::json& json) {
  return json.is_array() &&
         std::all_of(json.begin(), json.end(), [](const nlohmann::json& item) {
           return item.is_number_unsigned();
         });
}

absl::StatusOr<Entry> ParseEntry(const std::string& name,
                                 const nlohmann::json& json) {
  const auto field = [&json](const char* key) {
    return json.is_object() && json.contains(key) ? json[key]
                                                  : nlohmann::json();
  };
  const nlohmann::json dtype = field("dtype");
  const nlohmann::json shape = field("shape");
  const nlohmann::json offsets = field("data_offsets");
  if (!dtype.is_string() || !IsUnsignedArray(shape) ||
      !IsUnsignedArray(offsets) || offsets.size() != 2 || json.size() != 3) {
    return absl::DataLossError(absl::StrCat(
        "\"", name,
        "\" must have a dtype, a shape and two data_offsets, no more"));
  }
  Entry entry;
  entry.name = name;
  entry.dtype = dtype.get<std::string>();
  const int64_t element_bits = DtypeBits(entry.dtype);
  if (element_bits == 0) {
    return absl::UnimplementedError(absl::StrCat(
        "\"", name, "\" has dtype ", entry.dtype, ", which is not known"));
  }
  for (const nlohmann::json& extent : shape) {
    // Values from 2^63 on become negative, which SizeBytes rejects.
    entry.shape.push_back(static_cast<int64_t>(extent.get<uint64_t>()));
  }
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  uint64_t bytes = 0;
  if (!SizeBytes(element_bits, entry.shape, &bytes) ||
      entry.end < entry.begin || entry.end - entry.begin != bytes) {
    return absl::DataLossError(absl::StrCat(
        "\"", name, "\" has shape [", absl::StrJoin(entry.shape, ", "),
        "], which is not the size of its data_offsets [", entry.begin, ", ",
        entry.end, "]"));
  }
  return entry;
}

// Sorts by position and checks that the entries cover [0, data_bytes) once.
absl::Status SortAndCheckCover(uint64_t data_bytes,
                               std::vector<Entry>* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  uint64_t covered = 0;
  for (const Entry& entry : *entries) {
    if (entry.begin != covered) {
      return absl::DataLossError(
          absl::StrCat("\"", entry.name, "\" begins at ", entry.begin,
                       " where the tensor before it ends at ", covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return absl::DataLossError(absl::StrCat(
        "the header describes ", covered, " bytes of data, the file holds ",
        data_bytes, covered > data_bytes ? "; the file is cut off" : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> BuildHeader(
    absl::Span<const SafetensorsView> tensors,
    const SafetensorsMetadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  uint64_t offset = 0;
  for (const SafetensorsView& tensor : tensors) {
    uint64_t bytes = 0;
    if (!SizeBytes(kFloatBits, tensor.shape, &bytes) ||
        bytes != tensor.values.size() * sizeof(float)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor \"", tensor.name, "\" has shape [",
                       absl::StrJoin(tensor.shape, ", "), "] and ",
                       tensor.values.size(), " values; they must agree"));
    }
    if (tensor.name == kMetadataKey || header.contains(tensor.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors cannot be called \"", tensor.name,
                       "\", nor one ", kMetadataKey));
    }
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = JsonText(header, /*indent=*/-1);
  // Bytes that are not UTF-8 have been replaced.
  if (ParseJson(text) != header) {
    return absl::InvalidArgumentError(
        "the name of a tensor or the metadata is not UTF-8");
  }
  while (text.size() % 8 != 0) text += ' ';
  if (text.size() > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header needs ", text.size(), " bytes; at most ",
                     kMaxHeaderBytes, " are allowed"));
  }
  const uint64_t header_bytes = text.size();
  return absl::StrCat(
      absl::string_view(reinterpret_cast<const char*>(&header_bytes),
                        kLengthBytes),
      text);
}

absl::string_view BytesOf(const SafetensorsView& tensor) {
  return {reinterpret_cast<const char*>(tensor.values.data()),
          tensor.values.size() * sizeof(float)};
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const SafetensorsView> tensors,
                              const SafetensorsMetadata& metadata) {
  PS_ASSIGN_OR_RETURN(const std::string header, BuildHeader(tensors, metadata));
  PS_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PS_RETURN_IF_ERROR(file.Append(header));
  for (const SafetensorsView& tensor : tensors) {
    PS_RETURN_IF_ERROR(file.Append(BytesOf(tensor)));
  }
  return file.Commit();
}

absl::StatusOr<std::string> SafetensorsBytes(
    absl::Span<const SafetensorsView> tensors,
    const SafetensorsMetadata& metadata) {
  PS_ASSIGN_OR_RETURN(std::string bytes, BuildHeader(tensors, metadata));
  for (const SafetensorsView& tensor : tensors) {
    absl::StrAppend(&bytes, BytesOf(tensor));
  }
  return bytes;
}

absl::StatusOr<Safetensors> ParseSafetensors(absl::string_view bytes) {
  uint64_t header_bytes = 0;
  const std::string kind = AsWhatItIs(bytes.substr(0, kFileKindBytes));
  if (bytes.size() < kLengthBytes) {
    return absl::DataLossError(absl::StrCat(
        "only ", bytes.size(), " bytes; a safetensors file has at least 8"));
  }
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size()) {
    if (!kind.empty()) {
      return absl::DataLossError(
          absl::StrCat("this is no safetensors file", kind));
    }
    return absl::DataLossError(absl::StrCat("the header should have ",
                                            header_bytes, " bytes, but only ",
                                            bytes.size(), " follow"));
  }
  PS_ASSIGN_OR_RETURN(const nlohmann::json header,
                      ParseHeader(bytes.substr(0, header_bytes)));
  bytes.remove_prefix(header_bytes);

  Safetensors result;
  std::vector<Entry> entries;
  for (const auto& item : header.items()) {
    if (item.key() == kMetadataKey) {
      PS_ASSIGN_OR_RETURN(result.metadata, ParseMetadata(item.value()));
    } else {
      PS_ASSIGN_OR_RETURN(Entry entry, ParseEntry(item.key(), item.value()));
      entries.push_back(std::move(entry));
    }
  }
  PS_RETURN_IF_ERROR(SortAndCheckCover(bytes.size(), &entries));
  for (Entry& entry : entries) {
    const absl::string_view data =
        bytes.substr(entry.begin, entry.end - entry.begin);
    SafetensorsTensor tensor;
    tensor.name = std::move(entry.name);
    tensor.shape = std::move(entry.shape);
    tensor.dtype = std::move(entry.dtype);
    if (IsReadAsFloat(tensor.dtype)) {
      tensor.values.resize(8 * data.size() / DtypeBits(tensor.dtype));
      WidenToFloat(tensor.dtype, data, tensor.values.data());
    }
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
  auto result = ParseSafetensors(bytes);
  if (!result.ok()) return Annotate(result.status(), path);
  return result;
}

}  // namespace ps
