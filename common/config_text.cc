#include "common/config_text.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/job_fields.h"
#include "common/nearest_word.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;
using ::google::protobuf::io::ErrorCollector;
using ::google::protobuf::io::Tokenizer;

// These limit the wrong values that are looked for, and the problems that are
// reported, because the text may be untrusted.
constexpr size_t kMaxWrongValues = 20;
constexpr size_t kMaxProblems = 40;
// The fields of a job are nested less deeply.
constexpr int kMaxDepth = 8;

// This bounds the stack, of which each level takes some.
constexpr int kMostNestedMessages = 64;

// A complaint of protobuf's parser. Lines and columns count from 0.
struct Complaint {
  int line = 0;
  int column = 0;
  std::string message;
};

class Complaints : public ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    errors.push_back({line, column, message});
  }
  // The parser warns of unknown fields, which it skips.
  void AddWarning(int line, int column, const std::string& message) override {
    unknown_fields.push_back({line, column, message});
  }

  std::vector<Complaint> errors;
  std::vector<Complaint> unknown_fields;
};

struct Token {
  Tokenizer::TokenType type = Tokenizer::TYPE_START;
  std::string text;
  int line = 0;
  int column = 0;
  int group = -1;  // The token "{" of the innermost group that holds it.
  int depth = 0;   // The number of groups that hold it.

  bool Is(absl::string_view symbol) const { return text == symbol; }
};

