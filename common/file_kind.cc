#include "common/file_kind.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ps {
namespace {

struct FileKind {
  size_t at;
  absl::string_view bytes;
  absl::string_view name;
};

constexpr FileKind kKinds[] = {
    {0, "version https://git-lfs",
     "a pointer of Git LFS in place of the file: git lfs pull"},
    {0, "PK\x03\x04",
     "a zip archive, as torch.save writes it: save tensors with "
     "safetensors.torch.save_file, a module with torch.onnx.export"},
    {0, "\x80\x02",
     "a pickle of Python, as torch.save wrote it before 1.6: save tensors with "
     "safetensors.torch.save_file, a module with torch.onnx.export"},
    {0, "\x80\x03", "a pickle of Python"},
    {0, "\x80\x04", "a pickle of Python"},
    {0, "\x80\x05", "a pickle of Python"},
    {0, "\x1f\x8b", "packed with gzip"},
    {0, "\x89HDF\r\n", "an HDF5 file"},
    {0, "\x93NUMPY", "an array of numpy, .npy"},
    {0, "\xff\xd8\xff", "a JPEG image"},
    {0, "\x89PNG", "a PNG image"},
    {0, "GIF8", "a GIF image"},
    {8, "WEBP", "a WebP image"},
    {4, "ftyphei", "a HEIC image"},
    {4, "ftypmif1", "a HEIC image"},
    {4, "ftypavif", "an AVIF image"},
    {0, "II*", "a TIFF image"},
    {0, absl::string_view("MM\0*", 4), "a TIFF image"},
    {0, "fLaC", "sound in FLAC"},
    {0, "OggS", "sound in Ogg"},
    {0, "ID3", "sound in MP3"},
    {0, "NIST_1A", "sound in NIST SPHERE"},
    {0, "RF64", "sound in RF64"},
};

}  // namespace

std::string AsWhatItIs(absl::string_view beginning) {
  if (beginning.empty()) return "; it is empty";
  for (const FileKind& kind : kKinds) {
    if (beginning.size() >= kind.at &&
        absl::StartsWith(beginning.substr(kind.at), kind.bytes)) {
      return absl::StrCat("; it is ", kind.name);
    }
  }
  const absl::string_view text = beginning.substr(
      std::min(beginning.size(), beginning.find_first_not_of(" \t\r\n")));
  if (absl::StartsWithIgnoreCase(text, "<!doctype html") ||
      absl::StartsWithIgnoreCase(text, "<html")) {
    return "; it is a page of HTML, as servers send it in place of a file";
  }
  if (absl::StartsWith(text, "{")) return "; it is JSON";
  return "";
}

}  // namespace ps
