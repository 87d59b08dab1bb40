// Lists the files of a folder of images, by class.
#ifndef DATA_IMAGE_LIST_H_
#define DATA_IMAGE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/folder.h"

namespace ps {

struct ImageFile {
  std::string path;
  int32_t label = 0;  // The number of the image's class.
};

// Whether the name ends with .jpg, .jpeg or .png, in lower or upper case.
bool HasImageName(const std::string& name);

// Reads the beginning of a file to check its format. Errors name the path:
// those of InputFile::Open; kDataLoss if it is neither JPEG nor PNG.
absl::Status CheckImageFile(const std::string& path);

// Lists `folder`, whose folders are classes. Errors: those of ListFolder;
// kNotFound if there is no class; kInvalidArgument for a name with a line
// break, because lists of classes have one on each line.
absl::StatusOr<FolderContents> ListClasses(const std::string& folder);

struct ImageList {
  std::vector<ImageFile> images;
  // Paths of files that are not read, and of folders, which end with "/".
  std::vector<std::string> unread;
};

// Returns all files folder/CLASS/*.jpg, .jpeg or .png (also in upper case), by
// class and then by name. `contents` are those of `folder`, from ListClasses.
// Errors: kNotFound if a class has no image, or is not one of `classes`.
absl::StatusOr<ImageList> ListImages(const std::string& folder,
                                     const FolderContents& contents,
                                     const std::vector<std::string>& classes);

}  // namespace ps

#endif  // DATA_IMAGE_LIST_H_