// Returns the tokens that the parser reads, and a last one at the end.
std::vector<Token> Tokens(const std::string& text) {
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  Complaints ignored;  // The parser reports these errors as well.
  Tokenizer tokenizer(&stream, &ignored);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_require_space_after_number(false);
  std::vector<Token> tokens;
  std::vector<int> groups;
  for (bool more = true; more;) {
    more = tokenizer.Next();
    const Tokenizer::Token& read = tokenizer.current();
    Token token;
    token.type = read.type;
    token.text = read.text;
    token.line = read.line;
    token.column = read.column;
    if ((token.Is("}") || token.Is(">")) && !groups.empty()) groups.pop_back();
    token.group = groups.empty() ? -1 : groups.back();
    token.depth = static_cast<int>(groups.size());
    if (token.Is("{") || token.Is("<")) {
      groups.push_back(static_cast<int>(tokens.size()));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Returns the token before a "{", with or without a ":".
std::string NameOfGroup(const std::vector<Token>& tokens, int begin) {
  const int name =
      begin > 0 && tokens[begin - 1].Is(":") ? begin - 2 : begin - 1;
  return name >= 0 ? tokens[name].text : "";
}

// Returns the names of the groups that hold a token, outermost first.
std::vector<std::string> GroupsOf(const std::vector<Token>& tokens,
                                  const Token& token) {
  std::vector<std::string> names;
  for (int group = token.group; group >= 0; group = tokens[group].group) {
    names.push_back(NameOfGroup(tokens, group));
  }
  std::reverse(names.begin(), names.end());
  return names;
}

// Returns the type of a group of the message `root`; null if there is none.
const Descriptor* TypeOf(const Descriptor* root,
                         const std::vector<std::string>& groups) {
  for (const std::string& group : groups) {
    const FieldDescriptor* const field = root->FindFieldByName(group);
    root = field == nullptr ? nullptr : field->message_type();
    if (root == nullptr) return nullptr;
  }
  return root;
}

std::string PathOf(const std::vector<std::string>& groups,
                   const std::string& name) {
  return groups.empty() ? name
                        : absl::StrCat(absl::StrJoin(groups, "."), ".", name);
}

// Describes the values that a field takes, in place of `value`.
std::string Kind(const FieldDescriptor& field, const std::string& value) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: {
      std::vector<std::string> names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        names.push_back(field.enum_type()->value(i)->name());
      }
      return MustBeOneOf(absl::StrReplaceAll(value, {{"\"", ""}, {"'", ""}}),
                         names);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return "must be true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "must be a text in quotes";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "must be a number";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "must be a whole number of at least 0 that fits its type";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat("must be a group: ", field.name(), " { ... }");
    default:
      return "must be a whole number that fits its type";
  }
}

// One field in the text: the tokens [begin, end).
struct FieldTokens {
  int name = 0;
  int value = 0;
  int end = 0;
};

// Reads one text in several passes: each leaves out the values that earlier
// ones have stumbled over, because the parser stops at the first.
class Reader {
 public:
  Reader(absl::string_view text, absl::string_view name, const Descriptor* root)
      : text_(text), name_(name), root_(root) {}

  void Read(Message* message);

  bool reached_end() const { return reached_end_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  std::vector<std::string> TakeProblems();

 private:
  struct Problem {
    int line;
    int column;
    std::string text;
  };

  int TokenAt(const Complaint& complaint) const;
  // The field whose value the parser complains about, if that is the problem.
  std::optional<FieldTokens> WrongField(const Complaint& complaint) const;
  void AddWrongField(const FieldTokens& field, const Complaint& complaint);
  void AddUnknownField(const Complaint& complaint);
  // Adds the problem at which reading stops.
  void AddStop(const Complaint& complaint);
  void Add(int line, int column, std::string text) {
    problems_.push_back({line, column, std::move(text)});
  }
  // Replaces the field by blanks, so that all places remain.
  void Blank(const FieldTokens& field);
  size_t OffsetOf(const Token& token) const;

  std::string text_;
  const std::string name_;
  const Descriptor* const root_;
  std::vector<Token> tokens_;
  std::vector<Problem> problems_;
  bool reached_end_ = false;
};

void Reader::Read(Message* message) {
  tokens_ = Tokens(text_);
  for (size_t pass = 0;; ++pass) {
    Complaints complaints;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&complaints);
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMostNestedMessages);
    message->Clear();
    reached_end_ = parser.ParseFromString(text_, message);
    std::optional<FieldTokens> field;
    if (complaints.errors.size() == 1 && pass < kMaxWrongValues) {
      field = WrongField(complaints.errors[0]);
    }
    if (field.has_value()) {
      AddWrongField(*field, complaints.errors[0]);
      Blank(*field);
      continue;
    }
    for (const Complaint& unknown : complaints.unknown_fields) {
      AddUnknownField(unknown);
    }
    for (const Complaint& error : complaints.errors) AddStop(error);
    return;
  }
}

std::vector<std::string> Reader::TakeProblems() {
  std::stable_sort(problems_.begin(), problems_.end(),
                   [](const Problem& a, const Problem& b) {
                     return std::pair(a.line, a.column) <
                            std::pair(b.line, b.column);
                   });
  std::vector<std::string> lines;
  for (const Problem& problem : problems_) {
    if (lines.size() == kMaxProblems) {
      lines.push_back(
          absl::StrCat("and ", problems_.size() - kMaxProblems, " more"));
      break;
    }
    // Protobuf counts from 0, people and editors from 1.
    lines.push_back(absl::StrCat(name_, ":", problem.line + 1, ":",
                                 problem.column + 1, ": ", problem.text));
  }
  return lines;
}

int Reader::TokenAt(const Complaint& complaint) const {
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (std::pair(tokens_[i].line, tokens_[i].column) >=
        std::pair(complaint.line, complaint.column)) {
      return static_cast<int>(i);
    }
  }
  return static_cast<int>(tokens_.size()) - 1;
}

