// What `gradsieve doctor` has found out about one thing.
#ifndef TOOLS_DOCTOR_FINDING_H_
#define TOOLS_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace ps {

struct Finding {
  std::string subject;    // "cuDNN"; at most 14 letters.
  std::string text = {};  // What there is, or what is missing and why.
  // What does not work then, and what to do; empty if nothing is missing.
  std::string consequence = {};
  // Without it not even the CPU trains.
  bool required = false;

  bool missing() const { return !consequence.empty(); }
};

struct FindingGroup {
  std::string title;
  std::vector<Finding> findings = {};
};

// Lines of at most about 80 letters, with a mark for what is missing.
std::string FormatFindings(const FindingGroup& group);

}  // namespace ps

#endif  // TOOLS_DOCTOR_FINDING_H_
