// The findings of `gradsieve doctor`, each about one subject.
#ifndef TOOLS_DOCTOR_FINDING_H_
#define TOOLS_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace ps {

struct Finding {
  std::string subject;    // "cuDNN"; at most 14 characters.
  std::string text = {};  // What was found, or what is missing and why.
  // What does not work because of it, and what to do; empty if nothing is
  // missing.
  std::string consequence = {};
  // Whether even training on the CPU needs it.
  bool required = false;

  bool missing() const { return !consequence.empty(); }
};

struct FindingGroup {
  std::string title;
  std::vector<Finding> findings = {};
};

// Lines of at most about 80 characters, which mark what is missing.
std::string FormatFindings(const FindingGroup& group);

}  // namespace ps

#endif  // TOOLS_DOCTOR_FINDING_H_
