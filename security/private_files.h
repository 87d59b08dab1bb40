// Checks that only their owner may use files and folders.
#ifndef SECURITY_PRIVATE_FILES_H_
#define SECURITY_PRIVATE_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// Both functions follow symbolic links. Errors: kNotFound if it does not exist;
// kFailedPrecondition, with the command that fixes it, if another user may use
// it.

// Checks a folder of Unix-domain sockets. Only users who may search the folder
// can connect, so it must belong to the user of this process and be closed to
// all others.
absl::Status CheckPrivateFolder(const std::string& path);

// Checks a key, which must be a regular file that belongs to the user of this
// process and is closed to all others; or to root, whose group may read it,
// which is how Kubernetes mounts a Secret with an fsGroup.
absl::Status CheckPrivateKeyFile(const std::string& path);

}  // namespace ps

#endif  // SECURITY_PRIVATE_FILES_H_
