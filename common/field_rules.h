// Checks the rules that fields have as options (proto/field_rules.proto).
#ifndef COMMON_FIELD_RULES_H_
#define COMMON_FIELD_RULES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/config_check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace ps {

// Takes a field, as in "warmup.stages" or "hidden_units[2]", its value, and the
// rule that the value breaks, as in "must be in [1, 16]".
using FieldReport =
    std::function<void(const std::string& field, const std::string& value,
                       const std::string& rule)>;

// Reports every field of `message` and of the groups in it that breaks its
// rule. Only fields that are set count, and those that are `required`. Elements
// of lists of groups are left to whoever reads the list.
void CheckFields(const google::protobuf::Message& message,
                 const FieldReport& report);

// The same; `path` goes before each field, and ends in a dot or is empty.
void CheckFields(const google::protobuf::Message& message,
                 const std::string& path, ConfigProblems* problems);

// Returns kInvalidArgument with all problems, separated by "; ".
absl::Status CheckFields(const google::protobuf::Message& message,
                         const std::string& path = "");

// What "must be" before it makes a sentence: "in [1, 16]", "above 0, or 0 for
// no limit", "one of a, b". Empty without a rule.
std::string RuleOf(const google::protobuf::FieldDescriptor& field);

}  // namespace ps

#endif  // COMMON_FIELD_RULES_H_
