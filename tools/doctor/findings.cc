#include "tools/doctor/findings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ps {

std::string FormatFindings(const FindingGroup& group) {
  std::string text = absl::StrCat(group.title, "\n");
  for (const Finding& finding : group.findings) {
    absl::StrAppendFormat(&text, "  %-8s%-15s%s\n",
                          finding.missing() ? "MISSING" : "ok", finding.subject,
                          finding.text);
    if (finding.missing()) {
      absl::StrAppendFormat(&text, "  %-8s%-15s-> %s\n", "", "",
                            finding.consequence);
    }
  }
  return text;
}

}  // namespace ps
