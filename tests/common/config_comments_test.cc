// The config's files are the reference of all settings: no field may lack a
// comment.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
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

// What protoc wrote with --include_source_info: compiled-in descriptors have no
// comments. Without Protocol Buffers' own files.
FileDescriptorSet ReadDescriptors(const std::string& path) {
  const auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromString(*bytes));
  auto* const files = set.mutable_file();
  files->erase(std::remove_if(files->begin(), files->end(),
                              [](const FileDescriptorProto& file) {
                                return absl::StartsWith(file.name(), "google/");
                              }),
               files->end());
  return set;
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

// Fields without a comment. One comment may serve several fields in a row if it
// speaks of each: it holds the field's name or the last word of it. A message
// speaks for itself, by its own fields' comments.
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

// The names of the files that a file imports, directly or not.
void AddImports(const google::protobuf::FileDescriptor& file,
                std::set<std::string>* names) {
  for (int i = 0; i < file.dependency_count(); ++i) {
    if (file.dependency(i)->package() != file.package()) continue;
    names->insert(file.dependency(i)->name());
    AddImports(*file.dependency(i), names);
  }
}

TEST(ConfigCommentsTest, EveryFieldOfEverySectionHasOne) {
  const FileDescriptorSet files =
      ReadDescriptors("tests/common/config.descriptor");
  std::set<std::string> imported;
  AddImports(*JobConfig::descriptor()->file(), &imported);
  EXPECT_EQ(files.file_size(), 1 + static_cast<int>(imported.size()));
  for (const FileDescriptorProto& file : files.file()) {
    EXPECT_GT(file.message_type_size(), 0) << file.name();
    EXPECT_THAT(Undocumented(file), IsEmpty()) << file.name();
  }
}

TEST(ConfigCommentsTest, AFieldWithoutOneIsFound) {
  const FileDescriptorSet files =
      ReadDescriptors("tests/common/undocumented.descriptor");
  ASSERT_EQ(files.file_size(), 1);
  EXPECT_THAT(Undocumented(files.file(0)),
              testing::ElementsAre("Job.carrots", "Job.kind", "Inner.x"));
}

}  // namespace
}  // namespace ps
