// Lists the contents of a folder.
#ifndef DATA_FOLDER_H_
#define DATA_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct FolderContents {
  // Names without the path, sorted by bytes. Names that begin with a dot are
  // omitted.
  std::vector<std::string> files;    // Including links to files.
  std::vector<std::string> folders;  // Including links to folders.
};

// Lists a folder. Errors name the path, and where it begins if it is relative:
// kNotFound if there is no such folder, else the code that absl maps errno to.
absl::StatusOr<FolderContents> ListFolder(const std::string& path);

// Returns a sentence that counts the files which are not read, and the folders,
// which end with "/", and names the first ones; `rule` says what is read:
// "recordings are those of transcripts.tsv". Empty if there are none.
std::string Unread(const std::vector<std::string>& paths,
                   absl::string_view rule);

}  // namespace ps

#endif  // DATA_FOLDER_H_
