#include "data/image_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_kind.h"
#include "common/input_file.h"
#include "common/status_macros.h"
#include "data/decode_image.h"

namespace ps {

bool HasImageName(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::EndsWith(lower, ".jpg") || absl::EndsWith(lower, ".jpeg") ||
         absl::EndsWith(lower, ".png");
}

// Reads only the first bytes, since a set may have millions of files.
absl::Status CheckImageFile(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string beginning(
      std::min(static_cast<size_t>(file.size_bytes()), kFileKindBytes), '\0');
  PS_RETURN_IF_ERROR(file.Read(0, beginning.data(), beginning.size()));
  return Annotate(CheckIsImage(beginning), path);
}

absl::StatusOr<FolderContents> ListClasses(const std::string& folder) {
  PS_ASSIGN_OR_RETURN(FolderContents contents, ListFolder(folder));
  if (contents.folders.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder, " has no folders, one for each class"));
  }
  for (const std::string& name : contents.folders) {
    if (!absl::StrContains(name, '\n')) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": the name of the folder \"",
                     absl::CHexEscape(name), "\" has a line break; rename it"));
  }
  return contents;
}

absl::StatusOr<ImageList> ListImages(const std::string& folder,
                                     const FolderContents& contents,
                                     const std::vector<std::string>& classes) {
  ImageList list;
  std::vector<ImageFile>& images = list.images;
  for (const std::string& file : contents.files) {
    list.unread.push_back(absl::StrCat(folder, "/", file));
  }
  for (const std::string& name : contents.folders) {
    const std::string class_folder = absl::StrCat(folder, "/", name);
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) {
      return absl::NotFoundError(
          absl::StrCat(class_folder,
                       ": the training images have no class of this name; "
                       "add some, or remove or rename the folder"));
    }
    PS_ASSIGN_OR_RETURN(const FolderContents of_class,
                        ListFolder(class_folder));
    const size_t before = images.size();
    for (const std::string& below : of_class.folders) {
      list.unread.push_back(absl::StrCat(class_folder, "/", below, "/"));
    }
    for (const std::string& file : of_class.files) {
      ImageFile image;
      image.path = absl::StrCat(class_folder, "/", file);
      if (!HasImageName(file)) {
        list.unread.push_back(image.path);
        continue;
      }
      image.label = static_cast<int32_t>(found - classes.begin());
      images.push_back(std::move(image));
    }
    if (images.size() == before) {
      return absl::NotFoundError(
          absl::StrCat(class_folder, " has no .jpg, .jpeg or .png file"));
    }
  }
  return list;
}

}  // namespace ps
