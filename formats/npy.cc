#include "formats/npy.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "formats/npy_header.h"
#include "glog/logging.h"

namespace ps {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "elements are copied to and from the file as they are");

struct ElementType {
  const char* descr;
  const char* name;
};

template <typename T>
ElementType TypeOf();
template <>
ElementType TypeOf<float>() {
  return {"<f4", "float32"};
}
template <>
ElementType TypeOf<int64_t>() {
  return {"<i8", "int64"};
}

// Returns the shape as Python writes it: "(3,)", "(2, 3)".
std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "),
                      shape.size() == 1 ? ",)" : ")");
}

absl::Status CheckKind(const NpyHeader& header, const ElementType& type) {
  if (header.descr != type.descr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dtype ('descr') is '", header.descr, "'; must be '", type.descr,
        "', little-endian ", type.name, ". To convert it in Python: ",
        "numpy.save(NEW, numpy.load(FILE).astype('", type.descr, "'))"));
  }
  if (header.fortran_order) {
    return absl::InvalidArgumentError(
        "fortran_order is True; must be False, with rows one after the other. "
        "To convert it in Python: numpy.save(NEW, "
        "numpy.ascontiguousarray(numpy.load(FILE)))");
  }
  if (header.shape.empty() || header.shape.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape is ", ShapeText(header.shape), ", of ",
                     header.shape.size(), " dimensions; must have 1 or 2"));
  }
  return absl::OkStatus();
}

// Checks that the array lies within the file; no product may wrap around.
absl::Status CheckSize(const NpyHeader& header, const ElementType& type,
                       int64_t element_bytes, int64_t data_bytes) {
  int64_t needed = element_bytes;
  bool overflow = false;
  for (const int64_t extent : header.shape) {
    overflow |= __builtin_mul_overflow(needed, extent, &needed);
  }
  if (!overflow && needed <= data_bytes) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the data have ", data_bytes, " bytes; shape ",
                   ShapeText(header.shape), " of ", type.name, " needs ",
                   overflow ? "more than 2^63" : absl::StrCat(needed)));
}

absl::StatusOr<NpyHeader> ReadHeader(const InputFile& file,
                                     int64_t* data_offset) {
  std::string preamble(std::min(kMaxNpyPreambleBytes, file.size_bytes()), '\0');
  PS_RETURN_IF_ERROR(file.Read(0, &preamble[0], preamble.size()));
  PS_ASSIGN_OR_RETURN(const NpyTextRange range, ParseNpyPreamble(preamble));
  if (range.end > file.size_bytes()) {
    return absl::DataLossError(absl::StrCat("the header ends at byte ",
                                            range.end, ", but the file has ",
                                            file.size_bytes(), " bytes"));
  }
  std::string text(static_cast<size_t>(range.end - range.begin), '\0');
  PS_RETURN_IF_ERROR(file.Read(range.begin, &text[0], text.size()));
  *data_offset = range.end;
  return ParseNpyText(text);
}

}  // namespace

template <typename T>
NpyReader<T>::NpyReader(InputFile file, std::vector<int64_t> shape,
                        int64_t data_offset)
    : file_(std::move(file)),
      shape_(std::move(shape)),
      data_offset_(data_offset) {}

template <typename T>
absl::StatusOr<NpyReader<T>> NpyReader<T>::Open(const std::string& path) {
  PS_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  int64_t data_offset = 0;
  absl::StatusOr<NpyHeader> header = ReadHeader(file, &data_offset);
  if (!header.ok()) return Annotate(header.status(), path);
  const ElementType type = TypeOf<T>();
  PS_RETURN_IF_ERROR(Annotate(CheckKind(*header, type), path));
  PS_RETURN_IF_ERROR(Annotate(
      CheckSize(*header, type, sizeof(T), file.size_bytes() - data_offset),
      path));
  return NpyReader(std::move(file), std::move(header->shape), data_offset);
}

template <typename T>
absl::Status NpyReader<T>::Read(int64_t first, absl::Span<T> elements) const {
  const int64_t count = static_cast<int64_t>(elements.size());
  CHECK(first >= 0 && count <= num_elements() - first)
      << first << " + " << count << " of " << num_elements();
  return file_.Read(data_offset_ + first * static_cast<int64_t>(sizeof(T)),
                    reinterpret_cast<char*>(elements.data()),
                    elements.size() * sizeof(T));
}

template <typename T>
NpyWriter<T>::NpyWriter(AtomicFile file) : file_(std::move(file)) {}

template <typename T>
absl::StatusOr<NpyWriter<T>> NpyWriter<T>::Create(const std::string& path) {
  PS_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PS_RETURN_IF_ERROR(file.Append(std::string(kNpyHeaderBytes, ' ')));
  return NpyWriter(std::move(file));
}

template <typename T>
absl::Status NpyWriter<T>::Append(absl::Span<const T> elements) {
  num_elements_ += static_cast<int64_t>(elements.size());
  return file_.Append(
      absl::string_view(reinterpret_cast<const char*>(elements.data()),
                        elements.size() * sizeof(T)));
}

template <typename T>
absl::Status NpyWriter<T>::Commit() {
  return CommitShape({num_elements_});
}

template <typename T>
absl::Status NpyWriter<T>::CommitRows(int64_t row_elements) {
  CHECK_GE(row_elements, 1);
  CHECK_EQ(num_elements_ % row_elements, 0) << "of " << row_elements;
  return CommitShape({num_elements_ / row_elements, row_elements});
}

template <typename T>
absl::Status NpyWriter<T>::CommitShape(const std::vector<int64_t>& shape) {
  NpyHeader header;
  header.descr = TypeOf<T>().descr;
  header.shape = shape;
  PS_RETURN_IF_ERROR(file_.Overwrite(0, NpyHeaderBytes(header)));
  return file_.Commit();
}

template <typename T>
absl::StatusOr<NpyArray<T>> ReadNpy(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const NpyReader<T> reader, NpyReader<T>::Open(path));
  NpyArray<T> array;
  array.shape = reader.shape();
  array.elements.resize(static_cast<size_t>(reader.num_elements()));
  PS_RETURN_IF_ERROR(reader.Read(0, absl::MakeSpan(array.elements)));
  return array;
}

template <typename T>
absl::Status WriteNpy(const std::string& path, absl::Span<const T> elements) {
  PS_ASSIGN_OR_RETURN(NpyWriter<T> writer, NpyWriter<T>::Create(path));
  PS_RETURN_IF_ERROR(writer.Append(elements));
  return writer.Commit();
}

template class NpyReader<float>;
template class NpyReader<int64_t>;
template class NpyWriter<float>;
template class NpyWriter<int64_t>;
template absl::StatusOr<NpyArray<float>> ReadNpy(const std::string& path);
template absl::StatusOr<NpyArray<int64_t>> ReadNpy(const std::string& path);
template absl::Status WriteNpy(const std::string& path,
                               absl::Span<const float> elements);
template absl::Status WriteNpy(const std::string& path,
                               absl::Span<const int64_t> elements);

}  // namespace ps
