// config.proto is the reference for all settings: no field may lack a comment.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

using ::google::protobuf::DescriptorProto;
using ::google::protobuf::FieldDescriptorProto;
using ::google::protobuf::FileDescriptorProto;
using ::google::protobuf::FileDescriptorSet;
using ::testing::IsEmpty;

// Reads what protoc wrote with --include_source_info, because compiled-in
// descriptors have no comments.
FileDescriptorProto ReadDescriptor(const std::string& path) {
  const auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromString(*bytes));
  EXPECT_EQ(set.file_size(), 1);
  return set.file(0);
}

std::string CommentAbove(const FileDescriptorProto& file,
                         const std::vector<int>& path) {
  for (const auto& location : file.source_code_info().location()) {
    if (std::vector<int>(location.path().begin(), location.path().end()) ==
        path) {
      return location.leading_comments();
    }
  }
  return "";
}

// Lists the fields without a comment. One comment may serve several consecutive
// fields if it mentions each: it must contain the field's name or the last word
// of that. A field that is a message needs no comment; the comments of its own
// fields suffice.
std::vector<std::string> Undocumented(const FileDescriptorProto& file) {
  std::vector<std::string> fields;
  for (int m = 0; m < file.message_type_size(); ++m) {
    const DescriptorProto& message = file.message_type(m);
    std::string shared;
    for (int f = 0; f < message.field_size(); ++f) {
      const FieldDescriptorProto& field = message.field(f);
      const std::string own =
          CommentAbove(file, {FileDescriptorProto::kMessageTypeFieldNumber, m,
                              DescriptorProto::kFieldFieldNumber, f});
      if (!own.empty()) {
        shared = own;
        continue;
      }
      if (field.type() == FieldDescriptorProto::TYPE_MESSAGE) continue;
      const std::vector<std::string> words = absl::StrSplit(field.name(), '_');
      if (!absl::StrContains(shared, words.back())) {
        fields.push_back(absl::StrCat(message.name(), ".", field.name()));
      }
    }
  }
  return fields;
}

TEST(ConfigCommentsTest, EveryFieldOfConfigProtoHasOne) {
  const FileDescriptorProto file =
      ReadDescriptor("tests/common/config.descriptor");
  EXPECT_EQ(file.message_type_size(),
            JobConfig::descriptor()->file()->message_type_count());
  EXPECT_THAT(Undocumented(file), IsEmpty());
}

TEST(ConfigCommentsTest, AFieldWithoutOneIsFound) {
  EXPECT_THAT(
      Undocumented(ReadDescriptor("tests/common/undocumented.descriptor")),
      testing::ElementsAre("Job.carrots", "Job.kind", "Inner.x"));
}

}  // namespace
}  // namespace ps
