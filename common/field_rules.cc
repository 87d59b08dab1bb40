#include "common/field_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_word.h"
#include "glog/logging.h"
#include "proto/field_rules.pb.h"

namespace ps {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr int kNoIndex = -1;

struct FieldValue {
  std::string text;   // As messages show it.
  double number = 0;  // Of a text: 0.
};

// The value of a field, or of an element of a list.
FieldValue ValueOf(const Message& message, const FieldDescriptor* field,
                   int index) {
  const Reflection& get = *message.GetReflection();
  const bool one = index == kNoIndex;
  const auto number = [](auto value) {
    return FieldValue{absl::StrCat(value), static_cast<double>(value)};
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return number(one ? get.GetInt32(message, field)
                        : get.GetRepeatedInt32(message, field, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return number(one ? get.GetInt64(message, field)
                        : get.GetRepeatedInt64(message, field, index));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return number(one ? get.GetFloat(message, field)
                        : get.GetRepeatedFloat(message, field, index));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number(one ? get.GetDouble(message, field)
                        : get.GetRepeatedDouble(message, field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      return {one ? get.GetString(message, field)
                  : get.GetRepeatedString(message, field, index)};
    default:
      LOG(FATAL) << field->full_name() << " is of a type without rules";
  }
  return {};
}

// All digits of whole numbers.
std::string NumberText(double number) {
  return number == std::floor(number) && std::abs(number) < 1e15
             ? absl::StrCat(static_cast<int64_t>(number))
             : absl::StrCat(number);
}

bool IsWithin(const FieldRule& rule, double number) {
  return std::isfinite(number) && !(rule.has_min() && number < rule.min()) &&
         !(rule.has_max() && number > rule.max()) &&
         !(rule.has_above() && number <= rule.above()) &&
         !(rule.has_below() && number >= rule.below());
}

bool HasLow(const FieldRule& rule) {
  return rule.has_min() || rule.has_above();
}

bool HasHigh(const FieldRule& rule) {
  return rule.has_max() || rule.has_below();
}

std::string TextOf(const FieldRule& rule) {
  if (rule.one_of_size() > 0) {
    return absl::StrCat("one of ", absl::StrJoin(rule.one_of(), ", "));
  }
  const std::string low =
      NumberText(rule.has_min() ? rule.min() : rule.above());
  const std::string high =
      NumberText(rule.has_max() ? rule.max() : rule.below());
  std::string text = "finite";
  if (HasLow(rule) && HasHigh(rule)) {
    text = absl::StrCat("in ", rule.has_min() ? "[" : "(", low, ", ", high,
                        rule.has_max() ? "]" : ")");
  } else if (HasLow(rule)) {
    text = absl::StrCat(rule.has_min() ? "at least " : "above ", low);
  } else if (HasHigh(rule)) {
    text = absl::StrCat(rule.has_max() ? "at most " : "below ", high);
  }
  if (!rule.has_zero()) return text;
  return IsWithin(rule, 0) ? absl::StrCat(text, " (0: ", rule.zero(), ")")
                           : absl::StrCat(text, ", or 0 for ", rule.zero());
}

void CheckText(const FieldRule& rule, const std::string& path,
               const std::string& text, const FieldReport& report) {
  const std::vector<std::string> known(rule.one_of().begin(),
                                       rule.one_of().end());
  if (std::find(known.begin(), known.end(), text) != known.end()) return;
  report(path, absl::StrCat("\"", text, "\""), MustBeOneOf(text, known));
}

void CheckNumber(const FieldRule& rule, const std::string& path,
                 const FieldValue& value, const FieldReport& report) {
  if (IsWithin(rule, value.number)) return;
  if (rule.has_zero() && value.number == 0) return;
  // Infinity is at least 0.
  const bool names_finite =
      !std::isfinite(value.number) && HasLow(rule) != HasHigh(rule);
  report(path, value.text,
         absl::StrCat("must be ", names_finite ? "finite and " : "",
                      TextOf(rule)));
}

void CheckGroup(const Message& message, const std::string& path,
                const FieldReport& report) {
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    const std::string name = absl::StrCat(path, field->name());
    if (field->message_type() != nullptr) {
      if (!field->is_repeated() && reflection.HasField(message, field)) {
        CheckGroup(reflection.GetMessage(message, field), name + ".", report);
      }
      continue;
    }
    if (!field->options().HasExtension(must_be)) continue;
    const FieldRule& rule = field->options().GetExtension(must_be);
    const auto check = [&](const std::string& at, int index) {
      const FieldValue value = ValueOf(message, field, index);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        CheckText(rule, at, value.text, report);
      } else {
        CheckNumber(rule, at, value, report);
      }
    };
    if (field->is_repeated()) {
      for (int j = 0; j < reflection.FieldSize(message, field); ++j) {
        check(absl::StrCat(name, "[", j, "]"), j);
      }
    } else if (rule.required() || reflection.HasField(message, field)) {
      check(name, kNoIndex);
    }
  }
}

}  // namespace

void CheckFields(const Message& message, const FieldReport& report) {
  CheckGroup(message, "", report);
}

void CheckFields(const Message& message, const std::string& path,
                 ConfigProblems* problems) {
  CheckGroup(message, path,
             [problems](const std::string& field, const std::string& value,
                        const std::string& rule) {
               problems->Add(field, value, rule);
             });
}

absl::Status CheckFields(const Message& message, const std::string& path) {
  ConfigProblems problems;
  CheckFields(message, path, &problems);
  return problems.ToStatus();
}

std::string RuleOf(const FieldDescriptor& field) {
  return field.options().HasExtension(must_be)
             ? TextOf(field.options().GetExtension(must_be))
             : "";
}

}  // namespace ps
