// Where CUDA's libraries may be, apart from the places that the system's loader
// searches.
#ifndef TENSOR_CUDA_LIBRARIES_LIBRARY_FOLDERS_H_
#define TENSOR_CUDA_LIBRARIES_LIBRARY_FOLDERS_H_

#include <string>
#include <vector>

namespace ps {

// Folders of libraries in NVIDIA's Python packages, "nvidia/*/lib" in the
// site-packages of every python3 in `path` (as in the variable PATH) and of the
// user whose home folder is `home`. A virtual environment's are found if its
// python3 is in `path`, because that is how one is activated. In the order of
// `path`; only folders that exist.
std::vector<std::string> PythonLibraryFolders(const std::string& path,
                                              const std::string& home);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_LIBRARY_FOLDERS_H_