std::optional<FieldTokens> Reader::WrongField(
    const Complaint& complaint) const {
  const int at = TokenAt(complaint);
  FieldTokens field;
  if (absl::StartsWith(complaint.message, "Non-repeated field")) {
    // The parser's error points behind the name.
    field.name = at - 1;
    field.value = at < static_cast<int>(tokens_.size()) && tokens_[at].Is(":")
                      ? at + 1
                      : at;
  } else {
    // The parser has already read the value for these errors.
    const bool behind =
        absl::StartsWith(complaint.message, "Unknown enumeration value") ||
        absl::StartsWith(complaint.message, "Invalid value for boolean");
    field.value = behind ? at - 1 : at;
    if (field.value >= 1 && tokens_[field.value - 1].Is("-")) --field.value;
    if (field.value < 2 || !tokens_[field.value - 1].Is(":")) return {};
    field.name = field.value - 2;
  }
  const int last = static_cast<int>(tokens_.size()) - 1;
  if (field.name < 0 || field.value >= last ||
      tokens_[field.name].type != Tokenizer::TYPE_IDENTIFIER) {
    return {};
  }
  field.end = field.value + 1;
  if (tokens_[field.value].Is("-")) ++field.end;
  if (tokens_[field.value].Is("{") || tokens_[field.value].Is("<") ||
      tokens_[field.value].Is("[")) {
    // The value ends where its bracket is closed.
    const absl::string_view close = tokens_[field.value].Is("{")   ? "}"
                                    : tokens_[field.value].Is("<") ? ">"
                                                                   : "]";
    while (field.end < last &&
           !(tokens_[field.end].Is(close) &&
             tokens_[field.end].group == tokens_[field.name].group)) {
      ++field.end;
    }
    ++field.end;
  }
  if (field.end > last) return {};
  return field;
}

void Reader::AddWrongField(const FieldTokens& field,
                           const Complaint& complaint) {
  const Token& name = tokens_[field.name];
  const Token& value = tokens_[field.value];
  const std::vector<std::string> groups = GroupsOf(tokens_, name);
  const std::string path = PathOf(groups, name.text);
  if (absl::StartsWith(complaint.message, "Non-repeated field")) {
    Add(name.line, name.column,
        absl::StrCat(path, " is set twice; it takes one value"));
    return;
  }
  const Descriptor* const type = TypeOf(root_, groups);
  const FieldDescriptor* const known =
      type == nullptr ? nullptr : type->FindFieldByName(name.text);
  std::string text = value.text;
  if (value.Is("-")) absl::StrAppend(&text, tokens_[field.value + 1].text);
  Add(value.line, value.column,
      known == nullptr
          ? complaint.message
          : absl::StrCat(path, " is ", text, "; ", Kind(*known, text)));
}

void Reader::AddUnknownField(const Complaint& complaint) {
  // The parser's error points behind the name.
  const int at = TokenAt(complaint) - 1;
  if (at < 0) return Add(complaint.line, complaint.column, complaint.message);
  const Token& name = tokens_[at];
  const std::vector<std::string> groups = GroupsOf(tokens_, name);
  const Descriptor* const type = TypeOf(root_, groups);
  if (type == nullptr) {
    return Add(name.line, name.column, complaint.message);
  }
  std::vector<std::string> known;
  for (int i = 0; i < type->field_count(); ++i) {
    known.push_back(type->field(i)->name());
  }
  std::string hint = DidYouMean(name.text, known);
  const bool is_job = root_ == JobConfig::descriptor();
  const std::string elsewhere = is_job ? NearestField(name.text) : "";
  if (hint.empty() && type != root_ &&
      root_->FindFieldByName(name.text) != nullptr) {
    hint = "; there is one at the top: is a \"}\" missing before it?";
  } else if (hint.empty() && !elsewhere.empty()) {
    hint = absl::StrCat("; did you mean ", elsewhere, "?");
  } else if (hint.empty()) {
    hint = absl::StrCat("; known are: ", absl::StrJoin(known, ", "));
  }
  const std::string who =
      groups.empty()
          ? "there is no field \""
          : absl::StrCat(absl::StrJoin(groups, "."), " has no field \"");
  Add(name.line, name.column, absl::StrCat(who, name.text, "\"", hint));
}

