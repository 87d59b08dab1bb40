#include "tools/explain/explain.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/field_rules.h"
#include "common/job_fields.h"
#include "common/nearest_word.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "proto/config.pb.h"
#include "tools/explain/config_comments.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FieldDescriptorProto;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::FileDescriptorProto;
using ::google::protobuf::FileDescriptorSet;
using ::google::protobuf::SimpleDescriptorDatabase;
using ::google::protobuf::SourceLocation;

// The type of a job, with comments: compiled-in descriptors have none.
const Descriptor* JobType() {
  static const DescriptorPool* const pool = [] {
    auto* const files = new SimpleDescriptorDatabase;
    FileDescriptorSet read;
    read.ParseFromArray(kConfigComments, kConfigCommentsSize);
    for (const auto& file : read.file()) files->Add(file);
    return new DescriptorPool(files);
  }();
  return pool->FindMessageTypeByName(JobConfig::descriptor()->full_name());
}

// The comment above it, in lines without indent.
std::string LinesOf(const SourceLocation& location) {
  std::vector<std::string> lines =
      absl::StrSplit(location.leading_comments, '\n');
  for (std::string& line : lines) absl::StripAsciiWhitespace(&line);
  std::string comment = absl::StrJoin(lines, "\n");
  absl::StripAsciiWhitespace(&comment);
  return comment;
}

// The comment above a field, message or value.
template <typename Thing>
std::string OwnComment(const Thing& thing) {
  SourceLocation location;
  return thing.GetSourceLocation(&location) ? LinesOf(location) : "";
}

// The comment with which a file begins.
std::string HeaderOf(const FileDescriptor& file) {
  SourceLocation location;
  const std::vector<int> syntax = {FileDescriptorProto::kSyntaxFieldNumber};
  return file.GetSourceLocation(syntax, &location) ? LinesOf(location) : "";
}

// Of a group without a comment of its own: that of its type, or of its file; of
// another field: the one above, which speaks of several fields in a row.
std::string CommentOf(const FieldDescriptor& field) {
  std::string comment = OwnComment(field);
  const bool is_group = field.message_type() != nullptr;
  if (comment.empty() && is_group) comment = OwnComment(*field.message_type());
  if (comment.empty() && is_group) {
    comment = HeaderOf(*field.message_type()->file());
  }
  for (int i = field.index() - 1; comment.empty() && !is_group && i >= 0; --i) {
    comment = OwnComment(*field.containing_type()->field(i));
  }
  return comment;
}

std::string FirstSentence(const std::string& comment) {
  const std::string line = absl::StrJoin(absl::StrSplit(comment, '\n'), " ");
  const size_t end = line.find(". ");
  return end == std::string::npos ? line : line.substr(0, end + 1);
}

// "int32, at least 1, default 64", "SKIP or FAIL, default FAIL", "group",
// "list: text".
std::string TypeOf(const FieldDescriptor& field) {
  std::string type;
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      type = "group";
      break;
    case FieldDescriptor::TYPE_STRING:
      type = "text";
      break;
    case FieldDescriptor::TYPE_ENUM: {
      std::vector<std::string> names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        names.push_back(field.enum_type()->value(i)->name());
      }
      type = absl::StrJoin(names, " or ");
      break;
    }
    default:
      type = field.type_name();
  }
  const std::string rule = RuleOf(
      *DescriptorPool::generated_pool()->FindFieldByName(field.full_name()));
  if (!rule.empty()) absl::StrAppend(&type, ", ", rule);
  if (field.is_repeated()) return "list: " + type;
  FieldDescriptorProto text;
  field.CopyTo(&text);
  if (text.has_default_value()) {
    const char* const quote =
        field.type() == FieldDescriptor::TYPE_STRING ? "\"" : "";
    absl::StrAppend(&type, ", default ", quote, text.default_value(), quote);
  }
  return type;
}

std::string Indented(const std::string& text) {
  return absl::StrCat("  ", absl::StrJoin(absl::StrSplit(text, '\n'), "\n  "),
                      "\n");
}

std::string ListOfFields(const Descriptor& group) {
  std::string text;
  for (int i = 0; i < group.field_count(); ++i) {
    const FieldDescriptor& field = *group.field(i);
    absl::StrAppendFormat(&text, "  %-26s %s\n", field.name(), TypeOf(field));
    absl::StrAppendFormat(&text, "      %s\n", FirstSentence(CommentOf(field)));
  }
  return text;
}

std::string ListOfValues(const FieldDescriptor& field) {
  std::string text;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const EnumValueDescriptor& value = *field.enum_type()->value(i);
    absl::StrAppend(&text, "\n", value.name(), "\n",
                    Indented(OwnComment(value)));
  }
  return text;
}

std::vector<std::string> NamesIn(const Descriptor& group) {
  std::vector<std::string> names;
  for (int i = 0; i < group.field_count(); ++i) {
    names.push_back(group.field(i)->name());
  }
  return names;
}

}  // namespace

absl::StatusOr<std::string> ExplainField(const std::string& path) {
  const Descriptor* group = JobType();
  const FieldDescriptor* field = nullptr;
  std::string so_far;
  for (const absl::string_view part :
       absl::StrSplit(path, '.', absl::SkipEmpty())) {
    const std::string name(part.substr(0, part.find('[')));
    const FieldDescriptor* const next =
        group == nullptr ? nullptr : group->FindFieldByName(name);
    if (next == nullptr) {
      const std::string elsewhere = NearestField(name);
      std::string hint =
          group == nullptr ? "" : DidYouMean(name, NamesIn(*group));
      if (hint.empty() && !elsewhere.empty()) {
        hint = absl::StrCat("; did you mean ", elsewhere, "?");
      }
      return absl::InvalidArgumentError(
          absl::StrCat(so_far.empty() ? "a job" : so_far, " has no field \"",
                       name, "\"", hint));
    }
    field = next;
    absl::StrAppend(&so_far, so_far.empty() ? "" : ".", part);
    group = field->message_type();
  }
  if (field == nullptr) {
    return absl::StrCat("A job has these groups and fields:\n\n",
                        ListOfFields(*group));
  }
  std::string text = absl::StrCat(path, ": ", TypeOf(*field), "\n\n",
                                  Indented(CommentOf(*field)));
  if (group != nullptr) absl::StrAppend(&text, "\n", ListOfFields(*group));
  if (field->enum_type() != nullptr) text += ListOfValues(*field);
  return text;
}

}  // namespace ps
