#include "common/text_file.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"

namespace ps {
namespace {

absl::StatusOr<std::string> WithoutMark(absl::StatusOr<std::string> text,
                                        const std::string& path) {
  if (!text.ok()) return text;
  if (absl::StartsWith(*text, "\xff\xfe") ||
      absl::StartsWith(*text, "\xfe\xff")) {
    return absl::DataLossError(
        absl::StrCat(path, ": the text is UTF-16; save it as UTF-8"));
  }
  constexpr absl::string_view kMark = "\xef\xbb\xbf";
  if (absl::StartsWith(*text, kMark)) text->erase(0, kMark.size());
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::string& path) {
  return WithoutMark(ReadFile(path), path);
}

absl::StatusOr<std::string> ReadRegularText(const std::string& path) {
  return WithoutMark(ReadRegularFile(path), path);
}

}  // namespace ps