void Reader::AddStop(const Complaint& complaint) {
  const int at = TokenAt(complaint);
  const Token& token = tokens_[at];
  const bool at_end = at + 1 == static_cast<int>(tokens_.size());
  if (at_end && token.group >= 0) {
    const Token& begin = tokens_[token.group];
    return Add(
        complaint.line, complaint.column,
        absl::StrCat("the text ends, but \"", NameOfGroup(tokens_, token.group),
                     " {\" of line ", begin.line + 1,
                     " is not closed; a \"}\" is missing"));
  }
  if (token.Is("}") && token.group < 0 &&
      absl::StrContains(complaint.message, "got: }")) {
    return Add(complaint.line, complaint.column,
               "this \"}\" closes nothing; remove it, or add the \"{\" that "
               "is missing before it");
  }
  if (absl::StartsWith(complaint.message, "Interpreting non ascii")) {
    return Add(complaint.line, complaint.column,
               "this character may only be in quotes or in a comment, because "
               "it is not ASCII");
  }
  // Other languages use these characters here.
  std::string hint;
  if (token.Is("=")) hint = "; write a value as name: value";
  if (token.Is("/")) hint = "; a comment begins with #";
  if (at == 0 && hint.empty())
    hint = "; a job is a list of fields, as in name: \"first\"";
  Add(complaint.line, complaint.column,
      absl::StrCat(absl::StripSuffix(complaint.message, "."), hint));
}

size_t Reader::OffsetOf(const Token& token) const {
  size_t offset = 0;
  for (int line = 0; line < token.line; ++line) {
    offset = text_.find('\n', offset) + 1;
  }
  // The tokenizer counts tabs this way.
  constexpr int kTabWidth = 8;
  for (int column = 0; column < token.column && offset < text_.size();) {
    column += text_[offset++] == '\t' ? kTabWidth - column % kTabWidth : 1;
  }
  return offset;
}

void Reader::Blank(const FieldTokens& field) {
  const Token& last = tokens_[field.end - 1];
  const size_t end = std::min(text_.size(), OffsetOf(last) + last.text.size());
  for (size_t i = OffsetOf(tokens_[field.name]); i < end; ++i) {
    if (text_[i] != '\n' && text_[i] != '\t') text_[i] = ' ';
  }
}

}  // namespace

ConfigText::ConfigText(absl::string_view text, absl::string_view name,
                       Message* message)
    : name_(name) {
  Reader reader(text, name, message->GetDescriptor());
  reader.Read(message);
  reached_end_ = reader.reached_end();
  problems_ = reader.TakeProblems();
  const std::vector<Token>& tokens = reader.tokens();
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const Token& next = tokens[i + 1];
    if (tokens[i].type != Tokenizer::TYPE_IDENTIFIER ||
        tokens[i].depth > kMaxDepth ||
        !(next.Is(":") || next.Is("{") || next.Is("<"))) {
      continue;
    }
    lines_[PathOf(GroupsOf(tokens, tokens[i]), tokens[i].text)].push_back(
        tokens[i].line + 1);
  }
}

std::string ConfigText::PlaceOf(const std::string& field) const {
  // "servers[1]" is the second "servers", or in a list.
  size_t number = 0;
  std::string path = field;
  const size_t bracket = field.find('[');
  if (bracket != std::string::npos) {
    path = field.substr(0, bracket);
    const std::string digits =
        field.substr(bracket + 1, field.find(']') - bracket - 1);
    if (!absl::SimpleAtoi(digits, &number)) number = 0;
  }
  for (;;) {
    const auto found = lines_.find(path);
    if (found != lines_.end()) {
      const std::vector<int>& lines = found->second;
      return absl::StrCat(name_, ":", lines[std::min(number, lines.size() - 1)],
                          ": ");
    }
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return "";
    path.resize(dot);
    number = 0;
  }
}

}  // namespace ps
