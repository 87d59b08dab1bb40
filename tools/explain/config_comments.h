// The descriptors of the config's files, as a serialized FileDescriptorSet with
// source information.
#ifndef TOOLS_EXPLAIN_CONFIG_COMMENTS_H_
#define TOOLS_EXPLAIN_CONFIG_COMMENTS_H_

namespace ps {

extern const unsigned char kConfigComments[];
extern const int kConfigCommentsSize;

}  // namespace ps

#endif  // TOOLS_EXPLAIN_CONFIG_COMMENTS_H_
